// SPDX-License-Identifier: MIT
// The progress of something: its part done, its speed, and the time left. It is read from a
// progress display, whose training may have several epochs of `total` steps each. Pure.
//   {"done", "total", "epoch", "epochs", "first", "elapsed"}
#pragma once
#include "base/json/json.h"

struct progress {
    double done, total; // over all epochs; total 0: unknown
    double elapsed;     // seconds; NaN: unknown
    double begun;       // part of `done` from before the time began (a continued training)
};
struct progress progress_read(const cJSON *display);
double progress_fraction(const struct progress *p); // NaN: unknown
double progress_rate(const struct progress *p);     // per second; NaN: unknown yet
double progress_left(const struct progress *p);     // seconds; NaN: unknown yet
