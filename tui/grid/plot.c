// SPDX-License-Identifier: MIT
#include "tui/grid/plot.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

// A canvas of dots over an area of cells: 2×4 dots a cell in braille, 1×1 in ASCII.
//
//   braille dots   bits of U+2800 + bits
//     0 3            0x01 0x08
//     1 4            0x02 0x10
//     2 5            0x04 0x20
//     6 7            0x40 0x80
struct canvas {
    grid *g;
    rect area;
    int dots_x, dots_y; // of a cell
};

static const uint8_t braille_bits[4][2] = {{1, 8}, {2, 16}, {4, 32}, {64, 128}};

static void dot(const struct canvas *c, int x, int y, style s)
{
    int cx = c->area.x + x / c->dots_x, cy = c->area.y + y / c->dots_y;
    const grid_cell *was = grid_at(c->g, cx, cy);
    if (!was)
        return;
    uint32_t point = '*';
    if (c->dots_y > 1) {
        uint32_t old =
            was->points[0] >= 0x2800 && was->points[0] <= 0x28FF ? was->points[0] : 0x2800;
        point = old | braille_bits[y % 4][x % 2];
    }
    grid_fill(c->g, (rect){cx, cy, 1, 1}, point, s);
}

bool plot_range(const struct series *series, size_t n, double *lo, double *hi)
{
    *lo = INFINITY;
    *hi = -INFINITY;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < series[i].n; j++)
            if (isfinite(series[i].values[j])) {
                *lo = fmin(*lo, series[i].values[j]);
                *hi = fmax(*hi, series[i].values[j]);
            }
    if (*lo > *hi)
        return false;
    if (*hi - *lo < 1e-12 * fmax(1, fabs(*hi))) {
        double half = *hi != 0 ? fabs(*hi) / 2 : 0.5;
        *lo -= half;
        *hi += half;
    }
    return true;
}

static int scale(double v, double lo, double hi, int steps)
{
    double at = (hi - v) / (hi - lo) * (steps - 1);
    return (int)lround(fmin(fmax(at, 0), steps - 1));
}

// The value at column x of w columns, interpolated between its neighbours; if there are more values
// than columns, the range of those in the column.
static bool column_range(const struct series *s, int x, int w, double *lo, double *hi)
{
    if (s->n == 1 || w == 1) {
        *lo = *hi = x == 0 ? s->values[s->n - 1] : NAN;
        return isfinite(*lo);
    }
    double step = (double)(s->n - 1) / (w - 1), at = x * step;
    size_t from = (size_t)ceil(at - step / 2), to = (size_t)floor(at + step / 2);
    if (at - step / 2 < 0)
        from = 0;
    if (to >= s->n)
        to = s->n - 1;
    if (from > to || step < 1) { // fewer values than columns: interpolate between two
        size_t left = (size_t)at;
        size_t right = left + 1 < s->n ? left + 1 : left;
        double part = at - (double)left;
        *lo = *hi =
            part == 0 ? s->values[left] : s->values[left] * (1 - part) + s->values[right] * part;
        return isfinite(*lo);
    }
    *lo = INFINITY;
    *hi = -INFINITY;
    for (size_t i = from; i <= to; i++)
        if (isfinite(s->values[i])) {
            *lo = fmin(*lo, s->values[i]);
            *hi = fmax(*hi, s->values[i]);
        }
    return *lo <= *hi;
}

static void curve(const struct canvas *c, const struct series *s, double lo, double hi)
{
    int w = c->area.w * c->dots_x, h = c->area.h * c->dots_y;
    int last_top = -1, last_bottom = -1;
    for (int x = 0; x < w && s->n; x++) {
        double low, high;
        if (!column_range(s, x, w, &low, &high)) {
            last_top = -1;
            continue;
        }
        int top = scale(high, lo, hi, h), bottom = scale(low, lo, hi, h);
        int from = top, to = bottom;
        if (last_top >= 0) { // so that a steep line has no holes
            if (last_bottom < top)
                from = last_bottom + 1;
            if (last_top > bottom)
                to = last_top - 1;
        }
        for (int y = from; y <= to; y++)
            dot(c, x, y, s->style);
        last_top = top;
        last_bottom = bottom;
    }
}

void plot_curves(
    grid *g, rect area, const struct series *series, size_t n, double lo, double hi, bool ascii)
{
    if (area.w <= 0 || area.h <= 0 || !(lo < hi))
        return;
    struct canvas c = {g, area, ascii ? 1 : 2, ascii ? 1 : 4};
    for (size_t i = 0; i < n; i++)
        curve(&c, &series[i], lo, hi);
}

// "── loss 0.0735 ── validation 0.0831"; with little room, shorter names and fewer digits.
static const struct legend_size {
    const char *line;
    int name, digits;
} legend_sizes[] = {{"──", 99, 4}, {"─", 5, 4}, {"─", 5, 3}, {"─", 3, 2}};

static int put_legend(grid *g, rect clip, rect row, const struct series *series, size_t n,
    const struct legend_size *size)
{
    int x = row.x;
    for (size_t i = 0; i < n; i++) {
        if (!series[i].name || !series[i].n)
            continue;
        x += x > row.x ? 2 : 0;
        x += grid_print(g, clip, x, row.y, series[i].style, "%s", size->line);
        x += grid_print(g, clip, x, row.y, (style){0}, " %.*s %.*g", size->name, series[i].name,
            size->digits, series[i].values[series[i].n - 1]);
    }
    return x - row.x;
}

static void legend(grid *g, rect row, const struct series *series, size_t n)
{
    size_t i = 0;
    while (i + 1 < ARRAY_LEN(legend_sizes) &&
           put_legend(g, (rect){0}, row, series, n, &legend_sizes[i]) > row.w)
        i++;
    put_legend(g, row, row, series, n, &legend_sizes[i]);
}

void plot_chart(grid *g, rect area, const struct series *series, size_t n, bool ascii)
{
    double lo, hi;
    if (!plot_range(series, n, &lo, &hi))
        return;
    if (area.w < 12 || area.h < 3) {
        plot_curves(g, area, series, n, lo, hi, ascii);
        return;
    }
    rect plot = {area.x + PLOT_AXIS, area.y + 1, area.w - PLOT_AXIS, area.h - 1};
    style dim = {.attrs = ATTR_DIM};
    legend(g, (rect){plot.x, area.y, plot.w, 1}, series, n);
    rect axis = {area.x, plot.y, PLOT_AXIS - 1, plot.h};
    grid_print(g, axis, axis.x, axis.y, dim, "%6.3g", hi);
    grid_print(g, axis, axis.x, axis.y + axis.h - 1, dim, "%6.3g", lo);
    grid_vline(g, area, plot.x - 1, plot.y, plot.h, dim);
    plot_curves(g, plot, series, n, lo, hi, ascii);
}

void plot_progress(grid *g, rect clip, int x, int y, int w, double fraction, style s, bool ascii)
{
    if (w <= 0)
        return;
    bool known = !isnan(fraction);
    fraction = known ? fmin(fmax(fraction, 0), 1) : 0;
    int eighths = (int)(fraction * w * 8 + 1e-9); // rounded down: a full bar means done
    for (int i = 0; i < w; i++) {
        int part = eighths - 8 * i;
        uint32_t point = ascii       ? (part >= 8 ? '#' : '-')
                         : part >= 8 ? 0x2588
                         : part > 0  ? 0x2590 - (uint32_t)part
                                     : ' ';
        style st = s;
        if (!ascii && part < 8) { // the empty part is a dim line that shows the end
            st.attrs |= part <= 0 ? ATTR_DIM : 0;
            point = part <= 0 ? 0x2500 : point;
        }
        grid_fill(g, rect_clip((rect){x + i, y, 1, 1}, clip), point, st);
    }
}

void plot_sparkline(
    grid *g, rect clip, int x, int y, int w, const double *values, size_t n, style s, bool ascii)
{
    static const char steps[] = "_.-~=*#@";
    struct series all = {.values = values, .n = n};
    if (w > 0 && n > (size_t)w) {
        all.values += n - (size_t)w;
        all.n = (size_t)w;
    }
    double lo, hi;
    if (w <= 0 || !plot_range(&all, 1, &lo, &hi))
        return;
    for (size_t i = 0; i < all.n; i++) {
        if (!isfinite(all.values[i]))
            continue;
        int step = 7 - scale(all.values[i], lo, hi, 8);
        uint32_t point = ascii ? (uint32_t)steps[step] : 0x2581 + (uint32_t)step;
        grid_fill(g, rect_clip((rect){x + (w - (int)all.n) + (int)i, y, 1, 1}, clip), point, s);
    }
}
