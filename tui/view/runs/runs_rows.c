// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "script/journal/runs/runs.h"
#include "tui/view/runs/runs_private.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { WORK_MS = 8, DRAW_MS = 100 };

void runs_rows_remember(struct runs_view *v)
{
    const struct table_row *r = tabledata_at(v->data, v->scroll.at);
    free(v->uid);
    v->uid = mem_strdup(r ? r->uid : NULL);
}

static void follow(struct runs_view *v)
{
    size_t at = v->uid ? tabledata_find(v->data, v->uid) : SIZE_MAX, n = tabledata_count(v->data);
    v->scroll.at = at != SIZE_MAX ? at : v->scroll.at < n ? v->scroll.at : n ? n - 1 : 0;
    runs_rows_remember(v);
}

static void add_field(struct runs_view *v, const char *name, bool metric)
{
    for (size_t i = 0; i < v->n_fields; i++)
        if (str_eq(v->fields[i], name) && v->metric[i] == metric)
            return;
    if (v->n_fields == RUNS_FIELDS)
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
    if (!row->child) // it was removed
        return true;
    const char *state = json_str_or(row, "state", "");
    bool own = str_eq(json_str(row, "run"), bench_run(v->head.bench));
    return !json_int_or(row, "ok", 0) && !json_int_or(row, "failed", 0) &&
           (own || str_eq(state, "ok") || str_eq(state, "stopped"));
}

static bool belongs(const struct runs_view *v, const cJSON *row)
{
    return !is_empty(v, row) && (!v->path || str_eq(json_str(row, "notebook"), v->path));
}

void runs_rows_forget_fields(struct runs_view *v)
{
    for (size_t i = 0; i < v->n_fields; i++)
        free(v->fields[i]);
    v->n_fields = 0;
}

// Those of this notebook's runs, or of all. What was sorted by may not be there any more.
void runs_rows_show_all(struct runs_view *v, bool all)
{
    v->path = all ? NULL : v->notebook;
    runs_rows_forget_fields(v);
    for (size_t i = 0; i < v->read; i++)
        if (belongs(v, v->rows[i]))
            find_fields(v, v->rows[i]);
    v->sort = v->sort < RUNS_OWN ? v->sort : -1;
    sheet_choose(&v->sheet, -1);
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
    const char *mark = marks_has(v->marks, run) ? "*" : "",
               *hash = n > RUNS_HASH ? run + n - RUNS_HASH : run;
    const char *child = strchr(run, '/');
    if (child)
        return str_fmt("%s  %s", mark, child + 1);
    if (v->path || n <= stamp)
        return str_fmt("%s%s", mark, hash);
    return str_fmt("%s%.*s %s", mark, (int)(n - stamp), run, hash);
}

bool runs_rows_is_open(const struct runs_view *v, const char *run)
{
    for (char **name = v->opened; name && *name; name++)
        if (str_eq(*name, run))
            return true;
    return false;
}

static cJSON *children_of(const cJSON *row)
{
    return cJSON_GetObjectItemCaseSensitive(row, "children");
}

static size_t children_hidden(const struct runs_view *v, const cJSON *row)
{
    bool open = runs_rows_is_open(v, json_str_or(row, "run", ""));
    return open ? 0 : (size_t)cJSON_GetArraySize(children_of(row));
}

static cJSON *cells_of(const struct runs_view *v, const cJSON *row)
{
    cJSON *table_row = cJSON_CreateObject(), *cells = json_array_at(table_row, "cells");
    const char *run = json_str_or(row, "run", "");
    AUTO_FREE char *name = short_name(v, run);
    char started[sizeof "14:03"];
    const cJSON *seconds = json_get(row, "seconds");
    AUTO_FREE char *took =
        seconds ? runs_took(json_str(row, "state"), clock_of_seconds(seconds->valuedouble)) : NULL;
    size_t more = children_hidden(v, row);
    AUTO_FREE char *whole = more ? str_fmt("%s +%zu", name, more) : STEAL(name);
    json_set_str(table_row, "uid", run);
    add_text(cells, whole);
    add_text(cells, json_str_or(row, "state", ""));
    add_text(cells, short_time(row, started));
    add_text(cells, took ? took : "");
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
    static const char *const own[RUNS_OWN] = {"RUN", "STATE", "STARTED", "TOOK"};
    cJSON *columns = cJSON_CreateArray();
    for (size_t i = 0; i < RUNS_OWN; i++)
        add_text(columns, own[i]);
    for (size_t i = 0; i < v->n_fields; i++)
        add_text(columns, v->fields[i]);
    return columns;
}

// In the order that is asked for; runs without the field come last.
static void put_in_order(const struct runs_view *v, cJSON **rows, size_t n)
{
    static const char *const own[RUNS_OWN] = {"run", "state", "started", "seconds"};
    if (v->sort < 0)
        return;
    size_t field = (size_t)v->sort;
    AUTO_FREE char *name =
        field < RUNS_OWN
            ? str_fmt("%s%s", v->reverse ? "-" : "", own[field])
            : str_fmt("%s%s.%s", v->reverse ? "-" : "",
                  v->metric[field - RUNS_OWN] ? "metrics" : "params", v->fields[field - RUNS_OWN]);
    runs_sort(rows, n, name);
}

// The run if it holds or one of its children is to be shown, and these: all of a run that is open,
// else those that a condition asks for.
static size_t choose(struct runs_view *v, const struct condition *where, cJSON *row, cJSON **out)
{
    bool open = runs_rows_is_open(v, json_str_or(row, "run", "")),
         held = runs_where_holds(where, row);
    size_t n = 1;
    cJSON *child;
    out[0] = row;
    cJSON_ArrayForEach(child, children_of(row))
    {
        if (!(where->n ? runs_where_holds(where, child) && (open || !held) : open))
            continue;
        find_fields(v, child);
        out[n++] = child;
    }
    if (n == 1 && !held)
        return 0;
    put_in_order(v, out + 1, n - 1);
    return n;
}

// The rows that are shown, runs in their order and the children of each below it; new.
static cJSON **chosen(struct runs_view *v, const struct condition *where, size_t *n)
{
    size_t room = 1, n_runs = 0;
    AUTO_FREE cJSON **runs = mem_array(v->read + 1, sizeof *runs);
    for (size_t i = 0; i < v->read; i++) {
        if (!belongs(v, v->rows[i]))
            continue;
        runs[n_runs++] = v->rows[i];
        room += 1 + (size_t)cJSON_GetArraySize(children_of(v->rows[i]));
    }
    put_in_order(v, runs, n_runs);
    cJSON **out = mem_array(room, sizeof *out);
    *n = 0;
    for (size_t i = 0; i < n_runs; i++)
        *n += choose(v, where, runs[i], out + *n);
    return out;
}

// All rows that match, anew. What is typed is a condition if it can be one, else a text.
void runs_rows_load(struct runs_view *v)
{
    struct condition where = {0};
    const char *words = filter_text(&v->filter);
    bool condition = *words && condition_parse(&where, words, NULL) == 0;
    size_t n;
    AUTO_FREE cJSON **shown = chosen(v, condition ? &where : &(struct condition){0}, &n);
    AUTO_JSON *table = cJSON_CreateObject();
    json_set(table, "columns", columns_of(v));
    cJSON *rows = json_array_at(table, "rows"), *keep = json_array_at(table, "keep");
    static const char *const kept[] = {"RUN", "STATE", "STARTED"};
    for (size_t i = 0; i < ARRAY_LEN(kept); i++)
        add_text(keep, kept[i]);
    for (size_t i = 0; i < v->n_fields; i++)
        if (v->metric[i])
            add_text(keep, v->fields[i]);
    for (size_t i = 0; i < n; i++)
        cJSON_AddItemToArray(rows, cells_of(v, shown[i]));
    tabledata_filter(v->data, "", 0);
    tabledata_load(v->data, table);
    if (!condition)
        tabledata_filter(v->data, words, 0);
    condition_done(&where);
    v->loaded = v->read;
    v->drawn = clock_mono();
    follow(v);
}

static void date_children(cJSON *row)
{
    cJSON *child;
    char started[RUNS_STARTED];
    cJSON_ArrayForEach(child, children_of(row))
        json_set_str(child, "started", runs_started(json_int_or(child, "began", 0), started));
}

void runs_rows_read(struct runs_view *v)
{
    int64_t until = clock_mono() + WORK_MS * CLOCK_MS;
    while (v->read < v->n && clock_mono() < until) {
        err e = {0};
        cJSON *row = runs_list_row(v->runs, v->read, NULL, &e);
        if (belongs(v, row))
            find_fields(v, row);
        date_children(row);
        v->rows[v->read++] = row;
    }
    bool due = v->read == v->n || clock_mono() - v->drawn > DRAW_MS * CLOCK_MS || !v->loaded;
    if (v->loaded < v->read && due)
        runs_rows_load(v);
}

const cJSON *runs_rows_of(const struct runs_view *v, const char *run)
{
    for (size_t i = 0; i < v->read; i++)
        if (str_eq(json_str(v->rows[i], "run"), run))
            return v->rows[i];
    return NULL;
}

// It stays in the list that was read first, whose places count, as a row that belongs to nobody.
void runs_rows_forget(struct runs_view *v, const char *run)
{
    for (size_t i = 0; i < v->read; i++) {
        if (!str_eq(json_str(v->rows[i], "run"), run))
            continue;
        cJSON_Delete(v->rows[i]);
        v->rows[i] = cJSON_CreateObject();
    }
    marks_set(v->marks, run, false);
    runs_rows_load(v);
}

const cJSON *runs_rows_children(const cJSON *row)
{
    return children_of(row);
}
