// SPDX-License-Identifier: MIT
// What the ranks of a script print, by launch.py: its lines go to the cell, and what they tell of
// the training to its progress; launch.py's events say which rank has failed. The loop's thread
// writes it while the call's thread waits.
#pragma once
#include "script/api/core/kept.h"
#include "script/api/trainer/reports.h"

struct torch_output {
    struct reports reports;
    struct kept shown;
    buf rest[3];  // of descriptors 1 and 2: a line that has no end yet
    int attempts; // how many have failed: of a job that ends well, how often all ranks started
                  // again
    char *failed; // of the last of these, "rank 1 exited with 1: RuntimeError: boom"
    bool lost;    // that was the last attempt
    double at;    // when that was, on that machine's clock
};
void torch_output_open(struct torch_output *o, call *c);
void torch_output_bytes(struct torch_output *o, int fd, const char *bytes, size_t n);
// A line without its end, of the stream "stdout" or "stderr".
void torch_output_line(struct torch_output *o, const char *stream, const char *line, size_t n);
// No more comes: its display stays as it is. Sets output, metrics, history and restarts of
// `result`, unless that is NULL.
void torch_output_close(struct torch_output *o, cJSON *result);
