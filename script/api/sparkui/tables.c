// SPDX-License-Identifier: MIT
#include "script/api/sparkui/tables.h"

#include "base/clock.h"
#include "base/json/tabletext.h"
#include "base/mem.h"
#include "base/str.h"

#include <stdlib.h>

enum { ROWS = 200, NAME_MAX_BYTES = 120, FINDINGS_SHOWN = 4 };
static const char mime[] = "application/vnd.firesteel.table+json";

const char *const spark_table_names[] = {
#define X(name, text) text,
    SPARK_TABLES(X)
#undef X
};

// ---- entries

static void put(cJSON *cells, buf *text)
{
    cJSON_AddItemToArray(cells, cJSON_CreateString(buf_cstr(text)));
    buf_clear(text);
}

static void put_text(cJSON *cells, const char *text)
{
    cJSON_AddItemToArray(
        cells, cJSON_CreateString(str_short_line(text ? text : "", NAME_MAX_BYTES).text));
}

static void put_count(cJSON *cells, int64_t n, buf *text)
{
    if (n)
        buf_int(text, n);
    put(cells, text);
}

static void put_bytes(cJSON *cells, int64_t bytes, buf *text)
{
    if (bytes > 0)
        spark_bytes(text, bytes);
    put(cells, text);
}

static void put_ms(cJSON *cells, int64_t ms, buf *text)
{
    ms = ms < SPARK_MOST ? ms : SPARK_MOST;
    if (ms > 0)
        duration_format(text, (ms < 10000 ? ms : ms / 1000 * 1000) * CLOCK_MS);
    put(cells, text);
}

// How long it took, or has taken up to now.
static int64_t took(int64_t begun, int64_t ended, int64_t now_ms)
{
    return begun <= 0 ? 0 : (ended > 0 ? ended : now_ms) - begun;
}

static void put_part(cJSON *cells, int64_t part, int64_t whole, buf *text)
{
    if (part > 0 && whole > 0)
        buf_fmt(text, "%.0f%%", 100.0 * (double)part / (double)whole);
    put(cells, text);
}

static void put_done(cJSON *cells, int64_t done, int64_t all, buf *text)
{
    buf_fmt(text, "%lld/%lld", (long long)done, (long long)all);
    put(cells, text);
}

static double times_of(const struct spark_stage *g)
{
    int64_t longest = g->running_ms > g->spread.max_ms ? g->running_ms : g->spread.max_ms;
    return g->spread.max_ms > 0
               ? (double)longest / (double)(g->spread.median_ms > 0 ? g->spread.median_ms : 1)
               : 0;
}

// ---- rows

static cJSON *row_new(const char *kind, const char *name, cJSON **cells)
{
    cJSON *row = cJSON_CreateObject();
    AUTO_FREE char *uid = str_fmt("%s/%s", kind, name);
    json_set_str(row, "uid", uid);
    json_set_str(row, "name", name);
    *cells = json_array_at(row, "cells");
    return row;
}

static cJSON *stage_row(const struct spark_stage *g, int64_t now_ms)
{
    AUTO_BUF t = {0}, name = {0};
    cJSON *cells;
    buf_int(&name, g->id);
    if (g->attempt)
        buf_fmt(&name, ".%lld", (long long)g->attempt);
    cJSON *row = row_new("stage", buf_cstr(&name), &cells);
    put(cells, &name);
    put_text(cells, spark_state_names[g->is]);
    put_done(cells, g->done, g->tasks, &t);
    put_count(cells, g->active, &t);
    put_count(cells, g->failed, &t);
    put_ms(cells, took(g->begun, g->ended, now_ms), &t);
    if (times_of(g) >= 1.5) // below that it is no news
        buf_fmt(&t, times_of(g) < 9.95 ? "%.1fx" : "%.0fx", times_of(g));
    put(cells, &t);
    put_part(cells, g->gc_ms, g->run_ms, &t);
    put_bytes(cells, g->input + g->shuffle_read, &t);
    put_bytes(cells, g->output + g->shuffle_write, &t);
    put_bytes(cells, g->disk_spilled, &t);
    put_text(cells, g->name);
    json_set_str(row, "news",
        g->is == SPARK_COMPLETE || g->is == SPARK_FAILED ? spark_state_names[g->is] : "");
    return row;
}

static cJSON *job_row(const struct spark_job *j, int64_t now_ms)
{
    AUTO_BUF t = {0}, name = {0};
    cJSON *cells;
    buf_int(&name, j->id);
    cJSON *row = row_new("job", buf_cstr(&name), &cells);
    put(cells, &name);
    put_text(cells, spark_state_names[j->is]);
    put_done(cells, j->stages_done, j->stages - j->stages_skipped, &t);
    put_done(cells, j->done, j->tasks - j->skipped, &t);
    put_count(cells, j->active, &t);
    put_count(cells, j->failed, &t);
    put_ms(cells, took(j->begun, j->ended, now_ms), &t);
    if (j->query >= 0)
        buf_int(&t, j->query);
    put(cells, &t);
    put_text(cells, j->cause ? j->cause : j->name);
    json_set_str(row, "news", "");
    return row;
}

static cJSON *executor_row(const struct spark_executor *x)
{
    AUTO_BUF t = {0};
    cJSON *cells, *row = row_new("executor", x->id, &cells);
    put_text(cells, x->id);
    put_text(cells, x->gone ? "gone" : "active");
    put_text(cells, x->host);
    put_count(cells, x->cores, &t);
    put_count(cells, x->active, &t);
    put_count(cells, x->done, &t);
    put_count(cells, x->failed, &t);
    put_part(cells, x->gc_ms, x->run_ms, &t);
    put_bytes(cells, x->peak, &t);
    put_bytes(cells, x->stored, &t);
    put_bytes(cells, x->storage, &t);
    put_bytes(cells, x->shuffle_read, &t);
    put_bytes(cells, x->shuffle_write, &t);
    put_bytes(cells, x->spilled, &t);
    put_text(cells, x->why);
    json_set_str(row, "news", "");
    return row;
}

static cJSON *query_row(const struct spark_query *q, int64_t now_ms)
{
    AUTO_BUF t = {0}, name = {0};
    cJSON *cells;
    buf_int(&name, q->id);
    cJSON *row = row_new("query", buf_cstr(&name), &cells);
    put(cells, &name);
    put_text(cells, spark_state_names[q->is]);
    put_ms(cells, took(q->begun, q->ended, now_ms), &t);
    put_count(cells, q->jobs, &t);
    put_text(cells, q->cause ? q->cause : q->what);
    json_set_str(row, "news", "");
    return row;
}

// ---- tables

struct column {
    const char
        *name; // '>' before it: its entries stand at the right; '?': shown where there is room
};
static const struct column stage_columns[] = {{"STAGE"}, {"STATE"}, {">TASKS"}, {">ACTIVE"},
    {">FAILED"}, {">TIME"}, {">MAX/MEDIAN"}, {"?>GC"}, {"?>READ"}, {"?>WRITTEN"}, {">SPILLED"},
    {"NAME"}, {NULL}};
static const struct column job_columns[] = {{"JOB"}, {"STATE"}, {">STAGES"}, {">TASKS"},
    {">ACTIVE"}, {">FAILED"}, {">TIME"}, {"?>QUERY"}, {"NAME"}, {NULL}};
static const struct column executor_columns[] = {{"EXECUTOR"}, {"STATE"}, {"HOST"}, {">CORES"},
    {">ACTIVE"}, {">DONE"}, {">FAILED"}, {">GC"}, {">PEAK HEAP"}, {"?>STORED"}, {"?>STORAGE"},
    {">SHUFFLE READ"}, {">SHUFFLE WRITTEN"}, {">SPILLED"}, {"?WHY IT WENT"}, {NULL}};
static const struct column query_columns[] = {
    {"QUERY"}, {"STATE"}, {">TIME"}, {">JOBS"}, {"WHAT"}, {NULL}};

static const struct column finding_columns[] = {{"KIND"}, {"WHAT"}, {"NEXT STEP"}, {NULL}};

static cJSON *table_new(const struct column *columns, const char *one, const char *many)
{
    cJSON *table = cJSON_CreateObject(), *list = json_array_at(table, "columns");
    for (; columns->name; columns++) {
        const char *name = columns->name + (*columns->name == '?');
        cJSON *column = cJSON_CreateObject();
        json_set_str(column, "name", name + (*name == '>'));
        if (*columns->name == '?')
            json_set_bool(column, "wide", true);
        if (*name == '>')
            json_set_str(column, "align", "right");
        cJSON_AddItemToArray(list, column);
    }
    json_set_str(table, "count", "STATE");
    json_set_str(table, "one", one);
    json_set_str(table, "many", many);
    return table;
}

// The active ones first, then the youngest: numbers of a list, as they are shown.
struct place {
    size_t at;
    bool active;
    int64_t id;
};

static int by_place(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->active != y->active)
        return x->active ? -1 : 1;
    return (x->id < y->id) - (x->id > y->id);
}

#define PLACES(s, list, n, key)                                                                    \
    struct place *places = mem_array((s)->n + 1, sizeof *places);                                  \
    for (size_t i = 0; i < (s)->n; i++)                                                            \
        places[i] = (struct place){i, (s)->list[i].is == SPARK_ACTIVE, (s)->list[i].key};          \
    qsort(places, (s)->n, sizeof *places, by_place);                                               \
    size_t shown = (s)->n < ROWS ? (s)->n : ROWS

static void say_more(cJSON *table, size_t all, size_t shown)
{
    if (all > shown)
        json_set_int(table, "more", (int64_t)(all - shown));
}

static cJSON *stages_table(const struct spark_state *s, int64_t now_ms)
{
    cJSON *table = table_new(stage_columns, "stage", "stages"),
          *rows = json_array_at(table, "rows");
    PLACES(s, stages, n_stages, id);
    for (size_t i = 0; i < shown; i++)
        cJSON_AddItemToArray(rows, stage_row(&s->stages[places[i].at], now_ms));
    say_more(table, s->n_stages, shown);
    free(places);
    return table;
}

static cJSON *jobs_table(const struct spark_state *s, int64_t now_ms)
{
    cJSON *table = table_new(job_columns, "job", "jobs"), *rows = json_array_at(table, "rows");
    PLACES(s, jobs, n_jobs, id);
    for (size_t i = 0; i < shown; i++)
        cJSON_AddItemToArray(rows, job_row(&s->jobs[places[i].at], now_ms));
    say_more(table, s->n_jobs, shown);
    free(places);
    return table;
}

static cJSON *queries_table(const struct spark_state *s, int64_t now_ms)
{
    cJSON *table = table_new(query_columns, "query", "queries"),
          *rows = json_array_at(table, "rows");
    PLACES(s, queries, n_queries, id);
    for (size_t i = 0; i < shown; i++)
        cJSON_AddItemToArray(rows, query_row(&s->queries[places[i].at], now_ms));
    say_more(table, s->n_queries, shown);
    free(places);
    return table;
}

static cJSON *executors_table(const struct spark_state *s)
{
    cJSON *table = table_new(executor_columns, "executor", "executors"),
          *rows = json_array_at(table, "rows");
    size_t left = ROWS;
    for (int gone = 0; gone < 2; gone++) // those that are there come first
        for (size_t i = 0; i < s->n_executors && left; i++)
            if (s->executors[i].gone == gone) {
                cJSON_AddItemToArray(rows, executor_row(&s->executors[i]));
                left--;
            }
    say_more(table, s->n_executors, ROWS - left);
    return table;
}

// Each with what to do about it, which has no room below the cell.
static cJSON *findings_table(const cJSON *findings)
{
    cJSON *table = table_new(finding_columns, "finding", "findings");
    cJSON *rows = json_array_at(table, "rows");
    const cJSON *finding;
    cJSON_ArrayForEach(finding, findings)
    {
        cJSON *cells;
        AUTO_FREE char *name = str_fmt("%d", cJSON_GetArraySize(rows) + 1);
        cJSON *row = row_new("finding", name, &cells);
        put_text(cells, json_str(finding, "kind"));
        for (int i = 0; i < 2; i++)
            cJSON_AddItemToArray(
                cells, cJSON_CreateString(json_str_or(finding, i ? "next" : "what", "")));
        json_set_str(row, "news", "");
        cJSON_AddItemToArray(rows, row);
    }
    json_set_str(table, "count", "KIND");
    return table;
}

static void add_title(const struct spark_state *s, enum spark_table which, buf *out)
{
    int64_t jobs = 0, tasks = 0, run_ms = 0, gc_ms = 0, cores = 0;
    for (size_t i = 0; i < s->n_jobs; i++)
        jobs += s->jobs[i].is != SPARK_ACTIVE;
    for (size_t i = 0; i < s->n_stages; i++)
        tasks += s->stages[i].active;
    for (size_t i = 0; i < s->n_executors; i++) {
        run_ms += s->executors[i].run_ms;
        gc_ms += s->executors[i].gc_ms;
        cores += s->executors[i].gone ? 0 : s->executors[i].cores;
    }
    if (which != SPARK_TABLE_STAGES)
        buf_fmt(out, "%s of %s", spark_table_names[which],
            s->name  ? s->name
            : s->app ? s->app
                     : "Spark");
    if (which == SPARK_TABLE_EXECUTORS && cores)
        buf_fmt(out, ", %lld cores", (long long)cores);
    if (which == SPARK_TABLE_EXECUTORS && run_ms && gc_ms)
        buf_fmt(out, ", GC %.0f%%", 100.0 * (double)gc_ms / (double)run_ms);
    if (which != SPARK_TABLE_STAGES)
        return;
    buf_fmt(out, "Spark %s", s->name ? s->name : s->app ? s->app : "");
    if (s->n_jobs)
        buf_fmt(out, ": %lld of %zu job%s ended", (long long)jobs, s->n_jobs,
            s->n_jobs == 1 ? "" : "s");
    if (tasks)
        buf_fmt(out, ", %lld task%s run", (long long)tasks, tasks == 1 ? "" : "s");
    if (tasks && cores)
        buf_fmt(out, " on %lld core%s", (long long)cores, cores == 1 ? "" : "s");
}

cJSON *spark_table_of(
    const struct spark_state *s, enum spark_table which, const cJSON *findings, int64_t now_ms)
{
    cJSON *table = which == SPARK_TABLE_STAGES      ? stages_table(s, now_ms)
                   : which == SPARK_TABLE_EXECUTORS ? executors_table(s)
                   : which == SPARK_TABLE_FINDINGS  ? findings_table(findings)
                   : which == SPARK_TABLE_JOBS      ? jobs_table(s, now_ms)
                                                    : queries_table(s, now_ms);
    AUTO_BUF title = {0}, note = {0};
    const cJSON *finding;
    int n = 0;
    add_title(s, which, &title);
    json_set_str(table, "title", buf_cstr(&title));
    json_set_bool(table, which == SPARK_TABLE_STAGES ? "headed" : "folded", true);
    if (which != SPARK_TABLE_STAGES)
        return table;
    cJSON_ArrayForEach(finding, findings)
    {
        if (n++ < FINDINGS_SHOWN)
            buf_fmt(&note, "%s%s", note.len ? "\n" : "", json_str_or(finding, "what", ""));
    }
    if (n > FINDINGS_SHOWN)
        buf_fmt(&note, "\nand %d more", n - FINDINGS_SHOWN);
    if (note.len)
        json_set_str(table, "note", buf_cstr(&note));
    return table;
}

cJSON *spark_bundle(const struct spark_state *s, enum spark_table which, const cJSON *findings,
    const char *note, int64_t now_ms)
{
    cJSON *bundle = cJSON_CreateObject();
    cJSON *table = spark_table_of(s, which, findings, now_ms);
    AUTO_BUF text = {0};
    if (note)
        json_set_str(table, "note", note);
    buf_str(&text, json_str_or(table, "title", ""));
    if (json_bool_or(table, "folded", false)) {
        AUTO_BUF counts = {0};
        tabletext_summary(table, &counts);
        buf_fmt(&text, ": %s\n", counts.len ? buf_cstr(&counts) : "none");
    } else {
        buf_char(&text, '\n');
        tabletext_print(table, now_ms * CLOCK_MS, &text);
        if (json_str(table, "note"))
            buf_fmt(&text, "%s\n", json_str(table, "note"));
    }
    json_set_str(bundle, "text/plain", buf_cstr(&text));
    json_set(bundle, mime, table);
    return bundle;
}

// ---- for cells

static void set_seconds(cJSON *to, int64_t begun, int64_t ended, int64_t now_ms)
{
    if (begun > 0)
        cJSON_AddNumberToObject(to, "seconds", (double)took(begun, ended, now_ms) / 1000);
}

static cJSON *stage_json(const struct spark_stage *g, int64_t now_ms)
{
    cJSON *j = cJSON_CreateObject();
    json_set_int(j, "id", g->id);
    json_set_int(j, "attempt", g->attempt);
    json_set_str(j, "name", g->name);
    json_set_str(j, "state", spark_state_names[g->is]);
    json_set_int(j, "tasks", g->tasks);
    json_set_int(j, "active", g->active);
    json_set_int(j, "done", g->done);
    json_set_int(j, "failed", g->failed);
    json_set_int(j, "killed", g->killed);
    set_seconds(j, g->begun, g->ended, now_ms);
    if (times_of(g) > 0) {
        cJSON_AddNumberToObject(j, "median", (double)g->spread.median_ms / 1000);
        cJSON_AddNumberToObject(j, "max", (double)g->spread.max_ms / 1000);
        cJSON_AddNumberToObject(j, "skew", times_of(g));
    }
    json_set_int(j, "input", g->input);
    json_set_int(j, "output", g->output);
    json_set_int(j, "shuffle_read", g->shuffle_read);
    json_set_int(j, "shuffle_write", g->shuffle_write);
    json_set_int(j, "spilled", g->disk_spilled);
    cJSON_AddNumberToObject(j, "gc", (double)g->gc_ms / 1000);
    json_set_str(j, "cause", g->cause);
    return j;
}

static cJSON *job_json(const struct spark_job *of, int64_t now_ms)
{
    cJSON *j = cJSON_CreateObject();
    json_set_int(j, "id", of->id);
    json_set_str(j, "name", of->name);
    json_set_str(j, "state", spark_state_names[of->is]);
    json_set_int(j, "stages", of->stages);
    json_set_int(j, "stages_done", of->stages_done);
    json_set_int(j, "stages_skipped", of->stages_skipped);
    json_set_int(j, "tasks", of->tasks);
    json_set_int(j, "done", of->done);
    json_set_int(j, "failed", of->failed);
    set_seconds(j, of->begun, of->ended, now_ms);
    if (of->query >= 0)
        json_set_int(j, "query", of->query);
    json_set_str(j, "cause", of->cause);
    return j;
}

static cJSON *executor_json(const struct spark_executor *x)
{
    cJSON *j = cJSON_CreateObject();
    json_set_str(j, "id", x->id);
    json_set_str(j, "host", x->host);
    json_set_str(j, "state", x->gone ? "gone" : "active");
    json_set_str(j, "why", x->why);
    json_set_int(j, "cores", x->cores);
    json_set_int(j, "active", x->active);
    json_set_int(j, "done", x->done);
    json_set_int(j, "failed", x->failed);
    cJSON_AddNumberToObject(j, "seconds", (double)x->run_ms / 1000);
    cJSON_AddNumberToObject(j, "gc", (double)x->gc_ms / 1000);
    json_set_int(j, "peak_heap", x->peak);
    json_set_int(j, "stored", x->stored);
    json_set_int(j, "storage", x->storage);
    json_set_int(j, "shuffle_read", x->shuffle_read);
    json_set_int(j, "shuffle_write", x->shuffle_write);
    if (x->spill_known)
        json_set_int(j, "spilled", x->spilled);
    return j;
}

static cJSON *query_json(const struct spark_query *q, int64_t now_ms)
{
    cJSON *j = cJSON_CreateObject();
    json_set_int(j, "id", q->id);
    json_set_str(j, "what", q->what);
    json_set_str(j, "state", spark_state_names[q->is]);
    json_set_int(j, "jobs", q->jobs);
    set_seconds(j, q->begun, q->ended, now_ms);
    json_set_str(j, "cause", q->cause);
    return j;
}

cJSON *spark_json(const struct spark_state *s, const cJSON *findings, int64_t now_ms)
{
    cJSON *j = cJSON_CreateObject(), *stages = json_array_at(j, "stages"),
          *jobs = json_array_at(j, "jobs");
    cJSON *executors = json_array_at(j, "executors"), *queries = json_array_at(j, "queries");
    json_set_str(j, "app", s->app);
    json_set_str(j, "name", s->name);
    json_set_str(j, "version", s->version);
    json_set_str(j, "state", s->ended ? "ended" : "running");
    set_seconds(j, s->begun, s->ended, now_ms);
    for (size_t i = 0; i < s->n_stages; i++)
        cJSON_AddItemToArray(stages, stage_json(&s->stages[i], now_ms));
    for (size_t i = 0; i < s->n_jobs; i++)
        cJSON_AddItemToArray(jobs, job_json(&s->jobs[i], now_ms));
    for (size_t i = 0; i < s->n_executors; i++)
        cJSON_AddItemToArray(executors, executor_json(&s->executors[i]));
    for (size_t i = 0; i < s->n_queries; i++)
        cJSON_AddItemToArray(queries, query_json(&s->queries[i], now_ms));
    json_set(j, "findings", findings ? cJSON_Duplicate(findings, true) : cJSON_CreateArray());
    return j;
}
