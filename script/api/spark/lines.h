// SPDX-License-Identifier: MIT
// What spark-submit and the program that it runs print, line by line: which lines are worth
// showing, and the ids that Spark gives.
//
//   26/11/22 08:00:00 INFO Utils: …      folded, with the lines of the record that follow it
//   26/11/22 08:00:00 WARN Task: …       shown
//   \tat org.apache.spark.X(Y.scala:1)   folded: a frame of the JVM
//   Epoch 1/5                            shown: the program's own
#pragma once
#include "base/buf.h"

#include <stdbool.h>

// One stream of bytes. {0} is its start, with .apart as it is; spark_lines_done frees.
struct spark_lines {
    buf rest;      // of a line that has no end yet
    bool apart;    // the program prints elsewhere: of a record are also lines of plans
    bool informs;  // the last record of Spark's log was information
    size_t blanks; // empty lines after it: its own, if more of it follows
};
struct spark_line {
    const char *text;
    size_t n;     // with its newline or return
    bool folded;  // Spark's information
    bool spark_s; // of Spark's log, whether folded or not
};
typedef void spark_line_fn(void *arg, const struct spark_line *line);
void spark_lines_feed(
    struct spark_lines *s, const char *bytes, size_t n, spark_line_fn *fn, void *arg);
// Hands over what has come, and a last line that has no end.
void spark_lines_end(struct spark_lines *s, spark_line_fn *fn, void *arg);
void spark_lines_done(struct spark_lines *s);

// The application's id in a line of Spark's log ("app-20261122080000-0001", "spark-" with 32
// digits, "application_1_0002", "local-1"), new; NULL: there is none.
char *spark_application_id(const char *line, size_t n);
// The same for the driver that a standalone cluster runs: "driver-20261122080000-0001".
char *spark_driver_id(const char *line, size_t n);
