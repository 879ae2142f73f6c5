// SPDX-License-Identifier: MIT
// The curves of a display, a training's history or a plot, read from its JSON and drawn as charts:
// those that share a range (a metric and its val_ one) in one. They own copies of all they draw.
#pragma once
#include "base/json/json.h"
#include "tui/grid/grid.h"

typedef struct curves curves;

// NULL: the bundle has none (a training not before its second epoch).
curves *curves_new(const cJSON *bundle);
void curves_free(curves *c); // NULL is fine

// The charts there are, and the name of each: "loss", "accuracy", …; of a plot first all its series
// and then each.
size_t curves_count(const curves *c);
const char *curves_name(const curves *c, size_t chart);
const char *curves_x_name(const curves *c); // "epoch"; NULL: none
// Where the points stand, in order.
const double *curves_points(const curves *c, size_t *n);

struct curves_look {
    int chart;  // -1: those that a person wants to see first, as many as fit
    int charts; // at most so many of them
    bool log, ascii, dashes;
    double from, to;  // of x; the same: all
    const double *at; // a cursor; NULL: none
};
void curves_draw(const curves *c, grid *g, rect area, const struct curves_look *look);
// How many charts stand one below the other in so many columns.
int curves_below(const curves *c, int columns, int charts);
