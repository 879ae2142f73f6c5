// SPDX-License-Identifier: MIT
// What the list of runs is made of (runs.c draws it and has its keys; runs_rows.c reads runs and
// chooses what is shown).
#pragma once
#include "script/journal/runs/runs.h"
#include "tui/bench/views.h"
#include "tui/part/filter.h"
#include "tui/part/marks.h"
#include "tui/part/scroll.h"
#include "tui/part/table/sheet.h"
#include "tui/part/table/tabledata.h"

enum { RUNS_OWN = 4, RUNS_FIELDS = 200 }; // columns: fixed, and of fields

struct runs_view {
    view head;
    char *folder, *path; // path: of the notebook's file, NULL: all of the folder
    char *notebook;      // that path, also while all are shown
    runs_list *runs;     // all, the newest first
    cJSON **rows;        // of those that are read, in this order
    size_t n, read;
    char *fields[RUNS_FIELDS]; // parameters, then metrics, as they were found
    bool metric[RUNS_FIELDS];
    size_t n_fields;
    size_t loaded; // so many rows are in the table
    int64_t drawn; // mono ns: when they came into it
    marks *marks;  // of runs and trials, by name
    char **opened; // names of runs whose children are shown; NULL: none
    char *uid;     // of the row with the cursor
    tabledata *data;
    struct scroll scroll;
    struct filter filter;
    struct sheet sheet;
    int sort; // by this column; -1: the newest first
    bool reverse;
};

// Reads some more runs, for a few milliseconds.
void runs_rows_read(struct runs_view *v);
// Makes the table anew, with the filter that was typed, the runs that were opened, and the order.
void runs_rows_load(struct runs_view *v);
// Shows all runs of the folder, or only those of this notebook.
void runs_rows_show_all(struct runs_view *v, bool all);
// Remembers the row with the cursor, so that the cursor stays at it when the table is made anew.
void runs_rows_remember(struct runs_view *v);
const cJSON *runs_rows_of(const struct runs_view *v, const char *run); // NULL: not read
const cJSON *runs_rows_children(const cJSON *row);                     // NULL: none
bool runs_rows_is_open(const struct runs_view *v, const char *run);    // its children are shown
void runs_rows_forget_fields(struct runs_view *v);
void runs_rows_forget(struct runs_view *v, const char *run); // it was removed

// Asks whether the run shall go.
void removal_push(struct runs_view *v, const char *run);
