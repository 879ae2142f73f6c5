// SPDX-License-Identifier: MIT
// Several runs or trials as a table: the parameters that differ, then what each metric came to,
// with the best marked. Rows of runs that go on follow them.
#include "script/journal/runs/beside.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/journal/runs/runs.h"
#include "tui/part/filter.h"
#include "tui/part/marks.h"
#include "tui/part/scroll.h"
#include "tui/part/table/sheet.h"
#include "tui/part/table/tabledata.h"
#include "tui/part/table/tablevalue.h"
#include "tui/view/metrics/feeds.h"
#include "tui/view/runs/runs_private.h"
#include "tui/view/table/columns.h"

#include <string.h>

enum { READ_MS = 25, TOLD = 64, NO_FEED = -1 };

struct beside_view {
    view head;
    char *folder;
    char **runs;  // "RUN" or "RUN/NAME"
    cJSON **rows; // of each
    int *feed;    // of those that go on
    uint64_t *seq;
    size_t n;
    struct feeds feeds;
    struct metric_told told[TOLD + 1]; // owns the names
    cJSON *same;
    tabledata *data;
    marks *marks;
    struct scroll scroll;
    struct filter filter;
    struct sheet sheet;
    char *uid;
};

// A trial is called by its run, too, where another run has one of the same name.
static char *name_of(const struct beside_view *v, size_t i)
{
    const char *name = runs_short_name(v->runs[i]), *slash = strchr(v->runs[i], '/');
    for (size_t k = 0; slash && k < v->n; k++)
        if (k != i && str_eq(runs_short_name(v->runs[k]), name)) {
            size_t n = (size_t)(slash - v->runs[i]);
            return str_fmt(
                "%.*s/%s", RUNS_HASH, v->runs[i] + (n > RUNS_HASH ? n - RUNS_HASH : 0), name);
        }
    return mem_strdup(name);
}

static void add_row(struct beside_view *v, cJSON *rows, const cJSON *texts, size_t i)
{
    cJSON *row = cJSON_CreateObject(), *cells = json_array_at(row, "cells");
    AUTO_FREE char *name = name_of(v, i);
    const cJSON *entry = texts ? texts->child : NULL;
    json_set_str(row, "uid", v->runs[i]);
    cJSON_AddItemToArray(cells, cJSON_CreateString(name));
    cJSON_AddItemToArray(cells, cJSON_CreateString(json_str_or(v->rows[i], "state", "")));
    while (entry && (entry = entry->next))
        cJSON_AddItemToArray(cells, cJSON_CreateString(entry->valuestring));
    cJSON_AddItemToArray(rows, row);
}

static void load(struct beside_view *v)
{
    AUTO_JSON *beside = runs_beside(v->rows, v->n, v->told);
    AUTO_JSON *texts = runs_beside_table(beside);
    AUTO_JSON *table = cJSON_CreateObject();
    cJSON *columns = json_array_at(table, "columns"), *rows = json_array_at(table, "rows"),
          *keep = json_array_at(table, "keep");
    const cJSON *of_run = texts->child, *name = of_run->child;
    static const char *const own[] = {"RUN", "STATE"};
    for (size_t i = 0; i < ARRAY_LEN(own); i++)
        cJSON_AddItemToArray(columns, cJSON_CreateString(own[i]));
    cJSON_AddItemToArray(keep, cJSON_CreateString("RUN"));
    while ((name = name->next))
        cJSON_AddItemToArray(columns, cJSON_CreateString(name->valuestring));
    for (size_t i = 0; i < v->n && (of_run = of_run->next); i++)
        add_row(v, rows, of_run, i);
    tabledata_load(v->data, table);
    cJSON_Delete(v->same);
    v->same = cJSON_DetachItemFromObjectCaseSensitive(beside, "same");
    size_t at = v->uid ? tabledata_find(v->data, v->uid) : SIZE_MAX;
    v->scroll.at = at != SIZE_MAX ? at : v->scroll.at;
}

// What the run has told so far.
static void take_live(struct beside_view *v, size_t i)
{
    const fold *f = feed_fold(&v->feeds, (size_t)v->feed[i]);
    const char *slash = strchr(v->runs[i], '/');
    const cJSON *child;
    AUTO_JSON *all = slash ? fold_children(f) : fold_results(f);
    static const char *const kept[] = {"params", "metrics", "state"};
    const cJSON *from = slash ? NULL : all;
    if (slash)
        cJSON_ArrayForEach(child, all)
        {
            const char *name = json_str_or(child, "run", "");
            from = strchr(name, '/') && str_eq(strchr(name, '/'), slash) ? child : from;
        }
    for (size_t k = 0; k < ARRAY_LEN(kept); k++)
        if (json_get(from, kept[k]))
            json_set(v->rows[i], kept[k], cJSON_Duplicate(json_get(from, kept[k]), true));
    if (!slash)
        json_set_str(v->rows[i], "state", run_state_name(fold_state(f)));
    v->seq[i] = fold_seq(f);
}

static void follow_runs(struct beside_view *v)
{
    bool came = false;
    feeds_read(&v->feeds, READ_MS);
    for (size_t i = 0; i < v->n; i++) {
        const fold *f = v->feed[i] != NO_FEED ? feed_fold(&v->feeds, (size_t)v->feed[i]) : NULL;
        const struct feed *feed = f ? &v->feeds.list[v->feed[i]] : NULL;
        bool behind = feed && feed->follow && follow_behind(feed->follow);
        if (!f || behind || fold_seq(f) == v->seq[i])
            continue;
        take_live(v, i);
        came = true;
    }
    if (came)
        load(v);
}

static rect body_of(rect area)
{
    return (rect){area.x + 1, area.y + 1, area.w - 2, area.h - 1};
}

static rect rows_of(const struct beside_view *v, rect body)
{
    return (rect){body.x, body.y + 1, body.w, body.h - 1 - v->filter.typing};
}

static void settle(view *view_, rect area)
{
    struct beside_view *v = (struct beside_view *)view_;
    rect body = body_of(area);
    follow_runs(v);
    sheet_settle(&v->sheet, body.w);
    scroll_fit(&v->scroll, tabledata_count(v->data), rows_of(v, body).h);
}

static void draw_title(const struct beside_view *v, grid *g, rect area)
{
    AUTO_BUF words = {0};
    const char *filter = filter_text(&v->filter);
    const cJSON *p;
    int x = area.x + 1;
    x += grid_print(g, area, x, area.y, LOOK_BOLD, "%zu run%s", v->n, v->n == 1 ? "" : "s");
    if (*filter)
        x += grid_print(
            g, area, x, area.y, LOOK_WARN, "  /%s  %zu", filter, tabledata_count(v->data));
    sheet_say_order(&v->sheet, &words);
    sheet_say_columns(&v->sheet, &words);
    cJSON_ArrayForEach(p, v->same)
    {
        AUTO_FREE char *value = runs_text(p);
        buf_fmt(&words, "%s%s=%s", p == v->same->child ? "  all: " : " ", p->string,
            str_short(value, 24).text);
    }
    grid_put_short(g, area, x, area.y, area.x + area.w - x, buf_cstr(&words), words.len, LOOK_DIM);
}

static void draw_rows(const struct beside_view *v, grid *g, rect rows)
{
    for (int y = 0; y < rows.h; y++) {
        size_t i = v->scroll.top + (size_t)y;
        const struct table_row *r = tabledata_at(v->data, i);
        if (!r)
            break;
        sheet_draw_row(&v->sheet, g, rows, rows.y + y, i, NULL);
        if (marks_has(v->marks, r->uid))
            grid_print(g, (rect){rows.x - 1, rows.y, rows.w + 1, rows.h}, rows.x - 1, rows.y + y,
                LOOK_WARN, "*");
        if (i != v->scroll.at)
            continue;
        grid_restyle(g, (rect){rows.x - 1, rows.y + y, rows.w + 2, 1}, LOOK_SELECTED);
        grid_park_cursor(g, rows.x, rows.y + y);
    }
}

static void draw(const view *view_, grid *g, rect area)
{
    const struct beside_view *v = (const struct beside_view *)view_;
    rect body = body_of(area), rows = rows_of(v, body);
    draw_title(v, g, area);
    sheet_draw_names(&v->sheet, g, body);
    draw_rows(v, g, rows);
    if (!tabledata_count(v->data))
        grid_print(g, rows, rows.x, rows.y, LOOK_DIM, "nothing matches; Esc shows all");
    filter_draw(&v->filter, g, (rect){area.x, area.y + area.h - 1, area.w, 1});
}

static void remember(struct beside_view *v)
{
    const struct table_row *r = tabledata_at(v->data, v->scroll.at);
    free(v->uid);
    v->uid = mem_strdup(r ? r->uid : NULL);
}

static void mark(struct beside_view *v)
{
    const struct table_row *r = tabledata_at(v->data, v->scroll.at);
    if (!r)
        return;
    marks_set(v->marks, r->uid, !marks_has(v->marks, r->uid));
    if (v->scroll.at + 1 < tabledata_count(v->data))
        v->scroll.at++;
    remember(v);
}

// Those that are marked; without marks all that are shown. New.
static char **wanted(const struct beside_view *v)
{
    char **runs = NULL;
    for (size_t i = 0; i < tabledata_count(v->data); i++) {
        const char *uid = tabledata_at(v->data, i)->uid;
        if (!marks_count(v->marks) || marks_has(v->marks, uid))
            runs = strv_add(runs, uid);
    }
    return runs;
}

static void show_chart(struct beside_view *v)
{
    char **runs = wanted(v);
    if (runs)
        metrics_push(v->head.bench, v->folder, runs);
    strv_free(runs);
}

static void compare(struct beside_view *v)
{
    char **runs = wanted(v);
    if (runs && strv_len(runs) == 2)
        compare_push(v->head.bench, v->folder, runs[0], runs[1]);
    else
        bench_say(v->head.bench, "Space marks two runs, and c shows them side by side");
    strv_free(runs);
}

// The metric of the chosen column: "loss", "min loss".
static const char *chosen_metric(const struct beside_view *v)
{
    int i = v->sheet.chosen;
    const char *name = i >= 0 ? tabledata_column(v->data, i) : NULL, *blank;
    for (size_t k = 0; name && k < v->n; k++) {
        const cJSON *metrics = json_get(v->rows[k], "metrics");
        if (json_get(metrics, name))
            return name;
        if ((blank = strchr(name, ' ')) && json_get(metrics, blank + 1))
            return blank + 1;
    }
    return NULL;
}

static void next_best(struct beside_view *v)
{
    static const char *const words[] = {[METRIC_UNKNOWN] = "none of it is the best",
        [METRIC_LEAST] = "the smallest is the best",
        [METRIC_GREATEST] = "the largest is the best"};
    AUTO_FREE char *metric = mem_strdup(chosen_metric(v));
    size_t i = 0;
    if (!metric) {
        bench_say(v->head.bench, "the arrows choose a metric's column first");
        return;
    }
    while (i < TOLD && v->told[i].name && !str_eq(v->told[i].name, metric))
        i++;
    if (i == TOLD)
        return;
    struct metric_told *t = &v->told[i];
    enum metric_best was = t->name ? t->best : metric_best_of(metric);
    if (!t->name)
        t->name = STEAL(metric);
    t->best = was == METRIC_LEAST      ? METRIC_GREATEST
              : was == METRIC_GREATEST ? METRIC_UNKNOWN
                                       : METRIC_LEAST;
    load(v);
    bench_say(v->head.bench, "%s: %s", t->name, words[t->best]);
}

// The rows, as a sheet has them.

static const struct beside_view *of(const void *rows)
{
    return rows;
}

static int rows_columns(const void *rows)
{
    return tabledata_columns(of(rows)->data);
}

static const char *rows_column(const void *rows, int i)
{
    return tabledata_column(of(rows)->data, i);
}

static void rows_measure(const void *rows, struct table_column *out)
{
    tabledata_measure(of(rows)->data, out);
}

static size_t rows_count(const void *rows)
{
    return tabledata_count(of(rows)->data);
}

static void rows_entry(const void *rows, size_t row, int i, buf *out)
{
    const struct table_row *r = tabledata_at(of(rows)->data, row);
    buf_str(out, r ? r->cells[i] : "");
}

static style rows_look(const void *rows, int i, const char *words)
{
    size_t n = strlen(words);
    bool best = i > 1 && n > 1 && words[n - 1] == '*';
    return i == 1 ? tablevalue_look(words) : best ? style_over(LOOK_GOOD, LOOK_BOLD) : (style){0};
}

static void rows_sort(void *rows, int i, bool reverse)
{
    struct beside_view *v = rows;
    tabledata_sort(v->data, i, reverse);
}

static int rows_sorted(const void *rows, bool *reverse)
{
    return tabledata_sorted(of(rows)->data, reverse);
}

static const struct sheet_ops rows_ops = {.columns = rows_columns,
    .column = rows_column,
    .measure = rows_measure,
    .count = rows_count,
    .entry = rows_entry,
    .look = rows_look,
    .sort = rows_sort,
    .sorted = rows_sorted};

static struct columns columns_of(struct beside_view *v)
{
    return (struct columns){&v->head, &v->sheet, &v->scroll, &v->filter, "runs"};
}

static bool act(view *view_, enum action a)
{
    struct beside_view *v = (struct beside_view *)view_;
    struct columns columns = columns_of(v);
    switch ((int)a) {
    case ACT_MARK_ROW:
        mark(v);
        return true;
    case ACT_CHART:
        show_chart(v);
        return true;
    case ACT_COMPARE:
        compare(v);
        return true;
    case ACT_BEST:
        next_best(v);
        return true;
    }
    if (columns_act(&columns, a == ACT_OPEN ? ACT_ROW_FORM : a))
        return true;
    bool moved = scroll_act(&v->scroll, a);
    remember(v);
    return moved;
}

static bool mouse(view *view_, const struct mouse *m)
{
    struct beside_view *v = (struct beside_view *)view_;
    struct columns columns = columns_of(v);
    if (m->kind == MOUSE_CLICK && m->y == 1) {
        columns_point(&columns, m->x - 1);
        return true;
    }
    enum pointed p = scroll_point(&v->scroll, m, 2);
    remember(v);
    return p == POINT_OPEN ? act(view_, ACT_OPEN) : p == POINT_MOVED;
}

static void filtered(view *view_)
{
    struct beside_view *v = (struct beside_view *)view_;
    tabledata_filter(v->data, filter_text(&v->filter), 0);
    v->filter.wrong = tabledata_filtered(v->data)->wrong;
}

static int wait_ms(const view *view_)
{
    return feeds_wait_ms(&((const struct beside_view *)view_)->feeds);
}

static void hint(const view *view_, buf *out)
{
    buf_str(out, "? keys  p chart  s sort  / filter  B best  Space mark  c compare  W CSV  q back");
}

static void done(view *view_)
{
    struct beside_view *v = (struct beside_view *)view_;
    for (size_t i = 0; i < v->n; i++)
        cJSON_Delete(v->rows[i]);
    for (size_t i = 0; v->told[i].name; i++)
        free((char *)v->told[i].name);
    feeds_done(&v->feeds);
    sheet_done(&v->sheet);
    filter_done(&v->filter);
    tabledata_free(v->data);
    marks_free(v->marks);
    cJSON_Delete(v->same);
    strv_free(v->runs);
    free(v->rows);
    free(v->feed);
    free(v->seq);
    free(v->folder);
    free(v->uid);
}

static void open_row(struct beside_view *v, size_t i)
{
    const char *run = v->runs[i], *slash = strchr(run, '/');
    AUTO_FREE char *whole = mem_strndup(run, slash ? (size_t)(slash - run) : strlen(run));
    bool own = str_eq(whole, bench_run(v->head.bench));
    cJSON *row = own     ? NULL
                 : slash ? runs_child_row(v->folder, whole, slash + 1, NULL)
                         : runs_row(v->folder, run, NULL);
    v->rows[i] = row ? row : cJSON_CreateObject();
    v->feed[i] = own || str_eq(json_str(row, "state"), "running") ? (int)feeds_add(&v->feeds, whole)
                                                                  : NO_FEED;
}

void beside_push(bench *b, const char *folder, char *const *runs)
{
    struct beside_view *v = view_push(b, &beside_view_ops, sizeof *v);
    v->folder = mem_strdup(folder);
    v->runs = strv_dup((const char *const *)runs);
    v->n = strv_len(v->runs);
    v->rows = mem_array(v->n + 1, sizeof *v->rows);
    v->feed = mem_array(v->n + 1, sizeof *v->feed);
    v->seq = mem_array(v->n + 1, sizeof *v->seq);
    v->feeds = (struct feeds){.bench = b, .folder = v->folder};
    v->data = tabledata_new();
    v->marks = marks_new();
    v->filter.past = bench_past(b);
    sheet_init(&v->sheet, &rows_ops, v);
    for (size_t i = 0; i < v->n; i++)
        open_row(v, i);
    load(v);
}

static const struct binding bindings[] = {
    {MODE_VIEW, "Enter", ACT_OPEN},
    {MODE_VIEW, "Space", ACT_MARK_ROW},
    {MODE_VIEW, "p", ACT_CHART},
    {MODE_VIEW, "c", ACT_COMPARE},
    {MODE_VIEW, "B", ACT_BEST},
    {MODE_VIEW, "W", ACT_SAVE_CSV},
    SHEET_KEYS,
};
static const struct keymap keys = KEYMAP(bindings);
const struct view_ops beside_view_ops = {.name = "runs table",
    .keys = &keys,
    .more = &scroll_keys,
    .settle = settle,
    .draw = draw,
    .act = act,
    .mouse = mouse,
    .filter = offsetof(struct beside_view, filter),
    .filtered = filtered,
    .wait_ms = wait_ms,
    .hint = hint,
    .done = done};
