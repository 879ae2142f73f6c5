// SPDX-License-Identifier: MIT
// Lists, finds, filters and sorts runs. A run is a JSON object: run, state, started, seconds, … and
// params, metrics, tags, artifacts, each an object by name; a metric is {value, …}.
//    lr<0.01 and params.model = "wide"      val_accuracy        -started        metrics.loss
#pragma once
#include "base/data/condition.h"
#include "base/err.h"
#include "base/json/json.h"
#include "script/journal/fold/fold.h"
#include "script/journal/runs/runs_index.h"

#include <stdbool.h>

// The fields of a run in a list: run, state, started, seconds, cells, ok, failed, left, notebook,
// params, metrics, tags, artifacts, inputs, images, environment, versions, origin (fold_origin),
// what its pods cost (cost_of), and children, if there are some (fold_children); new. If its
// journal cannot be read, "state" is "unreadable", and the error is set.
cJSON *runs_row(const char *folder, const char *run, err *e);

// The runs of a folder, newest first, as in runs_row. Journals whose state the folder's index knows
// (script/journal/runs/runs_index.h) are not read; those that were read are added to it at the end.
// It owns what it returns, except rows.
typedef struct runs_list runs_list;
runs_list *runs_list_open(const char *folder, err *e);
void runs_list_close(runs_list *l); // NULL is fine
size_t runs_list_count(const runs_list *l);
const char *runs_list_run(const runs_list *l, size_t i);
// As journal_ran, and the path of its notebook's file, "" if unknown.
bool runs_list_ran(const runs_list *l, size_t i);
char *runs_list_notebook(const runs_list *l, size_t i); // new
// Its numbers and names. The journal is read if the index does not know it. If that fails, the
// error is set, and only run and state ("unreadable") are filled in. Valid until the list closes.
const struct runs_brief *runs_list_brief(runs_list *l, size_t i, err *e);
// The run's lineage as in lineage_of, new; NULL: its journal cannot be read.
cJSON *runs_list_lineage(runs_list *l, size_t i);
// A row as in runs_row; with `fields` (NULL: all) only the parts that these fields need.
cJSON *runs_list_row(runs_list *l, size_t i, const char *const *fields, err *e);

// Call it when a run has ended and nobody writes its journal any more. It adds what lists show of
// the run to the folder's index, so that no list has to read the journal. It does nothing if the
// journal has no end, or is larger than 8 MiB.
void runs_ended(const char *journal);
// The same for a headless run whose client has received all its events. The entry is made from what
// the client received, the fold `f`, which may be finished before the run's kernel is gone; NULL:
// it has not ended. Then the index gets the entry, and it is freed.
struct runs_entry *runs_entry_new(const fold *f);
void runs_entry_free(struct runs_entry *entry);
void runs_heard(struct runs_entry *entry, const char *folder); // NULL is fine

// Finds the run that a word means, for every verb: a name, its beginning or its end, as in
// journal_find; "newest", "last" or NULL; "-2", the second newest; a notebook's file: its newest
// run. `own` (NULL: none) is the run that asks, which is left out. New.
char *runs_pick(const char *folder, const char *own, const char *word, err *e);
bool runs_is_notebook(const char *word); // is it such a file's name?

// The same word, optionally followed by "/NAME" of a child of the run (a trial, a measurement):
// *child is that name, new, or NULL.
char *runs_pick_child(const char *folder, const char *own, const char *word, char **child, err *e);
// Reads the run or child that a word means, as fold_shown does; *spools, new: their folder.
fold *runs_open(const char *folder, const char *word, char **spools, err *first_bad, err *e);
// The row of a run's child: run = "RUN/NAME", parent, of, state, started, seconds, params, metrics,
// tags, artifacts; new.
cJSON *runs_child_row(const char *folder, const char *run, const char *child, err *e);

// When a run started, by the local clock: "2026-01-02 03:04:05". Returns `out`.
enum { RUNS_STARTED = 20 };
char *runs_started(int64_t wall_ns, char out[RUNS_STARTED]);
// How long a run took, as in lists: "2.1s"; ">2.1s" for a killed run, until its last record. New.
char *runs_took(const char *state, int64_t ns);
// A field of a run: its own member, else a parameter, a metric's value, a tag, a member of its
// origin. With "params.", "metrics." or "tags." before it, only one of that kind. NULL: it has
// none. Borrowed.
const cJSON *runs_field(const cJSON *run, const char *name);
// The field as printed: "" for NULL.
char *runs_text(const cJSON *value);

// Values that are both numbers are compared as numbers. A run without the field passes only "!="
// and
// "!~".
bool runs_where_holds(const struct condition *w, const cJSON *run);
// Does any of the runs have the field? If not, it may be misspelt.
bool runs_any_has(cJSON *const *runs, size_t n, const char *field);
// Refuses a word that is no "state" of a run. Errors: ERR_USAGE with the states that exist.
int runs_check_state(const char *state, err *e);

// Sorts n places by their values (NULL: none): numbers before other texts, those without a value
// last; equal ones keep their order.
void runs_order(size_t *places, const cJSON *const *values, size_t n, bool down);
// Sorts the n runs by a field; with "-" before it, the largest first. Runs without it come last;
// equal ones keep their order.
void runs_sort(cJSON **runs, size_t n, const char *field);

// "trial 3" of "RUN/trial 3", "3f2a" of a run by itself: what rows and curves are called.
enum { RUNS_HASH = 4 };
const char *runs_short_name(const char *run);
