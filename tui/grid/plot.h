// SPDX-License-Identifier: MIT
// Small pictures drawn into a grid: curves in braille (2×4 dots a cell), progress bars, and
// sparklines. They own nothing. `ascii` is for terminals without UTF-8: it draws only with * # -.
#pragma once
#include "tui/grid/grid.h"

struct series {
    const double *values; // NaN and infinities leave a gap
    size_t n;
    style style;
    const char *name; // for the legend; NULL: none
};
// The range of all finite values, widened if it is flat. false: there is no finite value.
bool plot_range(const struct series *series, size_t n, double *lo, double *hi);
// Draws the curves over the whole area, value i at column i/(n-1); a single value is a dot at the
// left. If there are more values than dots, their range is drawn (min to max), so that no spike is
// lost.
void plot_curves(
    grid *g, rect area, const struct series *series, size_t n, double lo, double hi, bool ascii);
enum { PLOT_AXIS = 8 }; // columns: cuts "1.234e+05", but nothing that a metric usually has
// The same with the ends of the y axis on the left (needs 12×3 cells, else only the curves) and a
// legend "── loss 0.123" with the last values in the top row.
void plot_chart(grid *g, rect area, const struct series *series, size_t n, bool ascii);

// A bar of w columns filled to fraction (clamped to 0…1) in eighths of a cell; NaN: unknown, an
// empty bar.
void plot_progress(grid *g, rect clip, int x, int y, int w, double fraction, style s, bool ascii);
// One row of ▁…█, with the newest values on the right.
void plot_sparkline(
    grid *g, rect clip, int x, int y, int w, const double *values, size_t n, style s, bool ascii);
