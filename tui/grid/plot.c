// SPDX-License-Identifier: MIT
#include "tui/grid/plot_private.h"

#include "base/buf.h"
#include "base/mem.h"

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
    uint32_t point;     // drawn in ASCII instead of the stroke's character; 0: that one
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
    uint32_t point = c->point ? c->point : (uint32_t)*stroke->ascii;
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

static double x_of(const struct series *s, size_t i)
{
    return s->x ? s->x[i] : (double)i;
}

style plot_look(size_t i)
{
    static const style looks[] = {{.fg = COLOR_INDEX(4)}, {.fg = COLOR_INDEX(3)},
        {.fg = COLOR_INDEX(2)}, {.fg = COLOR_INDEX(5)}, {.fg = COLOR_INDEX(6)},
        {.fg = COLOR_INDEX(1)}, {.fg = COLOR_INDEX(7)}, {.attrs = ATTR_BOLD}};
    return looks[i % ARRAY_LEN(looks)];
}

const char *plot_stroke(size_t i, bool ascii, bool dashes)
{
    const struct stroke *s = &strokes[i % ARRAY_LEN(strokes)];
    return ascii ? s->ascii : dashes ? s->line : "──";
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
        double x = x_of(s, i), y = plot_y(sc, s->values[i]);
        double now[2] = {
            plot_x(sc, x) * (sc->w - 1), (sc->hi - y) / (sc->hi - sc->lo) * (sc->h - 1)};
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
        double x = plot_x(sc, x_of(s, i)) * (sc->w - size),
               y = (sc->hi - plot_y(sc, s->values[i])) / (sc->hi - sc->lo) * (sc->h - size);
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
        double x = plot_x(sc, x_of(s, i)) * (sc->w - 1), y[2];
        for (int k = 0; k < 2; k++)
            y[k] =
                (sc->hi - plot_y(sc, k ? s->high[i] : s->low[i])) / (sc->hi - sc->lo) * (sc->h - 1);
        if (!isfinite(x) || !isfinite(y[0]) || !isfinite(y[1]))
            continue;
        line(c, sc, (double[]){x, y[0]}, (double[]){x, y[1]}, s->style);
        for (int k = 0; k < 2; k++)
            line(c, sc, (double[]){x - half, y[k]}, (double[]){x + half, y[k]}, s->style);
    }
}

// Fills from one end of each value's interval to the other, column by column: every second dot, so
// that curves are seen over it.
static void band(const struct canvas *c, const struct series *s, const struct scale *sc)
{
    int last = -1;
    double was[2] = {NAN, NAN};
    for (size_t i = 0; i < s->n; i++) {
        double x = plot_x(sc, x_of(s, i)) * (sc->w - 1), now[2];
        now[0] = (sc->hi - plot_y(sc, s->high[i])) / (sc->hi - sc->lo) * (sc->h - 1);
        now[1] = (sc->hi - plot_y(sc, s->low[i])) / (sc->hi - sc->lo) * (sc->h - 1);
        if (!isfinite(x) || !isfinite(now[0]) || !isfinite(now[1])) {
            last = -1;
            continue;
        }
        int to = (int)lround(fmin(fmax(x, -1), sc->w)), from = last < 0 ? to : last;
        for (int at = from < 0 ? 0 : from; at <= to && at < sc->w; at++) {
            double part = to > from ? (double)(at - from) / (to - from) : 1;
            double high = last < 0 ? now[0] : was[0] + part * (now[0] - was[0]),
                   low = last < 0 ? now[1] : was[1] + part * (now[1] - was[1]);
            int top = (int)lround(fmax(high, 0)), end = (int)lround(fmin(low, sc->h - 1));
            for (int y = top; y <= end; y++)
                if ((at + y) % 2 == 0)
                    dot(c, at, y, s->style);
        }
        last = to;
        was[0] = now[0];
        was[1] = now[1];
    }
}

// The letter at the last value that is shown, so that curves are told apart without colours. Where
// another letter stands, it moves left.
static void letter(const struct canvas *c, const struct series *s, const struct scale *sc)
{
    for (size_t i = s->n; i-- > 0;) {
        double x = plot_x(sc, x_of(s, i)) * (sc->w - 1),
               y = (sc->hi - plot_y(sc, s->values[i])) / (sc->hi - sc->lo) * (sc->h - 1);
        if (!isfinite(x) || !isfinite(y) || x < -0.5 || x > sc->w - 0.5 || y < -0.5 ||
            y > sc->h - 0.5)
            continue;
        int cx = c->area.x + (int)lround(x) / c->dots_x,
            cy = c->area.y + (int)lround(y) / c->dots_y;
        for (; cx > c->area.x; cx--) {
            const grid_cell *was = grid_at(c->g, cx, cy);
            if (!was || was->points[0] < 'a' || was->points[0] > 'z' ||
                !(was->style.attrs & ATTR_BOLD))
                break;
        }
        grid_fill(c->g, (rect){cx, cy, 1, 1}, (uint32_t)s->letter,
            style_over(s->style, (style){.attrs = ATTR_BOLD}));
        return;
    }
}

static struct canvas canvas_in(grid *g, rect area, bool ascii)
{
    return (struct canvas){g, area, ascii ? 1 : 2, ascii ? 1 : 4, 0, 0};
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

static void widen_to(struct scale *sc, double y)
{
    if (!isfinite(y))
        return;
    sc->lo = fmin(sc->lo, y);
    sc->hi = fmax(sc->hi, y);
}

// The finite range of the values between x0 and x1, or the one that is given.
static bool find_y(const struct plot *p, struct scale *sc)
{
    if (p->lo < p->hi && (!sc->log || p->lo > 0)) {
        sc->lo = plot_y(sc, p->lo);
        sc->hi = plot_y(sc, p->hi);
        return true;
    }
    sc->lo = INFINITY;
    sc->hi = -INFINITY;
    for (size_t i = 0; i < p->n; i++)
        for (size_t j = 0; j < p->series[i].n; j++) {
            const struct series *s = &p->series[i];
            double x = plot_x(sc, x_of(s, j));
            if (!(x >= 0 && x <= 1))
                continue;
            widen_to(sc, s->band ? NAN : plot_y(sc, s->values[j]));
            widen_to(sc, s->low ? plot_y(sc, s->low[j]) : NAN);
            widen_to(sc, s->high ? plot_y(sc, s->high[j]) : NAN);
        }
    if (sc->lo > sc->hi)
        return false;
    widen(&sc->lo, &sc->hi);
    return true;
}

static void draw_series(const struct canvas *c, const struct plot *p, const struct scale *sc)
{
    struct canvas own = *c;
    own.point = p->ascii ? '.' : 0;
    for (size_t i = 0; i < p->n; i++)
        if (p->series[i].band)
            band(&own, &p->series[i], sc);
        else
            intervals(c, &p->series[i], sc);
    own.point = 0;
    for (size_t i = 0; i < p->n; i++) {
        const struct series *s = &p->series[i];
        own.stroke = p->ascii || p->dashes ? s->stroke ? s->stroke - 1 : i : 0;
        if (!s->band)
            (p->points ? points : curve)(&own, s, sc);
    }
    for (size_t i = 0; i < p->n; i++)
        if (p->series[i].letter)
            letter(c, &p->series[i], sc);
}

// Of a logarithmic axis its range begins at the least positive value.
static bool find_range(const struct plot *p, struct scale *sc)
{
    if (p->from < p->to) {
        sc->x0 = p->from;
        sc->x1 = p->to;
    } else {
        find_x(p->series, p->n, &sc->x0, &sc->x1);
    }
    if (!sc->log_x)
        return true;
    double least = INFINITY;
    for (size_t i = 0; i < p->n && !(sc->x0 > 0); i++)
        for (size_t j = 0; j < p->series[i].n; j++)
            if (x_of(&p->series[i], j) > 0)
                least = fmin(least, x_of(&p->series[i], j));
    sc->x0 = log10(sc->x0 > 0 ? sc->x0 : least);
    sc->x1 = log10(sc->x1);
    if (!(sc->x0 < sc->x1))
        sc->x1 = sc->x0 + 1;
    return isfinite(sc->x0) && isfinite(sc->x1);
}

void plot_chart(grid *g, rect area, const struct plot *p)
{
    struct scale sc = {.log = p->log, .log_x = p->log_x};
    bool axes = area.w >= 12 && area.h >= 3, below = axes && area.h >= 6, head = axes && !p->bare;
    if (area.w <= 0 || area.h <= 0 || !find_range(p, &sc) || !find_y(p, &sc))
        return;
    rect plot = !axes ? area
                      : (rect){area.x + PLOT_AXIS, area.y + head, area.w - PLOT_AXIS,
                            area.h - head - below};
    struct canvas c = canvas_in(g, plot, p->ascii);
    sc.w = plot.w * c.dots_x;
    sc.h = plot.h * c.dots_y;
    if (head)
        legend(g, (rect){area.x, area.y, area.w, 1}, p);
    if (axes)
        plot_y_axis(g, plot, &sc, p->ascii);
    if (below)
        plot_x_axis(g, plot, &sc, p);
    if (p->at)
        grid_vline(
            g, plot, plot_column(plot, &sc, *p->at), plot.y, plot.h, (style){.attrs = ATTR_DIM});
    draw_series(&c, p, &sc);
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
