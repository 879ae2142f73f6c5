// SPDX-License-Identifier: MIT
// What stands along the x axis of a chart of metrics, and how its numbers are written. Pure.
#pragma once
#include "tui/grid/plot.h"

// X(symbol, name for people, name beside the axis)
#define AXES(X)                                                                                    \
    X(STEP, "step", "step")                                                                        \
    X(EPOCH, "epoch", "epoch")                                                                     \
    X(RELATIVE, "time since it began", "since")                                                    \
    X(WALL, "time of day", "time")

enum axis {
#define X(symbol, name, brief) AXIS_##symbol,
    AXES(X)
#undef X
        AXIS_COUNT
};
const char *axis_name(enum axis a);
const char *axis_brief(enum axis a);

// For struct plot: steps as "20k"; times in seconds, by the local clock if they are of the day.
void axis_words(enum axis a, struct plot *p);
// A place on it for people: "step 20000", "1m 30s", "14:03:20".
void axis_place(enum axis a, double x, buf *out);
