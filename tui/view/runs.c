// SPDX-License-Identifier: MIT
// The runs of a notebook, or of all of its folder: a table with their parameters and metrics. The
// newest are read first, a few milliseconds at a time, so that many runs are there at once. A
// filter may be a condition, as `firesteel runs --where` has it.
#include "script/journal/runs.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/pattern.h"
#include "base/str.h"
#include "script/journal/reader.h"
#include "tui/part/filter.h"
#include "tui/part/scroll.h"
#include "tui/part/tabledata.h"
#include "tui/part/tablevalue.h"
#include "tui/view/views.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { WORK_MS = 8, OWN = 4, FIELDS = TABLE_COLUMNS - OWN, HASH = 4, DRAW_MS = 100 };

struct runs_view {
    view head;
    char *folder, *path; // path: of the notebook's file, NULL: all of the folder
    char *notebook;      // that path, also while all are shown
    runs_list *runs;     // all, the newest first
    cJSON **rows;        // of those that are read, in this order
    size_t n, read;
    char *fields[FIELDS]; // parameters, then metrics, as they were found
    bool metric[FIELDS];
    size_t n_fields;
    size_t loaded; // so many rows are in the table
    int64_t drawn; // mono ns: when they came into it
    char *marked;  // a run's name
    char *uid;     // of the row with the cursor
    tabledata *data;
    struct scroll scroll;
    struct filter filter;
    struct table_layout layout;
    int shift, sort; // sort: by this column, -1: the newest first
    bool reverse;
};

static void remember(struct runs_view *v)
{
    const struct table_row *r = tabledata_at(v->data, v->scroll.at);
    free(v->uid);
    v->uid = mem_strdup(r ? r->uid : NULL);
}

static void follow(struct runs_view *v)
{
    size_t at = v->uid ? tabledata_find(v->data, v->uid) : SIZE_MAX, n = tabledata_count(v->data);
    v->scroll.at = at != SIZE_MAX ? at : v->scroll.at < n ? v->scroll.at : n ? n - 1 : 0;
    remember(v);
}

static void add_field(struct runs_view *v, const char *name, bool metric)
{
    for (size_t i = 0; i < v->n_fields; i++)
        if (str_eq(v->fields[i], name) && v->metric[i] == metric)
            return;
    if (v->n_fields == FIELDS)
        return;
    v->fields[v->n_fields] = mem_strdup(name);
    v->metric[v->n_fields++] = metric;
}

static void find_fields(struct runs_view *v, const cJSON *row)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, json_get(row, "metrics")) add_field(v, item->string, true);
    cJSON_ArrayForEach(item, json_get(row, "params")) add_field(v, item->string, false);
}

// A notebook that was opened and closed again is no run to look at, nor is this session before it
// has run a cell.
static bool is_empty(const struct runs_view *v, const cJSON *row)
{
    const char *state = json_str_or(row, "state", "");
    bool own = str_eq(json_str(row, "run"), bench_run(v->head.bench));
    return !json_int_or(row, "ok", 0) && !json_int_or(row, "failed", 0) &&
           (own || str_eq(state, "ok") || str_eq(state, "stopped"));
}

static bool belongs(const struct runs_view *v, const cJSON *row)
{
    return !is_empty(v, row) && (!v->path || str_eq(json_str(row, "notebook"), v->path));
}

static void forget_fields(struct runs_view *v)
{
    for (size_t i = 0; i < v->n_fields; i++)
        free(v->fields[i]);
    v->n_fields = 0;
}

// Those of this notebook's runs, or of all. What was sorted by may not be there any more.
static void show_all(struct runs_view *v, bool all)
{
    v->path = all ? NULL : v->notebook;
    forget_fields(v);
    for (size_t i = 0; i < v->read; i++)
        if (belongs(v, v->rows[i]))
            find_fields(v, v->rows[i]);
    v->sort = v->sort < OWN ? v->sort : -1;
    v->shift = 0;
}

static void add_text(cJSON *cells, const char *words)
{
    cJSON_AddItemToArray(cells, cJSON_CreateString(words));
}

// A time of today is enough without its date.
static const char *short_time(const cJSON *row, char out[6])
{
    const char *started = json_str_or(row, "started", "");
    time_t now = (time_t)(clock_wall() / CLOCK_SEC);
    struct tm tm;
    char today[sizeof "2026-01-02 "];
    strftime(today, sizeof today, "%Y-%m-%d ", localtime_r(&now, &tm));
    if (!str_starts(started, today))
        return started;
    snprintf(out, 6, "%s", started + strlen(today));
    return out;
}

// The mark, and what its run is told from others by: the end of its name; with its notebook's where
// all are shown.
static char *short_name(const struct runs_view *v, const char *run)
{
    size_t n = strlen(run), stamp = sizeof "-20260102-030405-1a2b" - 1;
    const char *mark = str_eq(run, v->marked) ? "*" : "", *hash = n > HASH ? run + n - HASH : run;
    if (v->path || n <= stamp)
        return str_fmt("%s%s", mark, hash);
    return str_fmt("%s%.*s %s", mark, (int)(n - stamp), run, hash);
}

static cJSON *cells_of(const struct runs_view *v, const cJSON *row)
{
    cJSON *table_row = cJSON_CreateObject(), *cells = json_array_at(table_row, "cells");
    const char *run = json_str_or(row, "run", "");
    AUTO_FREE char *name = short_name(v, run);
    AUTO_BUF took = {0};
    char started[sizeof "14:03"];
    const cJSON *seconds = json_get(row, "seconds");
    if (seconds)
        duration_format(&took, clock_of_seconds(seconds->valuedouble));
    json_set_str(table_row, "uid", run);
    add_text(cells, name);
    add_text(cells, json_str_or(row, "state", ""));
    add_text(cells, short_time(row, started));
    add_text(cells, buf_cstr(&took));
    for (size_t i = 0; i < v->n_fields; i++) {
        const cJSON *all = json_get(row, v->metric[i] ? "metrics" : "params");
        const cJSON *value = json_get(all, v->fields[i]);
        AUTO_FREE char *words = runs_text(v->metric[i] ? json_get(value, "value") : value);
        add_text(cells, words);
    }
    return table_row;
}

static cJSON *columns_of(const struct runs_view *v)
{
    static const char *const own[OWN] = {"RUN", "STATE", "STARTED", "TOOK"};
    cJSON *columns = cJSON_CreateArray();
    for (size_t i = 0; i < OWN; i++)
        add_text(columns, own[i]);
    for (size_t i = 0; i < v->n_fields; i++)
        add_text(columns, v->fields[i]);
    return columns;
}

// In the order that is asked for; runs without the field come last.
static void put_in_order(const struct runs_view *v, cJSON **rows, size_t n)
{
    static const char *const own[OWN] = {"run", "state", "started", "seconds"};
    if (v->sort < 0)
        return;
    size_t field = (size_t)v->sort;
    AUTO_FREE char *name =
        field < OWN ? str_fmt("%s%s", v->reverse ? "-" : "", own[field])
                    : str_fmt("%s%s.%s", v->reverse ? "-" : "",
                          v->metric[field - OWN] ? "metrics" : "params", v->fields[field - OWN]);
    runs_sort(rows, n, name);
}

// All rows that match, anew. What is typed is a condition if it can be one, else a text.
static void load(struct runs_view *v)
{
    struct runs_where where = {0};
    const char *words = filter_text(&v->filter);
    bool condition = *words && runs_where_parse(&where, words, NULL) == 0;
    AUTO_JSON *table = cJSON_CreateObject();
    json_set(table, "columns", columns_of(v));
    cJSON *rows = json_array_at(table, "rows"), *keep = json_array_at(table, "keep");
    static const char *const kept[] = {"RUN", "STATE", "STARTED"};
    for (size_t i = 0; i < ARRAY_LEN(kept); i++)
        add_text(keep, kept[i]);
    for (size_t i = 0; i < v->n_fields; i++)
        if (v->metric[i])
            add_text(keep, v->fields[i]);
    const struct runs_where all = {0};
    AUTO_FREE cJSON **shown = mem_array(v->read + 1, sizeof *shown);
    size_t n = 0;
    for (size_t i = 0; i < v->read; i++)
        if (belongs(v, v->rows[i]) && runs_where_holds(condition ? &where : &all, v->rows[i]))
            shown[n++] = v->rows[i];
    put_in_order(v, shown, n);
    for (size_t i = 0; i < n; i++)
        cJSON_AddItemToArray(rows, cells_of(v, shown[i]));
    tabledata_filter(v->data, condition ? "" : words);
    tabledata_load(v->data, table);
    runs_where_done(&where);
    v->loaded = v->read;
    v->drawn = clock_mono();
    follow(v);
}

static void read_some(struct runs_view *v)
{
    int64_t until = clock_mono() + WORK_MS * CLOCK_MS;
    while (v->read < v->n && clock_mono() < until) {
        err e = {0};
        cJSON *row = runs_list_row(v->runs, v->read, NULL, &e);
        if (belongs(v, row))
            find_fields(v, row);
        v->rows[v->read++] = row;
    }
    bool due = v->read == v->n || clock_mono() - v->drawn > DRAW_MS * CLOCK_MS || !v->loaded;
    if (v->loaded < v->read && due)
        load(v);
}

static rect body_of(rect area)
{
    return (rect){area.x + 1, area.y + 1, area.w - 2, area.h - 1};
}

static rect rows_of(const struct runs_view *v, rect body)
{
    return (rect){body.x, body.y + 1, body.w, body.h - 1 - v->filter.typing};
}

static void settle(view *view_, rect area)
{
    struct runs_view *v = (struct runs_view *)view_;
    struct table_column columns[TABLE_COLUMNS];
    rect body = body_of(area);
    read_some(v);
    tabledata_measure(v->data, columns);
    table_layout(columns, tabledata_columns(v->data), body.w, v->shift, &v->layout);
    v->shift = v->layout.shift;
    scroll_fit(&v->scroll, tabledata_count(v->data), rows_of(v, body).h);
}

static void draw_title(const struct runs_view *v, grid *g, rect area)
{
    AUTO_BUF words = {0};
    const char *filter = filter_text(&v->filter);
    AUTO_FREE char *name = path_basename(v->path ? v->path : v->folder);
    int x = area.x + 1;
    x += grid_print(g, area, x, area.y, LOOK_BOLD, "Runs of %s%s", v->path ? "" : "all in ", name);
    if (*filter)
        x += grid_print(g, area, x, area.y, LOOK_WARN, "  /%s", filter);
    buf_fmt(&words, "  %zu", tabledata_count(v->data));
    if (v->read < v->n)
        buf_fmt(&words, "  %zu of %zu read", v->read, v->n);
    if (v->sort >= 0)
        buf_fmt(&words, "  by %s %s", tabledata_column(v->data, v->sort), v->reverse ? "↓" : "↑");
    grid_put_short(g, area, x, area.y, area.x + area.w - x, buf_cstr(&words), words.len, LOOK_DIM);
}

static rect clip_of(const struct runs_view *v, rect body, int column)
{
    int pinned = v->layout.pinned && column > 0 ? v->layout.pinned + v->layout.gap : 0;
    return (rect){body.x + pinned, body.y, body.w - pinned, body.h};
}

static void draw_header(const struct runs_view *v, grid *g, rect body)
{
    for (int i = 0; i < tabledata_columns(v->data); i++) {
        const char *name = tabledata_column(v->data, i);
        style st = i == v->sort ? style_over(LOOK_BOLD, LOOK_ACCENT) : LOOK_BOLD;
        if (v->layout.w[i])
            grid_put_short(g, clip_of(v, body, i), body.x + v->layout.x[i], body.y, v->layout.w[i],
                name, strlen(name), st);
    }
}

static void draw_row(const struct runs_view *v, grid *g, rect body, int y, size_t i)
{
    const struct table_row *r = tabledata_at(v->data, i);
    for (int k = 0; r && k < tabledata_columns(v->data); k++) {
        style st = k == 1 ? tablevalue_look(r->cells[k]) : (style){0};
        st = k == 0 && *r->cells[k] == '*' ? LOOK_WARN : st;
        if (v->layout.w[k])
            table_put(g, clip_of(v, body, k), body.x + v->layout.x[k], y, v->layout.w[k],
                r->cells[k], k == 0, st);
    }
    if (r && i == v->scroll.at)
        grid_restyle(g, (rect){body.x - 1, y, body.w + 2, 1}, LOOK_SELECTED);
}

static void draw(const view *view_, grid *g, rect area)
{
    const struct runs_view *v = (const struct runs_view *)view_;
    rect body = body_of(area), rows = rows_of(v, body);
    draw_title(v, g, area);
    draw_header(v, g, body);
    for (int y = 0; y < rows.h; y++)
        draw_row(v, g, rows, rows.y + y, v->scroll.top + (size_t)y);
    if (!tabledata_count(v->data) && v->read == v->n)
        grid_print(g, rows, rows.x, rows.y, LOOK_DIM, "%s",
            *filter_text(&v->filter) ? "no run is so; Esc shows all"
            : v->path                ? "it has no runs yet; a shows those of other notebooks"
                                     : "there are no runs yet");
    filter_draw(&v->filter, g, (rect){area.x, area.y + area.h - 1, area.w, 1});
}

static const cJSON *row_of(const struct runs_view *v, const char *run)
{
    for (size_t i = 0; i < v->read; i++)
        if (str_eq(json_str(v->rows[i], "run"), run))
            return v->rows[i];
    return NULL;
}

static void open_selected(struct runs_view *v)
{
    bench *b = v->head.bench;
    const cJSON *row = v->uid ? row_of(v, v->uid) : NULL;
    if (!row)
        return;
    AUTO_FREE char *path = journal_file(v->folder, v->uid);
    if (str_eq(v->uid, bench_run(b)))
        bench_say(b, "this is the run that is open: q goes back to it");
    else if (str_eq(json_str(row, "state"), "running"))
        bench_say(b, "it still runs: firesteel attach %s", v->uid);
    else if (!bench_open_run(b, path))
        bench_say(b, "runs cannot be opened here");
}

static void mark(struct runs_view *v)
{
    bool same = str_eq(v->marked, v->uid);
    free(v->marked);
    v->marked = mem_strdup(same ? NULL : v->uid);
    load(v);
    if (v->scroll.at + 1 < tabledata_count(v->data))
        v->scroll.at++;
    remember(v);
}

// With the marked one; without a mark, with the one before it in time.
static void compare(struct runs_view *v)
{
    bench *b = v->head.bench;
    const struct table_row *next = tabledata_at(v->data, v->scroll.at + 1);
    const char *other = v->marked ? v->marked : next ? next->uid : NULL;
    if (!v->uid || !other || str_eq(other, v->uid))
        bench_say(b, "m marks a run, and c compares it with the one at the cursor");
    else
        compare_push(b, v->folder, other, v->uid);
}

static void sort(struct runs_view *v, bool turn)
{
    v->reverse = turn && v->sort >= 0 && !v->reverse;
    if (!turn)
        v->sort = v->sort + 1 < tabledata_columns(v->data) ? v->sort + 1 : -1;
    load(v);
}

static bool act_on(struct runs_view *v, enum action a)
{
    switch ((int)a) {
    case ACT_OPEN:
        open_selected(v);
        return true;
    case ACT_MARK_RUN:
        mark(v);
        return true;
    case ACT_COMPARE:
        compare(v);
        return true;
    case ACT_ALL_RUNS:
        show_all(v, v->path != NULL);
        load(v);
        return true;
    case ACT_SORT:
    case ACT_SORT_REVERSE:
        sort(v, a == ACT_SORT_REVERSE);
        return true;
    case ACT_SHIFT_LEFT:
    case ACT_SHIFT_RIGHT:
        v->shift = a == ACT_SHIFT_RIGHT ? v->shift + 1 : v->shift ? v->shift - 1 : 0;
        return true;
    }
    return false;
}

static bool act(view *view_, enum action a)
{
    struct runs_view *v = (struct runs_view *)view_;
    if (filter_act(&v->filter, a, bench_clipboard(view_->bench))) {
        load(v);
        return true;
    }
    if (act_on(v, a))
        return true;
    bool moved = scroll_act(&v->scroll, a);
    remember(v);
    return moved;
}

static bool mouse(view *view_, const struct mouse *m)
{
    struct runs_view *v = (struct runs_view *)view_;
    enum pointed p = scroll_point(&v->scroll, m, 2);
    remember(v);
    return p == POINT_OPEN ? act_on(v, ACT_OPEN) : p == POINT_MOVED;
}

static unsigned mode(const view *v)
{
    return filter_mode(&((const struct runs_view *)v)->filter);
}

static void type(view *view_, key k)
{
    struct runs_view *v = (struct runs_view *)view_;
    if (filter_type(&v->filter, k))
        load(v);
}

static void paste(view *view_, const char *words, size_t n)
{
    struct runs_view *v = (struct runs_view *)view_;
    if (filter_paste(&v->filter, words, n))
        load(v);
}

static int wait_ms(const view *view_)
{
    const struct runs_view *v = (const struct runs_view *)view_;
    return v->read < v->n ? 1 : -1;
}

static void hint(const view *v, buf *out)
{
    buf_str(out, "Enter opens  / filter, lr<0.1  s sort  m mark  c compare  a all  q back");
}

static void done(view *view_)
{
    struct runs_view *v = (struct runs_view *)view_;
    for (size_t i = 0; i < v->read; i++)
        cJSON_Delete(v->rows[i]);
    forget_fields(v);
    filter_done(&v->filter);
    tabledata_free(v->data);
    runs_list_close(v->runs);
    free(v->rows);
    free(v->folder);
    free(v->notebook);
    free(v->marked);
    free(v->uid);
}

void runs_push(bench *b)
{
    err e = {0};
    AUTO_FREE char *folder = bench_folder(b);
    runs_list *runs = folder ? runs_list_open(folder, &e) : NULL;
    if (!runs) {
        bench_complain(b, "%s", e.code ? e.text : "the kernel is starting");
        return;
    }
    struct runs_view *v = view_push(b, &runs_view_ops, sizeof *v);
    v->folder = STEAL(folder);
    v->path = v->notebook = mem_strdup(bench_path(b));
    v->runs = runs;
    v->n = runs_list_count(runs);
    v->rows = mem_array(v->n + 1, sizeof *v->rows);
    v->data = tabledata_new();
    v->sort = -1;
    v->filter.past = bench_past(b);
    load(v);
}

static const struct binding bindings[] = {
    {MODE_VIEW, "Enter", ACT_OPEN},
    {MODE_VIEW, "m", ACT_MARK_RUN},
    {MODE_VIEW, "c", ACT_COMPARE},
    {MODE_VIEW, "a", ACT_ALL_RUNS},
    {MODE_VIEW, "/", ACT_FILTER},
    {MODE_VIEW, "s", ACT_SORT},
    {MODE_VIEW, "S", ACT_SORT_REVERSE},
    {MODE_VIEW, "Left", ACT_SHIFT_LEFT},
    {MODE_VIEW, "Right", ACT_SHIFT_RIGHT},
};
static const struct keymap keys = KEYMAP(bindings);
const struct view_ops runs_view_ops = {.name = "runs",
    .keys = &keys,
    .more = &scroll_keys,
    .mode = mode,
    .settle = settle,
    .draw = draw,
    .act = act,
    .mouse = mouse,
    .type = type,
    .paste = paste,
    .wait_ms = wait_ms,
    .hint = hint,
    .done = done};
