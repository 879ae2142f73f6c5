// SPDX-License-Identifier: MIT
// Two runs side by side: what they were about and what came out, with what differs brought out, and
// below it the curves of a metric of both, one over the other.
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text/utf8.h"
#include "script/journal/reader.h"
#include "script/journal/runs.h"
#include "tui/part/curves.h"
#include "tui/part/scroll.h"
#include "tui/view/views.h"

#include <string.h>

enum { LABEL = 18, HASH = 4, CHART_LEAST = 6 };
#define PLOT "application/vnd.firesteel.plot+json"

struct line {
    char *name, *sides[2];
    bool heading, differs;
};
struct compare_view {
    view head;
    char *runs[2];
    struct line *lines;
    size_t n;
    cJSON *history[2]; // {metric = [{value, step}…]}
    char **metrics;    // with a curve in either
    size_t metric;
    curves *curves; // of that one; NULL: there is none
    struct scroll scroll;
};

static void add_line(struct compare_view *v, struct line line)
{
    v->lines = mem_resize(v->lines, v->n + 1, sizeof *v->lines);
    v->lines[v->n++] = line;
}

static void add_pair(struct compare_view *v, const char *name, char *a, char *b)
{
    add_line(v, (struct line){mem_strdup(name), {a, b}, .differs = !str_eq(a, b)});
}

static char *took(const cJSON *row)
{
    const cJSON *seconds = json_get(row, "seconds");
    AUTO_BUF words = {0};
    if (seconds)
        duration_format(&words, clock_of_seconds(seconds->valuedouble));
    return mem_strdup(buf_cstr(&words));
}

static char *text_of(const cJSON *list, const char *name, bool metric)
{
    const cJSON *value = json_get(list, name);
    return runs_text(metric ? json_get(value, "value") : value);
}

static void add_list(struct compare_view *v, cJSON *const rows[2], const char *kind)
{
    bool metric = str_eq(kind, "metrics");
    const cJSON *a = json_get(rows[0], kind), *b = json_get(rows[1], kind), *item;
    if (!(a && a->child) && !(b && b->child))
        return;
    add_line(v, (struct line){mem_strdup(kind), .heading = true});
    cJSON_ArrayForEach(item, a) add_pair(
        v, item->string, text_of(a, item->string, metric), text_of(b, item->string, metric));
    cJSON_ArrayForEach(item, b) if (!json_get(a, item->string))
        add_pair(v, item->string, mem_strdup(""), text_of(b, item->string, metric));
}

static void add_lines(struct compare_view *v, cJSON *const rows[2])
{
    static const char *const kinds[] = {"params", "metrics", "tags"};
    add_pair(v, "started", mem_strdup(json_str_or(rows[0], "started", "")),
        mem_strdup(json_str_or(rows[1], "started", "")));
    add_pair(v, "state", mem_strdup(json_str_or(rows[0], "state", "")),
        mem_strdup(json_str_or(rows[1], "state", "")));
    add_pair(v, "took", took(rows[0]), took(rows[1]));
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        add_list(v, rows, kinds[i]);
}

static void find_metrics(struct compare_view *v)
{
    for (size_t k = 0; k < 2; k++) {
        const cJSON *points;
        cJSON_ArrayForEach(points, v->history[k])
        {
            bool known = k && json_get(v->history[0], points->string) &&
                         cJSON_GetArraySize(json_get(v->history[0], points->string)) > 1;
            if (cJSON_GetArraySize(points) > 1 && !known)
                v->metrics = strv_add(v->metrics, points->string);
        }
    }
}

static void add_series(cJSON *series, const char *name, const cJSON *points)
{
    cJSON *one = cJSON_CreateObject(), *y = json_array_at(one, "y"), *x = json_array_at(one, "x");
    const cJSON *p;
    int64_t n = 0;
    json_set_str(one, "name", name);
    cJSON_ArrayForEach(p, points)
    {
        cJSON_AddItemToArray(x, json_new_int(json_int_or(p, "step", n++)));
        cJSON_AddItemToArray(y, cJSON_Duplicate(json_get(p, "value"), true));
    }
    cJSON_AddItemToArray(series, one);
}

static const char *hash_of(const char *run)
{
    const char *slash = strchr(run, '/');
    size_t n = strlen(run);
    return slash ? slash + 1 : n > HASH ? run + n - HASH : run;
}

static void load_curves(struct compare_view *v)
{
    curves_free(v->curves);
    v->curves = NULL;
    if (!v->metrics)
        return;
    AUTO_JSON *bundle = cJSON_CreateObject();
    cJSON *plot = json_object_at(bundle, PLOT), *series = json_array_at(plot, "series");
    const char *metric = v->metrics[v->metric];
    for (size_t k = 0; k < 2; k++) {
        AUTO_FREE char *name = str_fmt("%s %s", metric, hash_of(v->runs[k]));
        add_series(series, name, json_get(v->history[k], metric));
    }
    v->curves = curves_new(bundle);
}

static int list_rows(const struct compare_view *v, rect area)
{
    int room = area.h - 1;
    if (!v->curves || room < 2 * CHART_LEAST)
        return room;
    return (int)v->n < room / 2 ? (int)v->n : room / 2;
}

static void settle(view *view_, rect area)
{
    struct compare_view *v = (struct compare_view *)view_;
    scroll_fit_text(&v->scroll, v->n, list_rows(v, area));
}

static void draw_line(const struct line *l, grid *g, rect area, int y)
{
    int w = (area.w - LABEL - 4) / 2;
    if (l->heading) {
        grid_print(g, area, area.x + 1, y, LOOK_BOLD, "%s", l->name);
        return;
    }
    grid_put_short(g, area, area.x + 2, y, LABEL - 1, l->name, strlen(l->name), LOOK_DIM);
    for (int k = 0; k < 2; k++)
        grid_put_short(g, area, area.x + 2 + LABEL + k * (w + 1), y, w, l->sides[k],
            strlen(l->sides[k]), l->differs ? LOOK_WARN : (style){0});
}

static void draw(const view *view_, grid *g, rect area)
{
    const struct compare_view *v = (const struct compare_view *)view_;
    int w = (area.w - LABEL - 4) / 2, rows = list_rows(v, area);
    grid_print(g, area, area.x + 1, area.y, LOOK_BOLD, "Two runs");
    for (int k = 0; k < 2; k++)
        grid_put_short(g, area, area.x + 2 + LABEL + k * (w + 1), area.y, w, v->runs[k],
            strlen(v->runs[k]), LOOK_ACCENT);
    for (int y = 0; y < rows && v->scroll.top + (size_t)y < v->n; y++)
        draw_line(&v->lines[v->scroll.top + (size_t)y], g, area, area.y + 1 + y);
    rect below = {area.x + 1, area.y + 1 + rows, area.w - 2, area.h - 1 - rows};
    if (v->curves && below.h >= CHART_LEAST)
        curves_draw(v->curves, g, below,
            &(struct curves_look){.chart = 0, .charts = 1, .ascii = bench_ascii(view_->bench)});
}

static bool act(view *view_, enum action a)
{
    struct compare_view *v = (struct compare_view *)view_;
    if (a != ACT_METRIC)
        return scroll_act(&v->scroll, a);
    size_t n = v->metrics ? strv_len(v->metrics) : 0;
    if (n < 2)
        bench_say(view_->bench, n ? "there is one curve" : "they have no curves");
    else
        v->metric = (v->metric + 1) % n;
    load_curves(v);
    return true;
}

static void hint(const view *v, buf *out)
{
    buf_str(out, "m next metric  q back");
}

static void done(view *view_)
{
    struct compare_view *v = (struct compare_view *)view_;
    for (size_t i = 0; i < v->n; i++) {
        free(v->lines[i].name);
        free(v->lines[i].sides[0]);
        free(v->lines[i].sides[1]);
    }
    for (size_t k = 0; k < 2; k++) {
        free(v->runs[k]);
        cJSON_Delete(v->history[k]);
    }
    strv_free(v->metrics);
    curves_free(v->curves);
    free(v->lines);
}

// Of a run, or of its child (RUN/NAME).
static cJSON *history_of(const char *folder, const char *run)
{
    AUTO_FREE char *spools = NULL;
    fold *f = runs_open(folder, run, &spools, NULL, NULL);
    cJSON *history = f ? fold_history(f) : NULL;
    fold_free(f);
    return history;
}

static cJSON *row_of(const char *folder, const char *run)
{
    const char *slash = strchr(run, '/');
    AUTO_FREE char *of = mem_strndup(run, slash ? (size_t)(slash - run) : strlen(run));
    char started[RUNS_STARTED];
    cJSON *row = slash ? runs_child_row(folder, of, slash + 1, NULL) : runs_row(folder, of, NULL);
    if (slash && row)
        json_set_str(row, "started", runs_started(json_int_or(row, "began", 0), started));
    return row ? row : cJSON_CreateObject();
}

void compare_push(bench *b, const char *folder, const char *one, const char *other)
{
    struct compare_view *v = view_push(b, &compare_view_ops, sizeof *v);
    const char *const runs[2] = {one, other};
    cJSON *rows[2];
    for (size_t k = 0; k < 2; k++) {
        v->runs[k] = mem_strdup(runs[k]);
        v->history[k] = history_of(folder, runs[k]);
        rows[k] = row_of(folder, runs[k]);
    }
    add_lines(v, rows);
    cJSON_Delete(rows[0]);
    cJSON_Delete(rows[1]);
    find_metrics(v);
    load_curves(v);
}

static const struct binding bindings[] = {
    {MODE_VIEW, "m", ACT_METRIC},
};
static const struct keymap keys = KEYMAP(bindings);
const struct view_ops compare_view_ops = {.name = "compare",
    .keys = &keys,
    .more = &scroll_keys,
    .settle = settle,
    .draw = draw,
    .act = act,
    .hint = hint,
    .done = done};
