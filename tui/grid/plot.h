// SPDX-License-Identifier: MIT
// Small pictures drawn into a grid: curves in braille (2×4 dots a cell), progress bars, and
// sparklines. They own nothing. `ascii` is for terminals without UTF-8: it draws only with * # -.
#pragma once
#include "base/buf.h"
#include "tui/grid/grid.h"

struct series {
    const double *values; // NaN and infinities leave a gap
    size_t n;
    style style;
    const char *name;         // for the legend; NULL: none
    const double *x;          // where each value stands, as many; NULL: at 0, 1, 2, …
    const double *low, *high; // the ends of its interval, as many, NaN: none; NULL: it has none
    bool band;                // only the area between these is drawn, behind all curves
    size_t stroke;            // its look without colours, from 1; 0: by its place
    char letter;              // stands at its end; 0: none
};
// The colour of the i-th curve, and a piece of its line for a legend.
style plot_look(size_t i);
const char *plot_stroke(size_t i, bool ascii, bool dashes);
// The range of all finite values, widened if it is flat. false: there is no finite value.
bool plot_range(const struct series *series, size_t n, double *lo, double *hi);
// Draws the curves over the whole area, value i at column i/(n-1); a single value is a dot at the
// left. If there are more values than dots, their range is drawn (min to max), so that no spike is
// lost.
void plot_curves(
    grid *g, rect area, const struct series *series, size_t n, double lo, double hi, bool ascii);
enum { PLOT_AXIS = 8 }; // columns: "1.234e+05" is cut, everything a metric has is not
// Round numbers for an axis, 1, 2 or 5 times a power of ten apart, in [lo, hi]: about `most` of
// them (at most 3 × most + 2, for which `out` has room). whole: only integers. Returns how many.
enum { PLOT_TICKS = 16 };
size_t plot_ticks(double lo, double hi, int most, bool whole, double out[PLOT_TICKS]);

// A chart: curves with a legend "── loss 0.123" above, a y axis on the left and an x axis below.
struct plot {
    const struct series *series;
    size_t n;
    double from, to;    // of x; from = to: all there is
    const double *at;   // position of a cursor, where the legend's values are read; NULL: the last
    const char *x_name; // "epoch"; NULL: none
    bool whole;         // x counts something
    bool log, log_x;    // the y axis, the x axis; values that have no logarithm leave a gap
    double lo, hi;      // of y; lo = hi: all there is
    bool bare;          // without the legend
    // Words of the numbers below the x axis, `step` apart; NULL: the numbers. And which numbers.
    void (*words)(double v, double step, buf *out);
    size_t (*ticks)(double lo, double hi, int most, double out[PLOT_TICKS]);
    bool ascii;
    bool dashes; // curves differ in their dashes, too, for who sees no colours; in ASCII they
                 // always do
    bool points; // each value is a dot, not joined with its neighbours
};
// Below 12×3 cells it draws only the curves, below 6 rows no x axis.
void plot_chart(grid *g, rect area, const struct plot *p);

// A bar of w columns filled to fraction (clamped to 0…1) in eighths of a cell; NaN: unknown, an
// empty bar.
void plot_progress(grid *g, rect clip, int x, int y, int w, double fraction, style s, bool ascii);
