// SPDX-License-Identifier: MIT
// Shared by the files of plot.h: how values become dots. Nothing is owned.
#pragma once
#include "tui/grid/plot.h"

struct scale {
    double x0, x1, lo, hi; // as logarithms when `log_x`, `log`
    bool log_x, log;
    int w, h; // dots
};
double plot_x(const struct scale *sc, double x); // 0 at the left edge, 1 at the right; NaN: none
double plot_y(const struct scale *sc, double v); // as lo and hi count
int plot_column(rect plot, const struct scale *sc, double x);
// The axis left of the plot, and the one below it.
void plot_y_axis(grid *g, rect plot, const struct scale *sc, bool ascii);
void plot_x_axis(grid *g, rect plot, const struct scale *sc, const struct plot *p);
