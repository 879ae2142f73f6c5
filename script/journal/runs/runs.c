// SPDX-License-Identifier: MIT
#include "script/journal/runs/runs.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/journal/file/reader.h"
#include "script/journal/fold/fold.h"
#include "script/journal/runs/cost.h"
#include "script/journal/runs/lineage.h"
#include "script/journal/runs/runs_private.h"

#include <string.h>
#include <time.h>

#define UNREADABLE "unreadable" // the state of a run whose journal cannot be read

// The numbers of cells: all, ok, failed.
static void count_cells(const fold *f, struct runs_brief *b)
{
    for (size_t i = 0; i < fold_count(f); i++) {
        const struct run_cell *c = fold_cell(f, i);
        size_t at;
        if (!notebook_find(fold_notebook(f), c->id, &at) || !notebook_counts(fold_notebook(f), at))
            continue;
        b->cells++;
        b->ok += c->state == STATE_OK;
        b->failed += c->state == STATE_FAILED;
    }
}

int runs_check_state(const char *state, err *e)
{
#define X(name, text) text,
    static const char *const states[] = {RUN_STATES(X) UNREADABLE};
#undef X
    AUTO_BUF known = {0};
    for (size_t i = 0; i < ARRAY_LEN(states); i++) {
        if (str_eq(state, states[i]))
            return 0;
        buf_fmt(&known, "%s%s", i ? ", " : "", states[i]);
    }
    return err_set(
        e, ERR_USAGE, "\"%s\" is no state of a run, which is one of %s", state, known.data);
}

// Puts the sums of what its pods asked for and used in the place of the pods.
static void take_cost(const fold *f, cJSON *rest)
{
    AUTO_JSON *pods = cJSON_DetachItemFromObjectCaseSensitive(rest, "pods");
    AUTO_JSON *cost = cost_of(pods, (double)fold_last(f) / CLOCK_SEC);
    while (cost && cost->child) {
        cJSON *value = cJSON_DetachItemViaPointer(cost, cost->child);
        json_set(rest, value->string, value);
    }
}

// What cells recorded, and the rest, as JSON.
static void print_parts(const fold *f, char *parts[RUNS_PARTS])
{
    static const char *const found[] = {"params", "metrics", "tags"};
    AUTO_JSON *rest = fold_results(f), *first = cJSON_CreateObject();
    for (size_t i = 0; i < ARRAY_LEN(found); i++) {
        cJSON *list = cJSON_DetachItemFromObjectCaseSensitive(rest, found[i]);
        if (list)
            json_set(first, found[i], list);
    }
    take_cost(f, rest);
    AUTO_JSON *origin = cJSON_CreateObject();
    json_set(origin, "origin", fold_origin(f));
    cJSON *children = fold_children(f);
    if (children->child)
        json_set(rest, "children", children);
    else
        cJSON_Delete(children);
    AUTO_JSON *lineage = lineage_of(f);
    parts[RUNS_FOUND] = json_to_str(first);
    parts[RUNS_ORIGIN] = json_to_str(origin);
    parts[RUNS_LINEAGE] = json_to_str(lineage);
    parts[RUNS_REST] = json_to_str(rest);
}

bool runs_written(const char *folder, const char *run)
{
    AUTO_FREE char *path = journal_file(folder, run);
    return journal_is_written(path);
}

void runs_of(const fold *f, const char *run, struct runs_brief *b, char *parts[RUNS_PARTS])
{
    count_cells(f, b);
    const char *state = run_state_name(fold_state(f));
    // A notebook that was closed in order is not "passed".
    const char *const texts[] = {b->failed && str_eq(state, "ok") ? "failed" : state,
        json_str_or(fold_first(f), "wall", ""), run, json_str_or(fold_first(f), "path", "")};
    runs_brief_texts(b, texts);
    b->started = fold_started(f);
    b->took = fold_duration(f);
    b->left = (int64_t)fold_left_overs(f);
    print_parts(f, parts);
}

int runs_read(const char *folder, const char *run, bool written, struct runs_brief *b,
    char *parts[RUNS_PARTS], err *e)
{
    AUTO_FREE char *path = journal_file(folder, run);
    fold *f = fold_without_outputs(path, e);
    if (!f) {
        runs_brief_texts(b, (const char *const[]){UNREADABLE, "", run, ""});
        return -1;
    }
    b->open = fold_state(f) == RUN_RUNNING;
    if (written)
        fold_goes_on(f, clock_mono());
    else
        fold_abandon(f);
    runs_of(f, run, b, parts);
    b->ran = written || json_bool_or(fold_first(f), "headless", false) || journal_ran(folder, run);
    fold_free(f);
    return 0;
}

char *runs_started(int64_t wall_ns, char out[RUNS_STARTED])
{
    time_t started = (time_t)(wall_ns / CLOCK_SEC);
    struct tm tm;
    strftime(out, RUNS_STARTED, "%Y-%m-%d %H:%M:%S", localtime_r(&started, &tm));
    return out;
}

char *runs_took(const char *state, int64_t ns)
{
    AUTO_BUF took = {0};
    buf_str(&took, str_eq(state, run_state_name(RUN_KILLED)) ? ">" : "");
    duration_format(&took, ns);
    return mem_strdup(buf_cstr(&took));
}

static bool is_wanted(const char *const *fields, const char *name)
{
    for (size_t i = 0; fields && fields[i]; i++)
        if (str_eq(fields[i], name))
            return true;
    return !fields;
}

cJSON *runs_row_of(const struct runs_brief *b, const char *const *fields)
{
    const struct {
        const char *name;
        int64_t value;
    } numbers[] = {{"cells", b->cells}, {"ok", b->ok}, {"failed", b->failed}, {"left", b->left}};
    cJSON *row = cJSON_CreateObject();
    json_set_str(row, "run", b->run);
    json_set_str(row, "state", b->state);
    if (str_eq(b->state, UNREADABLE))
        return row;
    char started[RUNS_STARTED];
    if (is_wanted(fields, "started"))
        json_set_str(row, "started", runs_started(b->started, started));
    if (is_wanted(fields, "seconds"))
        json_set(row, "seconds", cJSON_CreateNumber((double)b->took / CLOCK_SEC));
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        if (is_wanted(fields, numbers[i].name))
            json_set_int(row, numbers[i].name, numbers[i].value);
    if (*b->notebook && is_wanted(fields, "notebook"))
        json_set_str(row, "notebook", b->notebook);
    return row;
}

int runs_row_add(cJSON *row, const char *part)
{
    AUTO_JSON *members = json_parse(part, strlen(part), NULL);
    while (members && members->child) {
        cJSON *list = cJSON_DetachItemViaPointer(members, members->child);
        json_set(row, list->string, list);
    }
    return members ? 0 : -1;
}

cJSON *runs_row(const char *folder, const char *run, err *e)
{
    struct runs_brief b = {0};
    char *parts[RUNS_PARTS] = {0};
    runs_read(folder, run, runs_written(folder, run), &b, parts, e);
    cJSON *row = runs_row_of(&b, NULL);
    for (size_t i = 0; i < RUNS_PARTS; i++) {
        if (parts[i] && i != RUNS_LINEAGE)
            runs_row_add(row, parts[i]);
        free(parts[i]);
    }
    runs_brief_done(&b);
    return row;
}

const char *runs_short_name(const char *run)
{
    const char *slash = strchr(run, '/');
    size_t n = strlen(run);
    return slash ? slash + 1 : n > RUNS_HASH ? run + n - RUNS_HASH : run;
}
