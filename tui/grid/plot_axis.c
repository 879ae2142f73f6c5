// SPDX-License-Identifier: MIT
// The axes of a chart: round numbers, where they stand, and their words.
#include "base/buf.h"
#include "base/text/utf8.h"
#include "tui/grid/plot_private.h"

#include <math.h>
#include <string.h>

double plot_x(const struct scale *sc, double x)
{
    return ((!sc->log_x ? x : x > 0 ? log10(x) : NAN) - sc->x0) / (sc->x1 - sc->x0);
}

double plot_y(const struct scale *sc, double v)
{
    return !sc->log ? v : v > 0 ? log10(v) : NAN;
}

size_t plot_ticks(double lo, double hi, int most, bool whole, double out[PLOT_TICKS])
{
    if (!(hi > lo) || !isfinite(hi - lo) || most < 1)
        return 0;
    double raw = (hi - lo) / most, power = pow(10, floor(log10(raw))), part = raw / power;
    double step = (part <= 1.0001 ? 1 : part <= 2.0001 ? 2 : part <= 5.0001 ? 5 : 10) * power;
    step = whole && step < 1 ? 1 : step;
    size_t n = 0;
    for (double k = ceil(lo / step - 1e-6); k * step <= hi + step * 1e-6 && n < PLOT_TICKS; k++)
        out[n++] = k * step == 0 ? 0 : k * step; // no -0
    return n;
}

// Rounds to the digits that distinguish it from its neighbour, step away; 0: it has none.
static void tick_text(double v, double step, buf *out)
{
    int digits = step > 0 && step < 1 ? (int)ceil(-log10(step) - 1e-6) : 0;
    if (digits > 4 || fabs(v) >= 1e5 || (step == 0 && fabs(v) < 1000))
        buf_fmt(out, "%.3g", v);
    else
        buf_fmt(out, "%.*f", digits, v);
}

// Without a power of ten in the range, a logarithmic axis is labelled like any other.
static size_t log_ticks(double lo, double hi, int most, double out[PLOT_TICKS])
{
    size_t n = plot_ticks(lo, hi, most, true, out);
    for (size_t i = 0; i < n; i++)
        out[i] = pow(10, out[i]);
    return n >= 2 ? n : plot_ticks(pow(10, lo), pow(10, hi), most, false, out);
}

static void y_tick(
    grid *g, rect plot, const struct scale *sc, double v, const char *words, bool ascii)
{
    style dim = {.attrs = ATTR_DIM};
    rect axis = {plot.x - PLOT_AXIS, plot.y, PLOT_AXIS - 1, plot.h};
    int y = plot.y + (int)lround((sc->hi - plot_y(sc, v)) / (sc->hi - sc->lo) * (plot.h - 1));
    grid_print(g, axis, axis.x, y, dim, "%6s", words);
    grid_print(g, (rect){plot.x - 1, plot.y, 1, plot.h}, plot.x - 1, y, dim, ascii ? "+" : "┤");
}

// As many ticks as look well; if those are too few, as many as fit.
static size_t find_y_ticks(const struct scale *sc, int rows, double out[PLOT_TICKS])
{
    enum { WELL = 3, TIGHT = 2, LEAST = 5 };
    size_t n = 0;
    for (int every = WELL; rows >= LEAST && n < 3 && every >= TIGHT; every--)
        n = sc->log ? log_ticks(sc->lo, sc->hi, rows / every, out)
                    : plot_ticks(sc->lo, sc->hi, rows / every, false, out);
    return n;
}

void plot_y_axis(grid *g, rect plot, const struct scale *sc, bool ascii)
{
    double ticks[PLOT_TICKS];
    size_t n = find_y_ticks(sc, plot.h, ticks);
    grid_vline(g, (rect){plot.x - 1, plot.y, 1, plot.h}, plot.x - 1, plot.y, plot.h,
        (style){.attrs = ATTR_DIM});
    if (n < 2) { // no room, or no round number in the range
        ticks[0] = sc->log ? pow(10, sc->lo) : sc->lo;
        ticks[1] = sc->log ? pow(10, sc->hi) : sc->hi;
    }
    bool powers = sc->log && ticks[1] > 9 * ticks[0]; // each has its own digits
    for (size_t i = 0; i < (n < 2 ? 2 : n); i++) {
        AUTO_BUF words = {0};
        tick_text(ticks[i], n < 2 ? 0 : powers ? ticks[i] : ticks[1] - ticks[0], &words);
        y_tick(g, plot, sc, ticks[i], buf_cstr(&words), ascii);
    }
}

int plot_column(rect plot, const struct scale *sc, double x)
{
    return plot.x + (int)lround(plot_x(sc, x) * (plot.w - 1));
}

// The numbers below a plot.
struct x_ticks {
    rect plot, row; // row: where they stand
    const struct scale *sc;
    void (*words)(double v, double step, buf *out);
    double at[PLOT_TICKS], step; // step 0: powers of ten
    size_t n;
};

// Writes the words of a tick below it, within the row. Returns where they begin.
static int x_label(const struct x_ticks *t, size_t i, buf *words)
{
    buf_clear(words);
    t->words(t->at[i], t->step > 0 ? t->step : t->at[i], words);
    int w = text_width(buf_cstr(words), words->len, 0), end = t->row.x + t->row.w;
    int x = plot_column(t->plot, t->sc, t->at[i]) - w / 2;
    x = x + w > end ? end - w : x;
    return x < t->row.x ? t->row.x : x;
}

// Where the name of x begins: before the last number, "epoch 6"; if it would hide the number before
// that and is short, left of the axis.
static int name_place(const struct x_ticks *t, int w)
{
    AUTO_BUF words = {0};
    int name = t->row.x + t->row.w - w;
    int last = t->n ? x_label(t, t->n - 1, &words) : t->row.x;
    if (last + (int)words.len >= name && last - 1 - w > t->row.x)
        name = last - 1 - w;
    if (t->n < 2 || w > PLOT_AXIS - 2)
        return name;
    int x = x_label(t, t->n - 2, &words), to = x + (int)words.len;
    return to >= name && x <= name + w ? t->plot.x - 2 - w : name;
}

static void find_x_ticks(struct x_ticks *t, const struct plot *p)
{
    int most = t->plot.w / (p->words ? 10 : p->whole ? 5 : 8); // columns for each
    most = most < PLOT_TICKS - 2 ? most : PLOT_TICKS - 2;      // what is wider is not all numbered
    t->words = p->words ? p->words : tick_text;
    if (t->sc->log_x)
        t->n = log_ticks(t->sc->x0, t->sc->x1, most, t->at);
    else if (p->ticks)
        t->n = p->ticks(t->sc->x0, t->sc->x1, most, t->at);
    else
        t->n = plot_ticks(t->sc->x0, t->sc->x1, most, p->whole, t->at);
    bool powers = t->sc->log_x && t->n > 1 && t->at[1] > 9 * t->at[0];
    t->step = t->n > 1 && !powers ? t->at[1] - t->at[0] : 0;
}

void plot_x_axis(grid *g, rect plot, const struct scale *sc, const struct plot *p)
{
    style dim = {.attrs = ATTR_DIM};
    AUTO_BUF words = {0};
    struct x_ticks t = {plot, {plot.x - 1, plot.y + plot.h, plot.w + 1, 1}, sc, .n = 0};
    rect row = t.row, all = {plot.x - PLOT_AXIS, row.y, plot.w + PLOT_AXIS, 1};
    int w = p->x_name ? text_width(p->x_name, strlen(p->x_name), 0) : 0;
    int end = row.x + row.w, free_from = row.x;
    find_x_ticks(&t, p);
    int name = name_place(&t, w);
    if (w)
        grid_print(g, w > PLOT_AXIS - 2 ? row : all, name, row.y, dim, "%s", p->x_name);
    for (size_t i = 0; i < t.n; i++) {
        int x = x_label(&t, i, &words), to = x + (int)words.len;
        if (x < free_from || to > end || (w && to >= name && x <= name + w))
            continue;
        grid_print(g, row, x, row.y, dim, "%s", buf_cstr(&words));
        free_from = to + 2;
    }
}
