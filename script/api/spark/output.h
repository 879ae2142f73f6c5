// SPDX-License-Identifier: MIT
// What a cell sees of an application of Spark: bytes of spark-submit and lines of the driver's pod
// come in, and go to a folded log, the cell's output and a training's progress. Except for open and
// close, functions are for the loop's thread, or for the call's when nothing else runs.
#pragma once
#include "script/api/core/kept.h"
#include "script/api/spark/lines.h"
#include "script/api/trainer/training.h"
#include "script/kernel/effects/binding.h"

enum spark_stream { SPARK_STDOUT, SPARK_STDERR, SPARK_DRIVER, SPARK_STREAMS };

struct spark_output {
    call *call;
    const char *master;        // for what is said; borrowed
    bool everything;           // Spark's information is shown, too
    bool standalone;           // the driver is to run on a standalone cluster
    bool over;                 // the cell has heard enough
    char *id, *driver, *state; // as Spark told them; driver and state of a standalone cluster's
    struct spark_lines streams[SPARK_STREAMS];
    struct kept shown, driver_log;
    training *training;
    display *progress, *log;
    int64_t at; // mono ns: when the progress was shown
    // Gets the lines of Spark's own log; may be NULL.
    void (*spark_line)(void *arg, const char *text, size_t n);
    void *arg;
};
int spark_output_open(struct spark_output *o, call *c, const char *title, err *e);
void spark_output_bytes(
    struct spark_output *o, enum spark_stream from, const char *bytes, size_t n);
void spark_output_line(struct spark_output *o, const char *text, size_t n); // of the driver's pod
void spark_output_end(struct spark_output *o);                              // no more comes
void spark_output_close(struct spark_output *o); // closes its displays, and frees
