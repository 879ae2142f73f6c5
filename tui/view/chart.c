// SPDX-License-Identifier: MIT
// Progress and curves on the full screen: a cursor that reads values, a piece of the width
// enlarged, a logarithmic scale, one metric or all.
#include "base/mem.h"
#include "tui/bench/remote.h"
#include "tui/bench/views.h"
#include "tui/part/canvas.h"
#include "tui/part/curves.h"
#include "tui/view/open.h"

#include <math.h>

enum { HEAD_ROWS = 8, MOST = 16, AXIS = 8 };
#define KIND(name) "application/vnd.firesteel." name "+json"

struct chart_view {
    view head;
    int64_t display;
    int chart; // -1: all
    bool log, reads;
    size_t at;       // the point that is read
    double from, to; // of x; the same: all
    int w;
};

static const struct output *output_of(const struct chart_view *v)
{
    return fold_display(bench_fold(v->head.bench), v->display);
}

static curves *curves_of(const struct chart_view *v)
{
    const struct output *o = output_of(v);
    return o ? curves_new(o->data) : NULL;
}

static const double *point(const struct chart_view *v, const curves *c)
{
    size_t n;
    const double *x = curves_points(c, &n);
    return v->reads && n ? &x[v->at < n ? v->at : n - 1] : NULL;
}

static void draw_title(const struct chart_view *v, const curves *c, grid *g, rect area)
{
    const struct output *o = output_of(v);
    AUTO_BUF place = {0}, words = {0};
    open_place(v->head.bench, NULL, v->display, &place);
    int x = area.x + 1;
    x += grid_print(
        g, area, x, area.y, LOOK_BOLD, "%s%s", o ? open_name(o->data) : "gone", buf_cstr(&place));
    if (o && !o->live)
        buf_str(&words, "  ended");
    if (c && v->chart >= 0 && *curves_name(c, (size_t)v->chart))
        buf_fmt(&words, "  %s", curves_name(c, (size_t)v->chart));
    buf_str(&words, v->log ? "  log scale" : "");
    buf_str(&words, v->from < v->to ? "  enlarged" : "");
    x += grid_print(g, area, x, area.y, LOOK_DIM, "%s", buf_cstr(&words));
    if (c && point(v, c))
        grid_print(g, area, x, area.y, LOOK_ACCENT, "  at %s%s%.6g",
            curves_x_name(c) ? curves_x_name(c) : "", curves_x_name(c) ? " " : "", *point(v, c));
}

// What stands above the curves; returns its rows.
static int draw_head(const struct chart_view *v, const struct output *o, grid *g, rect area)
{
    const cJSON *progress = json_get(o->data, KIND("progress"));
    const char *title = json_str(json_get(o->data, KIND("plot")), "title");
    grid *own = grid_new(area.w, HEAD_ROWS);
    struct canvas c = {.grid = own,
        .w = area.w,
        .ascii = bench_ascii(v->head.bench),
        .dashes = bench_mono(v->head.bench)};
    if (progress)
        canvas_progress_head(&c, progress, o->live);
    else if (title)
        canvas_line(&c, LOOK_BOLD, "%s", title);
    int rows = c.y < HEAD_ROWS ? c.y : HEAD_ROWS;
    for (int y = 0; y < rows; y++)
        grid_blit(g, area, area.x, area.y + y, own, y);
    grid_free(own);
    return rows;
}

static void settle(view *view_, rect area)
{
    ((struct chart_view *)view_)->w = area.w;
}

static void draw(const view *view_, grid *g, rect area)
{
    const struct chart_view *v = (const struct chart_view *)view_;
    const struct output *o = output_of(v);
    curves *c = curves_of(v);
    draw_title(v, c, g, area);
    grid_park_cursor(g, area.x + 1, area.y + 1);
    rect rest = {area.x + 1, area.y + 1, area.w - 2, area.h - 1};
    int head = o && rest.h > 0 ? draw_head(v, o, g, rest) : 0;
    rest.y += head;
    rest.h -= head;
    if (c)
        curves_draw(c, g, rest,
            &(struct curves_look){.chart = v->chart,
                .charts = MOST,
                .log = v->log,
                .ascii = bench_ascii(view_->bench),
                .dashes = bench_mono(view_->bench),
                .from = v->from,
                .to = v->to,
                .at = point(v, c)});
    curves_free(c);
}

// How many points a key moves: if there are more points than columns, one of each column is read.
static size_t stride(const struct chart_view *v, const double *x, size_t n)
{
    size_t shown = 0, columns = v->w > 2 * AXIS ? (size_t)(v->w - AXIS) : AXIS;
    for (size_t i = 0; i < n; i++)
        shown += !(v->from < v->to) || (x[i] >= v->from && x[i] <= v->to);
    return shown > columns ? shown / columns : 1;
}

// The piece that is enlarged moves with the cursor.
static void keep_shown(struct chart_view *v, double at)
{
    double w = v->to - v->from;
    if (!(w > 0) || (at >= v->from && at <= v->to))
        return;
    v->from = at < v->from ? at : at - w;
    v->to = v->from + w;
}

static void move(struct chart_view *v, const curves *c, enum action a)
{
    size_t n;
    const double *x = curves_points(c, &n);
    size_t step = stride(v, x, n), last = n ? n - 1 : 0;
    if (!v->reads || a == ACT_POINT_LAST)
        v->at = a == ACT_POINT_NEXT || a == ACT_POINT_FIRST ? 0 : last;
    else if (a == ACT_POINT_FIRST)
        v->at = 0;
    else if (a == ACT_POINT_NEXT)
        v->at = v->at + step < n ? v->at + step : last;
    else
        v->at = v->at > step ? v->at - step : 0;
    v->reads = n > 0;
    if (n)
        keep_shown(v, x[v->at]);
}

static void zoom(struct chart_view *v, const curves *c, bool in)
{
    size_t n;
    const double *x = curves_points(c, &n), *at = point(v, c);
    double lo = INFINITY, hi = -INFINITY;
    for (size_t i = 0; i < n; i++)
        if (isfinite(x[i])) {
            lo = fmin(lo, x[i]);
            hi = fmax(hi, x[i]);
        }
    bool all = !(v->from < v->to);
    double from = all ? lo : v->from, to = all ? hi : v->to;
    double w = (to - from) * (in ? 0.5 : 2), middle = at ? *at : in ? to : (from + to) / 2;
    if (!(hi > lo) || (in && w < (hi - lo) / (double)n)) // one point is not a curve
        return;
    v->from = fmin(fmax(middle - w / 2, lo), hi - w);
    v->to = v->from + w;
    if (w >= hi - lo)
        v->from = v->to = 0;
}

static bool act_on(struct chart_view *v, const curves *c, enum action a)
{
    switch ((int)a) {
    case ACT_POINT_NEXT:
    case ACT_POINT_PREVIOUS:
    case ACT_POINT_FIRST:
    case ACT_POINT_LAST:
        move(v, c, a);
        return true;
    case ACT_ZOOM_IN:
    case ACT_ZOOM_OUT:
        zoom(v, c, a == ACT_ZOOM_IN);
        return true;
    case ACT_LOG_SCALE:
        v->log = !v->log;
        return true;
    case ACT_METRIC:
        v->chart = v->chart + 1 < (int)curves_count(c) ? v->chart + 1 : -1;
        if (v->chart == 0 && !*curves_name(c, 0)) // a plot has no names: -1 shows all of it
            v->chart = curves_count(c) > 1 ? 1 : -1;
        return true;
    }
    return false;
}

static bool act(view *view_, enum action a)
{
    struct chart_view *v = (struct chart_view *)view_;
    if (a == ACT_VIEW_NEXT || a == ACT_VIEW_PREVIOUS)
        return open_turn(view_, NULL, v->display, a == ACT_VIEW_NEXT ? 1 : -1);
    if (a == ACT_INTERRUPT) {
        remote_interrupt(view_->bench);
        return true;
    }
    curves *c = curves_of(v);
    bool done = c && act_on(v, c, a);
    curves_free(c);
    return done;
}

static void hint(const view *v, buf *out)
{
    curves *c = curves_of((const struct chart_view *)v);
    if (c)
        buf_str(out, bench_ascii(v->bench) ? "Left Right read" : "← → read");
    buf_str(out, c ? "  + - zoom  l log  m metric  q back" : "Tab the next output  q back");
    curves_free(c);
}

void chart_push(bench *b, int64_t display)
{
    struct chart_view *v = view_push(b, &chart_view_ops, sizeof *v);
    v->display = display;
    v->chart = -1;
}

static const struct binding bindings[] = {
    {MODE_VIEW, "Right", ACT_POINT_NEXT},
    {MODE_VIEW, "Left", ACT_POINT_PREVIOUS},
    {MODE_VIEW, "Home", ACT_POINT_FIRST},
    {MODE_VIEW, "End", ACT_POINT_LAST},
    {MODE_VIEW, "+", ACT_ZOOM_IN},
    {MODE_VIEW, "-", ACT_ZOOM_OUT},
    {MODE_VIEW, "l", ACT_LOG_SCALE},
    {MODE_VIEW, "m", ACT_METRIC},
    {MODE_VIEW, "r", ACT_CHART},
    {MODE_VIEW, "Tab", ACT_VIEW_NEXT},
    {MODE_VIEW, "S-Tab", ACT_VIEW_PREVIOUS},
    {MODE_VIEW, "C-c", ACT_INTERRUPT},
    {MODE_VIEW, "A", ACT_ANSWER},
    {MODE_VIEW, "C-l", ACT_REDRAW},
    {MODE_VIEW, "C-z", ACT_SUSPEND},
    {MODE_VIEW, "?", ACT_HELP},
    {MODE_VIEW, "F1", ACT_HELP},
    {MODE_VIEW, ":", ACT_PALETTE},
    {MODE_VIEW, "q", ACT_CLOSE},
    {MODE_VIEW, "Esc", ACT_BACK},
};
static const struct keymap keys = KEYMAP(bindings);
const struct view_ops chart_view_ops = {
    .name = "chart", .keys = &keys, .settle = settle, .draw = draw, .act = act, .hint = hint};
