// SPDX-License-Identifier: MIT
// How far something is, how fast, and how long it will still take: from a progress display, whose
// training may have several epochs of `total` steps each. Pure.
//   {"done", "total", "epoch", "epochs", "first", "elapsed"}
#pragma once
#include "base/json.h"

struct progress {
    double done, total; // over all epochs; total 0: not known
    double elapsed;     // seconds; NaN: not known
    double begun;       // of `done`, what was there before the time began (a training that went on)
};
struct progress progress_read(const cJSON *display);
double progress_fraction(const struct progress *p); // NaN: not known
double progress_rate(const struct progress *p);     // a second; NaN: not known yet
double progress_left(const struct progress *p);     // seconds; NaN: not known yet
// "45/s", "1.2k/s", "0.31/s".
void progress_rate_text(buf *out, double rate);
// "9s", "1m05s", "2h10m".
void progress_time_text(buf *out, double seconds);
