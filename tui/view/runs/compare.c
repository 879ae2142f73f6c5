// SPDX-License-Identifier: MIT
// Two runs side by side: what they were about and what came out, with what differs brought out;
// below it what else differs, with the sources and outputs of cells line by line, and the curves of
// a metric of both, one over the other.
#include "script/journal/compare/compare.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text/utf8.h"
#include "script/journal/file/reader.h"
#include "script/journal/runs/runs.h"
#include "tui/bench/views.h"
#include "tui/part/curves.h"
#include "tui/part/scroll.h"

#include <string.h>

enum { LABEL = 18, CHART_LEAST = 6, CHART_LONG = 12 };
#define PLOT "application/vnd.firesteel.plot+json"

enum kind { PAIR, HEADING, TEXT, ADDED, REMOVED, PLACE }; // the last three: of a diff
struct line {
    char *name, *sides[2];
    enum kind kind;
    bool differs;
};
struct compare_view {
    view head;
    char *runs[2], *folder;
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
    return seconds ? runs_took(json_str(row, "state"), clock_of_seconds(seconds->valuedouble))
                   : mem_strdup("");
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
    add_line(v, (struct line){mem_strdup(kind), .kind = HEADING});
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

// A digest is told by its beginning.
static char *side_of(const cJSON *pair, const char *side)
{
    const cJSON *value = json_get(pair, side);
    const char *digest = json_str(value, "sha256");
    return digest ? mem_strndup(digest, 12) : runs_text(value);
}

// Of what is the same in both nothing is shown.
static void add_differing(struct compare_view *v, const cJSON *difference, const char *kind)
{
    const cJSON *list = json_get(difference, kind), *pair;
    if (list && list->child)
        add_line(v, (struct line){mem_strdup(kind), .kind = HEADING});
    cJSON_ArrayForEach(pair, list)
        add_pair(v, pair->string, side_of(pair, "a"), side_of(pair, "b"));
}

static void add_causes(struct compare_view *v, const cJSON *difference)
{
    const cJSON *causes = json_get(difference, "causes"), *cause;
    if (causes && causes->child)
        add_line(
            v, (struct line){mem_strdup("what moved them, as far as recorded"), .kind = HEADING});
    cJSON_ArrayForEach(cause, causes)
    {
        const char *unknown = json_str(cause, "unknown"), *first = json_str(cause, "earliest");
        char *words = str_fmt("%s: %s", cause->string,
            unknown ? unknown
            : first ? first
                    : "none of the changes that are known");
        add_line(v, (struct line){words, .kind = TEXT});
    }
}

// Its first two lines name the sides.
static void add_diff(struct compare_view *v, const char *diff)
{
    for (int head = 0; head < 2 && *diff; head++)
        diff += strcspn(diff, "\n") + (diff[strcspn(diff, "\n")] == '\n');
    for (size_t n; *diff; diff += n + (diff[n] == '\n')) {
        n = strcspn(diff, "\n");
        enum kind kind = *diff == '+'   ? ADDED
                         : *diff == '-' ? REMOVED
                         : *diff == '@' ? PLACE
                                        : TEXT;
        add_line(v, (struct line){mem_strndup(diff, n), .kind = kind});
    }
}

static void add_diffs(
    struct compare_view *v, const cJSON *difference, const char *list, const char *what)
{
    const cJSON *entry;
    cJSON_ArrayForEach(entry, json_get(difference, list))
    {
        const char *change = json_str_or(entry, "change", "source");
        bool both = str_eq(change, "source");
        char *words = str_fmt("%s %s%s%s", what, json_str_or(entry, "title", ""),
            both ? "" : ", which was ", both ? "" : change);
        add_line(v, (struct line){words, .kind = HEADING});
        add_diff(v, json_str_or(entry, "diff", ""));
    }
}

static void add_differences(struct compare_view *v, const cJSON *difference)
{
    static const char *const kinds[] = {
        "inputs", "images", "versions", "environment", "origin", "artifacts"};
    add_causes(v, difference);
    add_diffs(v, difference, "cells", "source of");
    add_diffs(v, difference, "outputs", "output of");
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        add_differing(v, difference, kinds[i]);
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
        AUTO_FREE char *name = str_fmt("%s %s", metric, runs_short_name(v->runs[k]));
        add_series(series, name, json_get(v->history[k], metric));
    }
    v->curves = curves_new(bundle);
}

static int list_rows(const struct compare_view *v, rect area)
{
    int room = area.h - 1;
    if (!v->curves || room < 2 * CHART_LEAST)
        return room;
    int most = room - CHART_LONG > room / 2 ? room - CHART_LONG : room / 2;
    return (int)v->n < most ? (int)v->n : most;
}

static void settle(view *view_, rect area)
{
    struct compare_view *v = (struct compare_view *)view_;
    scroll_fit_text(&v->scroll, v->n, list_rows(v, area));
}

static void draw_line(const struct line *l, grid *g, rect area, int y)
{
    static const style looks[] = {[ADDED] = LOOK_GOOD, [REMOVED] = LOOK_ERROR, [PLACE] = LOOK_DIM};
    int w = (area.w - LABEL - 4) / 2;
    if (l->kind != PAIR) {
        int x = area.x + (l->kind == HEADING ? 1 : 2);
        grid_put_short(g, area, x, y, area.x + area.w - x, l->name, strlen(l->name),
            l->kind == HEADING ? LOOK_BOLD : looks[l->kind]);
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
    grid_park_cursor(g, area.x + 1, area.y + 1);
    for (int k = 0; k < 2; k++)
        grid_put_short(g, area, area.x + 2 + LABEL + k * (w + 1), area.y, w, v->runs[k],
            strlen(v->runs[k]), LOOK_ACCENT);
    for (int y = 0; y < rows && v->scroll.top + (size_t)y < v->n; y++)
        draw_line(&v->lines[v->scroll.top + (size_t)y], g, area, area.y + 1 + y);
    rect below = {area.x + 1, area.y + 1 + rows, area.w - 2, area.h - 1 - rows};
    if (v->curves && below.h >= CHART_LEAST)
        curves_draw(v->curves, g, below,
            &(struct curves_look){.chart = 0,
                .charts = 1,
                .ascii = bench_ascii(view_->bench),
                .dashes = bench_mono(view_->bench)});
}

static bool act(view *view_, enum action a)
{
    struct compare_view *v = (struct compare_view *)view_;
    if (a == ACT_CHART) {
        metrics_push(view_->bench, v->folder, (char *[]){v->runs[0], v->runs[1], NULL});
        return true;
    }
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
    buf_str(out, "m next metric  p chart  q back");
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
    free(v->folder);
    free(v->lines);
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
    v->folder = mem_strdup(folder);
    cJSON *rows[2];
    fold *folds[2];
    char *spools[2] = {0};
    for (size_t k = 0; k < 2; k++) {
        v->runs[k] = mem_strdup(runs[k]);
        folds[k] = runs_open(folder, runs[k], &spools[k], NULL, NULL); // also RUN/NAME, a child
        v->history[k] = folds[k] ? fold_history(folds[k]) : NULL;
        rows[k] = row_of(folder, runs[k]);
    }
    add_lines(v, rows);
    if (folds[0] && folds[1]) {
        AUTO_JSON *difference = compare_runs(
            &(struct compared){folds[0], spools[0]}, &(struct compared){folds[1], spools[1]});
        add_differences(v, difference);
    }
    for (size_t k = 0; k < 2; k++) {
        cJSON_Delete(rows[k]);
        fold_free(folds[k]);
        free(spools[k]);
    }
    find_metrics(v);
    load_curves(v);
}

static const struct binding bindings[] = {
    {MODE_VIEW, "m", ACT_METRIC},
    {MODE_VIEW, "p", ACT_CHART},
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
