// SPDX-License-Identifier: MIT
#include "script/journal/runs.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/journal/fold.h"
#include "script/journal/reader.h"

#include <time.h>

#define UNREADABLE "unreadable" // the state of a run whose journal cannot be read

// Adds the numbers of cells: all, ok, failed. Returns how many failed.
static int64_t count_cells(const fold *f, cJSON *row)
{
    int64_t cells = 0, ok = 0, failed = 0;
    for (size_t i = 0; i < fold_count(f); i++) {
        const struct run_cell *c = fold_cell(f, i);
        size_t at;
        if (!notebook_find(fold_notebook(f), c->id, &at) ||
            notebook_cell(fold_notebook(f), at)->kind != CELL_CODE)
            continue;
        cells++;
        ok += c->state == STATE_OK;
        failed += c->state == STATE_FAILED;
    }
    json_set_int(row, "cells", cells);
    json_set_int(row, "ok", ok);
    json_set_int(row, "failed", failed);
    return failed;
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

static void add_times(const fold *f, cJSON *row)
{
    time_t started = (time_t)(fold_started(f) / CLOCK_SEC);
    struct tm tm;
    char when[20];
    strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", localtime_r(&started, &tm));
    json_set_str(row, "started", when);
    json_set(row, "seconds", cJSON_CreateNumber((double)fold_duration(f) / CLOCK_SEC));
}

cJSON *runs_row(const char *folder, const char *run, err *e)
{
    AUTO_FREE char *path = journal_file(folder, run);
    fold *f = fold_shown(path, NULL, e);
    cJSON *row = cJSON_CreateObject();
    json_set_str(row, "run", run);
    if (!f) {
        json_set_str(row, "state", UNREADABLE);
        return row;
    }
    const char *state = run_state_name(fold_state(f));
    json_set_str(row, "state", state);
    add_times(f, row);
    // A notebook that was closed in order is not what passed.
    if (count_cells(f, row) && str_eq(state, "ok"))
        json_set_str(row, "state", "failed");
    json_set_int(row, "left", (int64_t)fold_left_overs(f));
    if (json_str(fold_first(f), "path"))
        json_set_str(row, "notebook", json_str(fold_first(f), "path"));
    AUTO_JSON *results = fold_results(f);
    while (results->child) {
        cJSON *list = cJSON_DetachItemViaPointer(results, results->child);
        json_set(row, list->string, list);
    }
    json_set(row, "origin", fold_origin(f));
    fold_free(f);
    return row;
}
