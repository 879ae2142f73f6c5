// SPDX-License-Identifier: MIT
//   0┌───────────────────────────────┐ WIDTH
//    │ y ticks │  plot               │
//    │         │                     │
//    └─────────┴── x ticks ──────────┘ HEIGHT
#include "script/report/html/svg.h"

#include "base/mem.h"
#include "base/text/utf8.h"
#include "script/embed.h"
#include "script/report/html/html_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

extern const struct lua_source report_style[]; // chart.css, report.css

enum { WIDTH = 720, HEIGHT = 260, LEFT = 64, RIGHT = 14, TOP = 10, BOTTOM = 38 };
enum {
    TICKS = 5,
    MARKED = 60,  // a line with at most so many values has a mark at each
    TITLED = 200, // and a tooltip with the value
    DRAWN = 1000, // number of columns into which a longer line's values are grouped
    LABELS_MOST = 12,
    ROW = 18,    // of an image's title or legend
    LETTER = 7,  // its width, about
    SQUARE = 10, // of a legend's colour
};

struct range {
    double low, high;
};
struct plot {
    const struct svg_chart *chart;
    struct range x, y;
    buf *out;
};

static void widen(struct range *r, double v)
{
    if (!isfinite(v))
        return;
    r->low = v < r->low ? v : r->low;
    r->high = v > r->high ? v : r->high;
}

// An axis needs some length, also if all values are equal.
static void settle(struct range *r)
{
    if (r->high > r->low)
        return;
    double by = r->low ? fabs(r->low) * 0.1 : 1;
    r->low -= by;
    r->high += by;
}

static bool measure(struct plot *p)
{
    const struct svg_chart *c = p->chart;
    p->x = p->y = (struct range){INFINITY, -INFINITY};
    for (size_t i = 0; i < c->n; i++) {
        for (size_t k = 0; k < c->series[i].n; k++) {
            double x = c->series[i].x[k], y = c->series[i].y[k];
            if (!isfinite(x) || !isfinite(y))
                continue;
            widen(&p->x, x);
            widen(&p->y, y);
            widen(&p->y, c->series[i].low ? c->series[i].low[k] : NAN);
            widen(&p->y, c->series[i].high ? c->series[i].high[k] : NAN);
        }
    }
    if (p->x.low > p->x.high)
        return false;
    if (c->kind == SVG_BARS) {
        widen(&p->y, 0);
        p->x.low -= 0.5;
        p->x.high += 0.5;
    }
    settle(&p->x);
    settle(&p->y);
    return isfinite(p->x.high - p->x.low) && isfinite(p->y.high - p->y.low);
}

// Ticks are i * step + 0.0, which is never "-0". The step is 1, 2 or 5 times a power of ten, so
// that there are about TICKS of them.
static double step_of(struct range r)
{
    double rough = (r.high - r.low) / TICKS, power = pow(10, floor(log10(rough)));
    double times = rough / power;
    return power * (times < 1.5 ? 1 : times < 3.5 ? 2 : times < 7.5 ? 5 : 10);
}

static double place_x(const struct plot *p, double x)
{
    return LEFT + (x - p->x.low) / (p->x.high - p->x.low) * (WIDTH - LEFT - RIGHT);
}

static double place_y(const struct plot *p, double y)
{
    return HEIGHT - BOTTOM - (y - p->y.low) / (p->y.high - p->y.low) * (HEIGHT - TOP - BOTTOM);
}

static void y_axis(struct plot *p)
{
    double step = step_of(p->y);
    for (double i = ceil(p->y.low / step); i * step <= p->y.high + step * 1e-9; i++) {
        double at = place_y(p, i * step);
        buf_fmt(p->out,
            "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
            "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.6g</text>\n",
            LEFT, WIDTH - RIGHT, at, at, LEFT - 6, at + 4, i * step + 0.0);
    }
}

static void x_tick(struct plot *p, double x, const char *text)
{
    double at = place_x(p, x);
    buf_fmt(p->out,
        "<line class=\"axis\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>"
        "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">",
        at, at, HEIGHT - BOTTOM, HEIGHT - BOTTOM + 4, at, HEIGHT - BOTTOM + 17);
    html_escape(p->out, text, strlen(text));
    buf_str(p->out, "</text>\n");
}

static void x_labels(struct plot *p)
{
    const struct svg_series *first = &p->chart->series[0];
    size_t every = 1 + (first->n - 1) / LABELS_MOST;
    for (size_t i = 0; i < first->n; i += every)
        x_tick(p, first->x[i], p->chart->labels[i]);
}

// Epochs and steps are integers: there is nothing to label between them.
static bool are_whole(const struct svg_chart *c)
{
    for (size_t i = 0; i < c->n; i++)
        for (size_t k = 0; k < c->series[i].n; k++)
            if (isfinite(c->series[i].x[k]) && c->series[i].x[k] != floor(c->series[i].x[k]))
                return false;
    return true;
}

static void x_axis(struct plot *p)
{
    buf_fmt(p->out, "<line class=\"axis\" x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>\n", LEFT,
        WIDTH - RIGHT, HEIGHT - BOTTOM, HEIGHT - BOTTOM);
    if (p->chart->labels) {
        x_labels(p);
        return;
    }
    double step = step_of(p->x);
    step = step < 1 && are_whole(p->chart) ? 1 : step;
    for (double i = ceil(p->x.low / step); i * step <= p->x.high + step * 1e-9; i++) {
        char text[32];
        snprintf(text, sizeof text, "%.6g", i * step + 0.0);
        x_tick(p, i * step, text);
    }
}

static void axis_names(struct plot *p)
{
    const struct svg_chart *c = p->chart;
    if (c->x_label) {
        buf_fmt(p->out, "<text class=\"name\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">",
            (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 4);
        html_escape(p->out, c->x_label, strlen(c->x_label));
        buf_str(p->out, "</text>\n");
    }
    if (c->y_label) {
        int middle = (TOP + HEIGHT - BOTTOM) / 2;
        buf_fmt(p->out,
            "<text class=\"name\" x=\"12\" y=\"%d\" text-anchor=\"middle\" "
            "transform=\"rotate(-90 12 %d)\">",
            middle, middle);
        html_escape(p->out, c->y_label, strlen(c->y_label));
        buf_str(p->out, "</text>\n");
    }
}

static void title_of(struct plot *p, const struct svg_series *s, size_t k)
{
    buf_str(p->out, "<title>");
    html_escape(p->out, s->name, strlen(s->name));
    if (p->chart->labels)
        buf_fmt(p->out, ": %.6g</title>", s->y[k]);
    else
        buf_fmt(p->out, ": %.6g at %.6g</title>", s->y[k], s->x[k]);
}

static void mark(struct plot *p, const struct svg_series *s, size_t k, bool titled)
{
    buf_fmt(p->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\">", place_x(p, s->x[k]),
        place_y(p, s->y[k]));
    if (titled)
        title_of(p, s, k);
    buf_str(p->out, "</circle>\n");
}

static void point(struct plot *p, double x, double y, bool *open)
{
    if (!*open)
        buf_str(p->out, "<polyline points=\"");
    buf_fmt(p->out, "%s%.1f,%.1f", *open ? " " : "", place_x(p, x), place_y(p, y));
    *open = true;
}

static void end_line(struct plot *p, bool *open)
{
    if (*open)
        buf_str(p->out, "\"/>\n");
    *open = false;
}

// Keeps the smallest and the largest of each group of neighbours, in their order: no peak is lost.
static void group(struct plot *p, const struct svg_series *s, size_t from, size_t to, bool *open)
{
    size_t least = from, most = from;
    for (size_t k = from; k < to; k++) {
        if (!isfinite(s->y[k]) || !isfinite(s->x[k]))
            continue;
        least = !isfinite(s->y[least]) || s->y[k] < s->y[least] ? k : least;
        most = !isfinite(s->y[most]) || s->y[k] > s->y[most] ? k : most;
    }
    if (!isfinite(s->y[least]) || !isfinite(s->x[least])) {
        end_line(p, open);
        return;
    }
    size_t first = least < most ? least : most, last = least < most ? most : least;
    point(p, s->x[first], s->y[first], open);
    if (last != first)
        point(p, s->x[last], s->y[last], open);
}

static void line(struct plot *p, const struct svg_series *s)
{
    bool open = false, lonely = s->n <= MARKED;
    size_t size = 1 + (s->n - 1) / DRAWN;
    for (size_t k = 0; k < s->n; k += size)
        group(p, s, k, k + size < s->n ? k + size : s->n, &open);
    end_line(p, &open);
    for (size_t k = 0; lonely && k < s->n; k++)
        if (isfinite(s->x[k]) && isfinite(s->y[k]))
            mark(p, s, k, true);
}

static void points(struct plot *p, const struct svg_series *s)
{
    for (size_t k = 0; k < s->n; k++)
        if (isfinite(s->x[k]) && isfinite(s->y[k]))
            mark(p, s, k, s->n <= TITLED);
}

// An error bar at each value: a line with a stroke across each end. at: its position.
static void interval(struct plot *p, const struct svg_series *s, size_t k, double at)
{
    enum { HALF = 5 };
    if (!s->low || !isfinite(s->low[k]) || !isfinite(s->high[k]) || !isfinite(at))
        return;
    double low = place_y(p, s->low[k]), high = place_y(p, s->high[k]);
    buf_fmt(p->out,
        "<path class=\"interval\" d=\"M%.1f %.1fH%.1fM%.1f %.1fV%.1fM%.1f %.1fH%.1f\">"
        "<title>",
        at - HALF, low, at + HALF, at, low, high, at - HALF, high, at + HALF);
    html_escape(p->out, s->name, strlen(s->name));
    buf_fmt(p->out, ": %.6g [%.6g, %.6g]</title></path>\n", s->y[k], s->low[k], s->high[k]);
}

static void bars(struct plot *p, size_t i)
{
    const struct svg_series *s = &p->chart->series[i];
    double near = p->x.high - p->x.low; // the distance of neighbouring bars
    for (size_t k = 1; k < s->n; k++)
        if (s->x[k] > s->x[k - 1] && s->x[k] - s->x[k - 1] < near)
            near = s->x[k] - s->x[k - 1];
    double room = (place_x(p, p->x.low + near) - LEFT) * 0.8, width = room / (double)p->chart->n;
    for (size_t k = 0; k < s->n; k++) {
        if (!isfinite(s->x[k]) || !isfinite(s->y[k]))
            continue;
        double top = place_y(p, s->y[k] > 0 ? s->y[k] : 0);
        double bottom = place_y(p, s->y[k] > 0 ? 0 : s->y[k]);
        double left = place_x(p, s->x[k]) - room / 2 + width * (double)i;
        buf_fmt(p->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">", left, top,
            width > 0.5 ? width : 0.5, bottom - top);
        if (s->n <= TITLED)
            title_of(p, s, k);
        buf_str(p->out, "</rect>\n");
        interval(p, s, k, left + width / 2);
    }
}

// The colour of a series; a series of the same name keeps its colour.
static size_t colour_of(const struct svg_chart *c, size_t i)
{
    size_t colour = 0;
    for (size_t k = 0; k < i; k++) {
        if (strcmp(c->series[k].name, c->series[i].name) == 0)
            return colour_of(c, k);
        bool again = false;
        for (size_t m = 0; m < k && !again; m++)
            again = strcmp(c->series[m].name, c->series[k].name) == 0;
        colour += !again;
    }
    return colour % SVG_COLOURS;
}

static bool is_first(const struct svg_chart *c, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(c->series[k].name, c->series[i].name) == 0)
            return false;
    return true;
}

static void series(struct plot *p, size_t i)
{
    const struct svg_series *s = &p->chart->series[i];
    if (s->n == 0)
        return;
    buf_fmt(p->out, "<g class=\"s%zu %s\">\n", colour_of(p->chart, i),
        p->chart->kind == SVG_LINE     ? "line"
        : p->chart->kind == SVG_POINTS ? "points"
                                       : "bars");
    if (p->chart->kind == SVG_BARS)
        bars(p, i);
    else if (p->chart->kind == SVG_POINTS)
        points(p, s);
    else
        line(p, s);
    for (size_t k = 0; k < s->n && p->chart->kind != SVG_BARS; k++)
        interval(p, s, k, place_x(p, s->x[k]));
    buf_str(p->out, "</g>\n");
}

static void legend(const struct svg_chart *c, buf *out)
{
    buf_str(out, "<ul class=\"legend\">");
    for (size_t i = 0; i < c->n; i++) {
        if (!is_first(c, i))
            continue;
        buf_fmt(out, "<li class=\"s%zu\"><span>", colour_of(c, i));
        html_escape(out, c->series[i].name, strlen(c->series[i].name));
        buf_str(out, "</span></li>");
    }
    buf_str(out, "</ul>\n");
}

static void label(struct plot *p)
{
    const struct svg_chart *c = p->chart;
    buf_str(p->out, " role=\"img\" aria-label=\"");
    html_string(p->out, c->title ? c->title : c->n ? c->series[0].name : "chart");
    buf_str(p->out, "\">\n");
}

static void drawing(struct plot *p)
{
    y_axis(p);
    x_axis(p);
    axis_names(p);
    for (size_t i = 0; i < p->chart->n; i++)
        series(p, i);
}

static bool has_legend(const struct svg_chart *c)
{
    return c->n > 1 || !c->title;
}

void svg_chart(const struct svg_chart *chart, buf *out)
{
    struct plot p = {.chart = chart, .out = out};
    buf_str(out, "<figure class=\"chart\">\n");
    if (chart->title) {
        buf_str(out, "<figcaption>");
        html_escape(out, chart->title, strlen(chart->title));
        buf_str(out, "</figcaption>\n");
    }
    if (measure(&p)) {
        buf_fmt(out, "<svg viewBox=\"0 0 %d %d\"", WIDTH, HEIGHT);
        label(&p);
        drawing(&p);
        buf_str(out, "</svg>\n");
    } else {
        buf_str(out, "<p class=\"note\">no number that can be drawn</p>\n");
    }
    if (has_legend(chart))
        legend(chart, out);
    buf_str(out, "</figure>\n");
}

// An image's title stands above the drawing.
static void image_title(const struct svg_chart *c, buf *out)
{
    buf_fmt(out, "<text x=\"%d\" y=\"-5\" style=\"font-weight: bold\">", LEFT);
    html_string(out, c->title);
    buf_str(out, "</text>\n");
}

// Draws the legend below, in as many rows as needed; returns where it ends.
static int image_legend(const struct svg_chart *c, buf *out)
{
    int x = LEFT, y = HEIGHT + ROW;
    for (size_t i = 0; i < c->n; i++) {
        const char *name = c->series[i].name;
        int wide = 3 * SQUARE + LETTER * text_width(name, strlen(name), 0);
        if (!is_first(c, i))
            continue;
        if (x > LEFT && x + wide > WIDTH) {
            x = LEFT;
            y += ROW;
        }
        buf_fmt(out,
            "<g class=\"s%zu\"><rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/></g>"
            "<text x=\"%d\" y=\"%d\">",
            colour_of(c, i), x, y - SQUARE, SQUARE, SQUARE, x + SQUARE + 4, y);
        html_string(out, name);
        buf_str(out, "</text>\n");
        x += wide;
    }
    return y + SQUARE;
}

bool svg_image(const struct svg_chart *chart, buf *out)
{
    AUTO_BUF below = {0};
    struct plot p = {.chart = chart, .out = out};
    if (!measure(&p))
        return false;
    int top = chart->title ? ROW + 2 : 0;
    int height = top + (has_legend(chart) ? image_legend(chart, &below) : HEIGHT);
    buf_fmt(out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" width=\"%d\" height=\"%d\" "
        "viewBox=\"0 %d %d %d\"",
        WIDTH, height, -top, WIDTH, height);
    label(&p);
    buf_fmt(out, "<style>\n%s</style>\n<rect y=\"%d\" width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
        report_style[0].text, -top, WIDTH, height);
    if (chart->title)
        image_title(chart, out);
    drawing(&p);
    buf_add(out, buf_cstr(&below), below.len);
    buf_str(out, "</svg>\n");
    return true;
}
