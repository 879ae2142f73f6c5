// SPDX-License-Identifier: MIT
#include "tui/grid/plot.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text/utf8.h"

#include <math.h>
#include <stdlib.h>
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
    size_t stroke;      // of the curve that is drawn, an index into `strokes`
};

// Curves that differ without a colour: in ASCII by their character; else by which of eight dots
// along the line are drawn, and by a piece of line in the legend.
static const struct stroke {
    uint8_t dots;
    const char *line, *brief, *ascii;
} strokes[] = {{0xFF, "──", "─", "*"}, {0x0F, "╌╌", "╌", "+"}, {0x11, "··", "·", "x"},
    {0x5F, "─·", "┄", "o"}, {0x33, "┈┈", "┈", "#"}, {0x7F, "─╴", "╴", "@"}, {0x55, "∙∙", "∙", "%"},
    {0x01, ". ", ".", "&"}};

static const uint8_t braille_bits[4][2] = {{1, 8}, {2, 16}, {4, 32}, {64, 128}};

static void dot(const struct canvas *c, int x, int y, style s)
{
    int cx = c->area.x + x / c->dots_x, cy = c->area.y + y / c->dots_y;
    const grid_cell *was = grid_at(c->g, cx, cy);
    if (!was)
        return;
    const struct stroke *stroke = &strokes[c->stroke % ARRAY_LEN(strokes)];
    uint32_t point = (uint32_t)*stroke->ascii;
    if (c->dots_y > 1 && !(stroke->dots >> ((x + y) % 8) & 1))
        return;
    if (c->dots_y > 1) {
        uint32_t old =
            was->points[0] >= 0x2800 && was->points[0] <= 0x28FF ? was->points[0] : 0x2800;
        point = old | braille_bits[y % 4][x % 2];
    }
    grid_fill(c->g, (rect){cx, cy, 1, 1}, point, s);
}

// A range in which there is something to see.
static void widen(double *lo, double *hi)
{
    if (*hi - *lo >= 1e-12 * fmax(1, fabs(*hi)))
        return;
    double half = *hi != 0 ? fabs(*hi) / 2 : 0.5;
    *lo -= half;
    *hi += half;
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
    widen(lo, hi);
    return true;
}

// How values become dots.
struct scale {
    double x0, x1, lo, hi; // the last two as logarithms when `log`
    bool log;
    int w, h; // dots
};

static double x_of(const struct series *s, size_t i)
{
    return s->x ? s->x[i] : (double)i;
}

static double y_of(const struct scale *sc, double v)
{
    return !sc->log ? v : v > 0 ? log10(v) : NAN;
}

static void find_x(const struct series *series, size_t n, double *from, double *to)
{
    *from = INFINITY;
    *to = -INFINITY;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < series[i].n; j++)
            if (isfinite(x_of(&series[i], j))) {
                *from = fmin(*from, x_of(&series[i], j));
                *to = fmax(*to, x_of(&series[i], j));
            }
    if (*from >= *to) // a single value is at the left
        *to = *from + 1;
}

// Clips a line to the area, in dots, from the left or the right. false: nothing of it is inside.
// Done before rounding, since a zoomed line may end far away.
static bool cut(double *x0, double *y0, double *x1, double *y1, int w, int h)
{
    double dx = *x1 - *x0, dy = *y1 - *y0, a = 0, b = 1;
    const double p[] = {-dx, dx, -dy, dy},
                 q[] = {*x0 + 0.49, w - 0.51 - *x0, *y0 + 0.49, h - 0.51 - *y0};
    for (int i = 0; i < 4; i++) {
        if (p[i] == 0 && q[i] < 0)
            return false;
        if (p[i] < 0)
            a = fmax(a, q[i] / p[i]);
        else if (p[i] > 0)
            b = fmin(b, q[i] / p[i]);
    }
    if (a > b)
        return false;
    *x1 = *x0 + b * dx;
    *y1 = *y0 + b * dy;
    *x0 += a * dx;
    *y0 += a * dy;
    return true;
}

static void line(const struct canvas *c, const struct scale *sc, const double from[2],
    const double to[2], style s)
{
    double x0 = from[0], y0 = from[1], x1 = to[0], y1 = to[1];
    if (!cut(&x0, &y0, &x1, &y1, sc->w, sc->h))
        return;
    int ax = (int)lround(x0), ay = (int)lround(y0), bx = (int)lround(x1), by = (int)lround(y1);
    int steps = abs(bx - ax) > abs(by - ay) ? abs(bx - ax) : abs(by - ay);
    for (int i = 0; i <= steps; i++) {
        double part = steps ? (double)i / steps : 0;
        dot(c, (int)lround(ax + part * (bx - ax)), (int)lround(ay + part * (by - ay)), s);
    }
}

// Draws from each value to the next, so that no spike is lost, however many there are.
static void curve(const struct canvas *c, const struct series *s, const struct scale *sc)
{
    double last[2] = {NAN, NAN};
    for (size_t i = 0; i < s->n; i++) {
        double x = x_of(s, i), y = y_of(sc, s->values[i]);
        double now[2] = {(x - sc->x0) / (sc->x1 - sc->x0) * (sc->w - 1),
            (sc->hi - y) / (sc->hi - sc->lo) * (sc->h - 1)};
        bool there = isfinite(now[0]) && isfinite(now[1]);
        if (there)
            line(c, sc, isnan(last[0]) ? now : last, now, s->style);
        last[0] = there ? now[0] : NAN;
        last[1] = now[1];
    }
}

// Each value as a dot of its own, two dots wide and high where a cell has several.
static void points(const struct canvas *c, const struct series *s, const struct scale *sc)
{
    int size = c->dots_y > 1 ? 2 : 1;
    for (size_t i = 0; i < s->n; i++) {
        double x = (x_of(s, i) - sc->x0) / (sc->x1 - sc->x0) * (sc->w - size),
               y = (sc->hi - y_of(sc, s->values[i])) / (sc->hi - sc->lo) * (sc->h - size);
        if (!isfinite(x) || !isfinite(y) || x < 0 || y < 0 || x > sc->w - size || y > sc->h - size)
            continue;
        for (int k = 0; k < size * size; k++)
            dot(c, (int)lround(x) + k % size, (int)lround(y) + k / size, s->style);
    }
}

// Draws from one end of each value's interval to the other, with a stroke across each end.
static void intervals(const struct canvas *c, const struct series *s, const struct scale *sc)
{
    int half = c->dots_x > 1 ? 2 : 0;
    for (size_t i = 0; s->low && i < s->n; i++) {
        double x = (x_of(s, i) - sc->x0) / (sc->x1 - sc->x0) * (sc->w - 1), y[2];
        for (int k = 0; k < 2; k++)
            y[k] =
                (sc->hi - y_of(sc, k ? s->high[i] : s->low[i])) / (sc->hi - sc->lo) * (sc->h - 1);
        if (!isfinite(x) || !isfinite(y[0]) || !isfinite(y[1]))
            continue;
        line(c, sc, (double[]){x, y[0]}, (double[]){x, y[1]}, s->style);
        for (int k = 0; k < 2; k++)
            line(c, sc, (double[]){x - half, y[k]}, (double[]){x + half, y[k]}, s->style);
    }
}

static struct canvas canvas_in(grid *g, rect area, bool ascii)
{
    return (struct canvas){g, area, ascii ? 1 : 2, ascii ? 1 : 4, 0};
}

void plot_curves(
    grid *g, rect area, const struct series *series, size_t n, double lo, double hi, bool ascii)
{
    if (area.w <= 0 || area.h <= 0 || !(lo < hi))
        return;
    struct canvas c = canvas_in(g, area, ascii);
    struct scale sc = {.lo = lo, .hi = hi, .w = area.w * c.dots_x, .h = area.h * c.dots_y};
    find_x(series, n, &sc.x0, &sc.x1);
    for (size_t i = 0; i < n; i++)
        curve(&c, &series[i], &sc);
}

// "── loss 0.0735  ── val_loss 0.0831". If there is too little room: with fewer digits, then with
// common short names, and at last with cut names.
static const struct legend_size {
    const char *line;
    bool brief_line;
    int name, digits;
    bool brief;
} legend_sizes[] = {{"──", false, 99, 4, false}, {"─", true, 99, 4, false},
    {"─", true, 99, 3, false}, {"─", true, 99, 4, true}, {"─", true, 99, 3, true},
    {"─", true, 99, 2, true}, {"─", true, 5, 3, true}, {"─", true, 3, 2, true}};

static void short_name(const char *name, buf *out)
{
    static const char *const forms[][2] = {{"accuracy", "acc"}, {"learning_rate", "lr"},
        {"validation", "val"}, {"gradient", "grad"}, {"perplexity", "ppl"}};
    while (*name) {
        size_t i = 0;
        while (i < ARRAY_LEN(forms) && strncmp(name, forms[i][0], strlen(forms[i][0])) != 0)
            i++;
        if (i < ARRAY_LEN(forms)) {
            buf_str(out, forms[i][1]);
            name += strlen(forms[i][0]);
        } else {
            buf_char(out, *name++);
        }
    }
}

// The value at x, or the last one; NaN: there is none.
static double value_at(const struct series *s, const double *at)
{
    size_t best = s->n - 1;
    for (size_t i = 0; at && i < s->n; i++)
        if (fabs(x_of(s, i) - *at) < fabs(x_of(s, best) - *at))
            best = i;
    return s->values[best];
}

static const char *legend_line(const struct plot *p, size_t i, const struct legend_size *size)
{
    const struct stroke *stroke = &strokes[i % ARRAY_LEN(strokes)];
    if (p->ascii)
        return p->n > 1 ? stroke->ascii : "-";
    return !p->dashes ? size->line : size->brief_line ? stroke->brief : stroke->line;
}

static int put_legend(
    grid *g, rect clip, rect row, const struct plot *p, const struct legend_size *size)
{
    int x = row.x;
    for (size_t i = 0; i < p->n; i++) {
        const struct series *s = &p->series[i];
        AUTO_BUF name = {0};
        if (!s->name || !s->n)
            continue;
        if (size->brief)
            short_name(s->name, &name);
        else
            buf_str(&name, s->name);
        x += x > row.x ? 2 : 0;
        x += grid_print(g, clip, x, row.y, s->style, "%s", legend_line(p, i, size));
        x += grid_print(g, clip, x, row.y, (style){0}, " %.*s %.*g", size->name, buf_cstr(&name),
            size->digits, value_at(s, p->at));
    }
    return x - row.x;
}

static void legend(grid *g, rect row, const struct plot *p)
{
    size_t i = 0;
    while (i + 1 < ARRAY_LEN(legend_sizes) &&
           put_legend(g, (rect){0}, row, p, &legend_sizes[i]) > row.w)
        i++;
    put_legend(g, row, row, p, &legend_sizes[i]);
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
static size_t log_ticks(const struct scale *sc, int most, double out[PLOT_TICKS])
{
    size_t n = plot_ticks(sc->lo, sc->hi, most, true, out);
    for (size_t i = 0; i < n; i++)
        out[i] = pow(10, out[i]);
    return n >= 2 ? n : plot_ticks(pow(10, sc->lo), pow(10, sc->hi), most, false, out);
}

static void y_tick(
    grid *g, rect plot, const struct scale *sc, double v, const char *words, bool ascii)
{
    style dim = {.attrs = ATTR_DIM};
    rect axis = {plot.x - PLOT_AXIS, plot.y, PLOT_AXIS - 1, plot.h};
    int y = plot.y + (int)lround((sc->hi - y_of(sc, v)) / (sc->hi - sc->lo) * (plot.h - 1));
    grid_print(g, axis, axis.x, y, dim, "%6s", words);
    grid_print(g, (rect){plot.x - 1, plot.y, 1, plot.h}, plot.x - 1, y, dim, ascii ? "+" : "┤");
}

// As many ticks as look well; if those are too few, as many as fit.
static size_t find_y_ticks(const struct scale *sc, int rows, double out[PLOT_TICKS])
{
    enum { WELL = 3, TIGHT = 2, LEAST = 5 };
    size_t n = 0;
    for (int every = WELL; rows >= LEAST && n < 3 && every >= TIGHT; every--)
        n = sc->log ? log_ticks(sc, rows / every, out)
                    : plot_ticks(sc->lo, sc->hi, rows / every, false, out);
    return n;
}

static void y_axis(grid *g, rect plot, const struct scale *sc, bool ascii)
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

static int column_of(rect plot, const struct scale *sc, double x)
{
    return plot.x + (int)lround((x - sc->x0) / (sc->x1 - sc->x0) * (plot.w - 1));
}

// Prints the number of a tick below it, within the row. Returns where it begins.
static int x_label(rect plot, rect row, const struct scale *sc, double v, double step, buf *words)
{
    buf_clear(words);
    tick_text(v, step, words);
    int w = (int)words->len, x = column_of(plot, sc, v) - w / 2, end = row.x + row.w;
    x = x + w > end ? end - w : x;
    return x < row.x ? row.x : x;
}

// Where the name of x begins: before the last number, "epoch 6"; if it would hide the number before
// that and is short, left of the axis.
static int name_place(
    rect plot, rect row, const struct scale *sc, const double *ticks, size_t n, double step, int w)
{
    AUTO_BUF words = {0};
    int name = row.x + row.w - w;
    int last = n ? x_label(plot, row, sc, ticks[n - 1], step, &words) : row.x;
    if (last + (int)words.len >= name && last - 1 - w > row.x)
        name = last - 1 - w;
    if (n < 2 || w > PLOT_AXIS - 2)
        return name;
    int x = x_label(plot, row, sc, ticks[n - 2], step, &words), to = x + (int)words.len;
    return to >= name && x <= name + w ? plot.x - 2 - w : name;
}

static void x_axis(grid *g, rect plot, const struct scale *sc, const struct plot *p)
{
    int every = p->whole ? 5 : 8; // columns
    style dim = {.attrs = ATTR_DIM};
    double ticks[PLOT_TICKS];
    AUTO_BUF words = {0};
    rect row = {plot.x - 1, plot.y + plot.h, plot.w + 1, 1};
    rect all = {plot.x - PLOT_AXIS, row.y, plot.w + PLOT_AXIS, 1};
    int w = p->x_name ? text_width(p->x_name, strlen(p->x_name), 0) : 0;
    int end = row.x + row.w, free_from = row.x;
    size_t n = plot_ticks(sc->x0, sc->x1, plot.w / every, p->whole, ticks);
    double step = n > 1 ? ticks[1] - ticks[0] : 0;
    int name = name_place(plot, row, sc, ticks, n, step, w);
    if (w)
        grid_print(g, w > PLOT_AXIS - 2 ? row : all, name, row.y, dim, "%s", p->x_name);
    for (size_t i = 0; i < n; i++) {
        int x = x_label(plot, row, sc, ticks[i], step, &words), to = x + (int)words.len;
        if (x < free_from || to > end || (w && to >= name && x <= name + w))
            continue;
        grid_print(g, row, x, row.y, dim, "%s", buf_cstr(&words));
        free_from = to + 2;
    }
}

static void widen_to(struct scale *sc, double y)
{
    if (!isfinite(y))
        return;
    sc->lo = fmin(sc->lo, y);
    sc->hi = fmax(sc->hi, y);
}

// The finite range of the values between x0 and x1.
static bool find_y(const struct plot *p, struct scale *sc)
{
    sc->lo = INFINITY;
    sc->hi = -INFINITY;
    for (size_t i = 0; i < p->n; i++)
        for (size_t j = 0; j < p->series[i].n; j++) {
            const struct series *s = &p->series[i];
            double x = x_of(s, j);
            if (x < sc->x0 || x > sc->x1)
                continue;
            widen_to(sc, y_of(sc, s->values[j]));
            widen_to(sc, s->low ? y_of(sc, s->low[j]) : NAN);
            widen_to(sc, s->high ? y_of(sc, s->high[j]) : NAN);
        }
    if (sc->lo > sc->hi)
        return false;
    widen(&sc->lo, &sc->hi);
    return true;
}

void plot_chart(grid *g, rect area, const struct plot *p)
{
    struct scale sc = {.log = p->log, .x0 = p->from, .x1 = p->to};
    bool axes = area.w >= 12 && area.h >= 3, below = axes && area.h >= 6;
    if (!(p->from < p->to))
        find_x(p->series, p->n, &sc.x0, &sc.x1);
    if (area.w <= 0 || area.h <= 0 || !find_y(p, &sc))
        return;
    rect plot =
        !axes ? area
              : (rect){area.x + PLOT_AXIS, area.y + 1, area.w - PLOT_AXIS, area.h - 1 - below};
    struct canvas c = canvas_in(g, plot, p->ascii);
    sc.w = plot.w * c.dots_x;
    sc.h = plot.h * c.dots_y;
    if (axes) {
        legend(g, (rect){area.x, area.y, area.w, 1}, p);
        y_axis(g, plot, &sc, p->ascii);
    }
    if (below)
        x_axis(g, plot, &sc, p);
    if (p->at)
        grid_vline(
            g, plot, column_of(plot, &sc, *p->at), plot.y, plot.h, (style){.attrs = ATTR_DIM});
    for (size_t i = 0; i < p->n; i++)
        intervals(&c, &p->series[i], &sc);
    for (size_t i = 0; i < p->n; i++) {
        c.stroke = p->ascii || p->dashes ? i : 0;
        (p->points ? points : curve)(&c, &p->series[i], &sc);
    }
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
