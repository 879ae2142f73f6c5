// SPDX-License-Identifier: MIT
// Metrics of any runs and trials in one chart, live while they train: a cursor with the values of
// all curves, zoom, smoothing, logarithmic axes, bands of repeats.
#include "tui/view/metrics/metrics.h"

#include "base/mem.h"
#include "base/str.h"

#include <math.h>
#include <string.h>

enum { READ_MS = 25, AXIS_ROOM = 8, LEAST_COLUMNS = 256, MOST_COLUMNS = 4096 };

static struct metrics_view *of(view *v)
{
    return (struct metrics_view *)v;
}

static void settle(view *view_, rect area)
{
    struct metrics_view *v = of(view_);
    size_t columns = LEAST_COLUMNS;
    while (columns < (size_t)area.w * 4 && columns < MOST_COLUMNS)
        columns *= 2; // two a dot at least
    if (columns != v->columns) {
        v->columns = columns;
        metrics_anew(v);
    }
    v->w = area.w - 2;
    v->h = area.h - 1;
    double most = v->most;
    metrics_follow(v, READ_MS);
    if (v->from < v->to && v->to >= most && v->most > most) { // the newest stay in sight
        v->from += v->most - v->to;
        v->to = v->most;
        metrics_anew(v);
        metrics_follow(v, 0);
    }
}

static bool has_epochs(const struct metrics_view *v)
{
    for (size_t i = 0; i < v->n_lines; i++)
        if (str_eq(v->metrics[v->lines[i].metric].name, "epoch") ||
            (v->lines[i].n && v->lines[i].pieces[0].series == SIZE_MAX))
            return true;
    return false;
}

static void show_all(struct metrics_view *v)
{
    v->from = v->to = 0;
    v->reads = false;
    metrics_anew(v);
    metrics_follow(v, 0); // keys that come before the next drawing need the range of x
}

static void next_axis(struct metrics_view *v)
{
    v->axis = (v->axis + 1) % AXIS_COUNT;
    if (v->axis == AXIS_EPOCH && !has_epochs(v))
        v->axis++;
    show_all(v);
    bench_say(v->head.bench, "x: %s", axis_name(v->axis));
}

static double span(const struct metrics_view *v, double *from, double *to)
{
    bool part = v->from < v->to;
    *from = part ? v->from : v->least;
    *to = part ? v->to : v->most;
    return *to - *from;
}

// On a logarithmic axis the same part of the width everywhere.
static double along(const struct metrics_view *v, double x, double columns)
{
    double from, to, w = v->w > 2 * AXIS_ROOM ? v->w - AXIS_ROOM : AXIS_ROOM;
    span(v, &from, &to);
    if (!v->log_x || !(from > 0))
        return x + (to - from) / w * columns;
    return x * pow(to / from, columns / w);
}

// The next place to the left or right, a column away at least, where one of the curves has a value.
static bool find_place(const struct metrics_view *v, double x, bool right, double *out)
{
    double bound = along(v, x, right ? 1 : -1), best = right ? INFINITY : -INFINITY;
    for (size_t i = 0; i < v->n_lines; i++) {
        const struct metric_line *l = &v->lines[i];
        bool shown = metrics_in_sight(v, l);
        for (size_t k = 0; shown && k < l->n_drawn; k++)
            if (right ? l->x[k] >= bound && l->x[k] < best : l->x[k] <= bound && l->x[k] > best)
                best = l->x[k];
    }
    *out = best;
    return isfinite(best);
}

// The piece that is enlarged moves with the cursor.
static void keep_in_sight(struct metrics_view *v)
{
    double w = v->to - v->from;
    if (!(w > 0) || (v->at >= v->from && v->at <= v->to))
        return;
    v->from = v->at < v->from ? v->at : v->at - w;
    v->to = v->from + w;
    metrics_anew(v);
}

static void move_to(struct metrics_view *v, enum action a)
{
    double from, to, next;
    if (!(v->least <= v->most))
        return;
    span(v, &from, &to);
    if (a == ACT_POINT_FIRST || a == ACT_POINT_LAST)
        v->at = a == ACT_POINT_FIRST ? v->least : v->most;
    else if (!v->reads)
        v->at = a == ACT_POINT_NEXT ? from : to;
    else if (find_place(v, v->at, a == ACT_POINT_NEXT, &next))
        v->at = next;
    else if (v->from < v->to) // beyond the piece that is sampled
        v->at = fmin(fmax(along(v, v->at, a == ACT_POINT_NEXT ? 1 : -1), v->least), v->most);
    v->reads = true;
    keep_in_sight(v);
}

static void set_piece(struct metrics_view *v, double from, double to)
{
    v->from = fmax(from, v->least);
    v->to = fmin(to, v->most);
    if (v->from <= v->least && v->to >= v->most)
        v->from = v->to = 0;
    metrics_anew(v);
}

static void zoom(struct metrics_view *v, bool in)
{
    double from, to, w = span(v, &from, &to) * (in ? 0.5 : 2);
    double middle = v->reads ? v->at : in ? to : (from + to) / 2;
    bool logarithms = v->log_x && from > 0;
    if (!(w > 0) || (in && w < fmax(fabs(to), 1) * 1e-9))
        return;
    if (logarithms) {
        double ratio = pow(to / from, in ? 0.25 : 1);
        middle = v->reads ? v->at : in ? to / ratio : sqrt(from * to);
        set_piece(v, middle / ratio, middle * ratio);
        return;
    }
    double left = fmin(fmax(middle - w / 2, v->least), fmax(v->most - w, v->least));
    set_piece(v, left, left + w);
}

static void pan(struct metrics_view *v, bool right)
{
    double w = v->to - v->from, by = right ? w / 4 : -w / 4;
    if (!(w > 0)) {
        bench_say(v->head.bench, "all of it is shown: + enlarges a piece");
        return;
    }
    by = fmin(fmax(by, v->least - v->from), v->most - v->to);
    v->from += by;
    v->to += by;
    metrics_anew(v);
}

static void set_smooth(struct metrics_view *v, bool more)
{
    if (more && v->smooth + 1 < METRICS_WEIGHTS)
        v->smooth++;
    else if (!more && v->smooth)
        v->smooth--;
    metrics_anew(v);
    double weight = metrics_weights[v->smooth];
    if (weight > 0)
        bench_say(v->head.bench, "smoothed by %g, as TensorBoard does", weight);
    else
        bench_say(v->head.bench, "as it is, not smoothed");
}

static void next_band(struct metrics_view *v)
{
    static const char *const words[] = {[BAND_NONE] = "each repeat alone",
        [BAND_ENDS] = "repeats: their mean, from the smallest to the largest",
        [BAND_DEVIATION] = "repeats: their mean, one standard deviation around it"};
    v->is_settled = true;
    if (v->repeats < 2) {
        bench_say(v->head.bench, "no two of the runs have the same parameters");
        return;
    }
    v->band = (v->band + 1) % BAND_KINDS;
    bench_say(v->head.bench, "%s", words[v->band]);
}

static void next_panel(struct metrics_view *v)
{
    v->is_settled = true;
    v->alone = v->alone + 1 < (int)v->n_panels ? v->alone + 1 : -1;
    if (v->n_panels < 2)
        v->alone = v->n_panels ? 0 : -1;
}

static void take_metrics(view *view_, const bool *chosen, size_t n)
{
    struct metrics_view *v = of(view_);
    for (size_t i = 0; i < n && i < v->n_metrics; i++)
        v->metrics[i].chosen = chosen[i];
    metrics_arrange(v);
}

static void choose_metrics(struct metrics_view *v)
{
    AUTO_FREE bool *chosen = mem_array(v->n_metrics + 1, sizeof *chosen);
    AUTO_FREE char **names = mem_array(v->n_metrics + 1, sizeof *names);
    for (size_t i = 0; i < v->n_metrics; i++) {
        names[i] = v->metrics[i].name;
        chosen[i] = v->metrics[i].chosen;
    }
    choose_push(&v->head, "Metrics", names, chosen, v->n_metrics, take_metrics);
}

static void take_runs(view *view_, const bool *chosen, size_t n)
{
    struct metrics_view *v = of(view_);
    for (size_t i = 0, k = 0; i < v->n_sources && k < n; i++)
        if (v->sources[i].measures)
            v->sources[i].hidden = !chosen[k++];
}

static void choose_runs(struct metrics_view *v)
{
    size_t n = 0;
    AUTO_FREE bool *chosen = mem_array(v->n_sources + 1, sizeof *chosen);
    AUTO_FREE struct named *named = mem_array(v->n_sources + 1, sizeof *named);
    for (size_t i = 0; i < v->n_sources; i++) {
        const struct source *s = &v->sources[i];
        if (!s->measures)
            continue;
        named[n] = (struct named){.run = v->feeds.list[s->feed].run,
            .child = s->child,
            .params = s->params,
            .metric = s->child ? s->child : v->feeds.list[s->feed].run};
        chosen[n++] = !s->hidden;
    }
    for (size_t i = 0; n > 1 && i < n; i++)
        named[i].metric = "";
    char **names = naming_of(named, n);
    choose_push(&v->head, "Runs", names, chosen, n, take_runs);
    strv_free(names);
}

static void show_table(struct metrics_view *v)
{
    char **runs = NULL;
    for (size_t i = 0; i < v->n_sources; i++) {
        const struct source *s = &v->sources[i];
        AUTO_FREE char *name = str_fmt(
            "%s%s%s", v->feeds.list[s->feed].run, s->child ? "/" : "", s->child ? s->child : "");
        if (s->measures && !s->hidden)
            runs = strv_add(runs, name);
    }
    if (runs && v->folder)
        beside_push(v->head.bench, v->folder, runs);
    else
        bench_say(v->head.bench, "there is no run to show");
    strv_free(runs);
}

static bool act_on_axes(struct metrics_view *v, enum action a)
{
    switch ((int)a) {
    case ACT_LOG_SCALE:
        v->log_y = !v->log_y;
        return true;
    case ACT_LOG_X:
        v->log_x = !v->log_x;
        show_all(v);
        return true;
    case ACT_X_AXIS:
        next_axis(v);
        return true;
    case ACT_OUTLIERS:
        v->robust = !v->robust;
        return true;
    case ACT_ZOOM_IN:
    case ACT_ZOOM_OUT:
        zoom(v, a == ACT_ZOOM_IN);
        return true;
    case ACT_SHIFT_LEFT:
    case ACT_SHIFT_RIGHT:
        pan(v, a == ACT_SHIFT_RIGHT);
        return true;
    case ACT_POINT_NEXT:
    case ACT_POINT_PREVIOUS:
    case ACT_POINT_FIRST:
    case ACT_POINT_LAST:
        move_to(v, a);
        return true;
    }
    return false;
}

static bool act_on_choice(struct metrics_view *v, enum action a)
{
    switch ((int)a) {
    case ACT_METRIC:
        next_panel(v);
        return true;
    case ACT_CHOOSE_METRICS:
        choose_metrics(v);
        return true;
    case ACT_CHOOSE_RUNS:
        choose_runs(v);
        return true;
    case ACT_ONE_CHART:
        v->is_settled = true;
        v->one_chart = !v->one_chart;
        v->alone = -1;
        metrics_arrange(v);
        return true;
    case ACT_SMOOTH_MORE:
    case ACT_SMOOTH_LESS:
        set_smooth(v, a == ACT_SMOOTH_MORE);
        return true;
    case ACT_BANDS:
        next_band(v);
        return true;
    case ACT_RUNS_TABLE:
        show_table(v);
        return true;
    case ACT_SAVE_CSV:
        metrics_save_csv(v);
        return true;
    case ACT_SAVE_PICTURE:
        metrics_save_picture(v);
        return true;
    }
    return false;
}

static bool act(view *view_, enum action a)
{
    struct metrics_view *v = of(view_);
    if (a == ACT_BACK && (v->reads || v->from < v->to)) {
        show_all(v);
        return true;
    }
    return act_on_axes(v, a) || act_on_choice(v, a);
}

static bool mouse(view *view_, const struct mouse *m)
{
    struct metrics_view *v = of(view_);
    if (m->kind == MOUSE_UP || m->kind == MOUSE_DOWN)
        zoom(v, m->kind == MOUSE_UP);
    return m->kind == MOUSE_UP || m->kind == MOUSE_DOWN;
}

// The open run began anew, or is shown at another time.
static void heard(view *view_, const cJSON *event)
{
    struct metrics_view *v = of(view_);
    for (size_t i = 0; !event && i < v->feeds.n; i++)
        if (v->feeds.list[i].own)
            v->feeds.list[i].seq = UINT64_MAX; // above any: all of it is looked at again
}

static int wait_ms(const view *view_)
{
    return feeds_wait_ms(&((const struct metrics_view *)view_)->feeds);
}

static void hint(const view *view_, buf *out)
{
    buf_str(out, bench_ascii(view_->bench) ? "Left Right read" : "← → read");
    buf_str(out, "  + - zoom  m metric  s smooth  l log  x axis  b bands  t table  ? keys");
}

static void done(view *view_)
{
    struct metrics_view *v = of(view_);
    for (size_t i = 0; i < v->n_lines; i++) {
        struct metric_line *l = &v->lines[i];
        for (size_t k = 0; k < l->n; k++)
            free(l->pieces[k].own);
        sampled_done(&l->raw);
        sampled_done(&l->even);
        free(l->pieces);
        free(l->branch);
        free(l->x);
        free(l->y);
        free(l->even_x);
        free(l->even_y);
    }
    for (size_t i = 0; i < v->n_sources; i++) {
        free(v->sources[i].child);
        cJSON_Delete(v->sources[i].params);
    }
    for (size_t i = 0; i < v->n_metrics; i++)
        free(v->metrics[i].name);
    feeds_done(&v->feeds);
    free(v->lines);
    free(v->sources);
    free(v->metrics);
    free(v->panels);
    free(v->folder);
}

void metrics_push(bench *b, const char *folder, char *const *runs)
{
    struct metrics_view *v = view_push(b, &metrics_view_ops, sizeof *v);
    bool many = runs && runs[0] && runs[1];
    v->folder = folder ? mem_strdup(folder) : bench_folder(b);
    v->feeds = (struct feeds){.bench = b, .folder = v->folder};
    v->alone = -1;
    v->columns = LEAST_COLUMNS;
    v->least = INFINITY;
    v->most = -INFINITY;
    if (!runs)
        metrics_add(v, bench_run(b) ? bench_run(b) : "", true);
    for (; runs && *runs; runs++)
        metrics_add(v, *runs, !many);
}

void metrics_push_own(bench *b)
{
    if (bench_run(b))
        metrics_push(b, NULL, NULL);
    else
        bench_say(b, "the kernel is starting");
}

static const struct binding bindings[] = {
    {MODE_VIEW, "Right", ACT_POINT_NEXT},
    {MODE_VIEW, "Left", ACT_POINT_PREVIOUS},
    {MODE_VIEW, "Home", ACT_POINT_FIRST},
    {MODE_VIEW, "End", ACT_POINT_LAST},
    {MODE_VIEW, "+", ACT_ZOOM_IN},
    {MODE_VIEW, "-", ACT_ZOOM_OUT},
    {MODE_VIEW, "[", ACT_SHIFT_LEFT},
    {MODE_VIEW, "]", ACT_SHIFT_RIGHT},
    {MODE_VIEW, "m", ACT_METRIC},
    {MODE_VIEW, "M", ACT_CHOOSE_METRICS},
    {MODE_VIEW, "R", ACT_CHOOSE_RUNS},
    {MODE_VIEW, "o", ACT_ONE_CHART},
    {MODE_VIEW, "x", ACT_X_AXIS},
    {MODE_VIEW, "l", ACT_LOG_SCALE},
    {MODE_VIEW, "L", ACT_LOG_X},
    {MODE_VIEW, "y", ACT_OUTLIERS},
    {MODE_VIEW, "s", ACT_SMOOTH_MORE},
    {MODE_VIEW, "S", ACT_SMOOTH_LESS},
    {MODE_VIEW, "b", ACT_BANDS},
    {MODE_VIEW, "t", ACT_RUNS_TABLE},
    {MODE_VIEW, "W", ACT_SAVE_CSV},
    {MODE_VIEW, "P", ACT_SAVE_PICTURE},
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
const struct view_ops metrics_view_ops = {.name = "metrics",
    .keys = &keys,
    .settle = settle,
    .draw = metrics_draw,
    .act = act,
    .mouse = mouse,
    .heard = heard,
    .wait_ms = wait_ms,
    .hint = hint,
    .done = done};
