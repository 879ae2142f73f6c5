// SPDX-License-Identifier: MIT
// How two runs differ, and whether a run gave again what another one did. Folds are borrowed; JSON
// that is returned is new.
#pragma once
#include "base/buf.h"
#include "base/json.h"
#include "script/journal/fold.h"

// A run, and where its spooled outputs are.
struct compared {
    const fold *fold;
    const char *spool_dir;
};

// Only what differs:
//   {a, b = {run, state, started, seconds, notebook},
//    params, tags, metrics, artifacts, inputs, images, environment, versions, origin
//      = {name = {a =, b =}}, of metrics also `change`, b − a; a side that has none is left out
//    cells = [{title, change = "source" | "added" | "removed", diff}]
//    states, outputs = [{title, a, b}], [{title, diff}] (of a branch "TITLE: BRANCH")
//    causes = {metric = …} (compare_causes)
//    durations = [{title, a, b}], in seconds, of all cells that both ran
//    same: does nothing that was computed differ (durations, machine and command may)?}
cJSON *compare_runs(const struct compared *a, const struct compared *b);
// The same for people, as lines.
void compare_print(const cJSON *difference, buf *out);

// Of each metric that has moved, by its name: {cell, earliest, all = ["parameter lr", …]}: the
// changes that reach it through what cells recorded of their reads; or {unknown = "why"}. No
// `earliest`: none of the recorded ones does.
cJSON *compare_causes(const struct compared *a, const struct compared *b, const cJSON *difference);

// Did run b give again what a did: {a, b (names), equal, within, moved, unknown (numbers of
// results), results = [{what = "metric" | "artifact" | "output" | "display" | "cell", name,
// verdict, a, b, diff, tolerance, why}]}. "within": numbers differ no more than the `tolerance` of
// their cell; "unknown": it cannot be compared.
cJSON *compare_again(const struct compared *a, const struct compared *b);
void compare_again_print(const cJSON *again, buf *out);

// The cells of two documents that are the same one: by id; else by title; else by their place
// between such cells. Those that parameters given have added are none. partner[i]: the index in b,
// or SIZE_MAX; new, for each cell of a.
size_t *compare_match(const notebook *a, const notebook *b);
// Two runs whose cells have been matched.
struct paired {
    const fold *a, *b;
    const size_t *partner; // of a's cells
};
// What one of them has told of "metrics" or "artifacts", new: {name: as in fold_results, and the id
// of its cell}; of a branch of a cell it is called "NAME of TITLE: BRANCH", by a's title.
cJSON *compare_told(const struct paired *p, const fold *f, const char *list);
// Branches go on side by side, so the order of their outputs says nothing: what a cell has shown is
// compared branch by branch. The names of those that have shown something in either run, sorted,
// and first "" for the cell itself; new (strv_free).
char **compare_branches(const struct run_cell *a, const struct run_cell *b);
bool compare_is_of(const struct output *o, const char *branch);
// "TITLE", "TITLE: BRANCH"; new.
char *compare_branch_title(const char *title, const char *branch);
bool compare_is_progress(const struct output *o); // a training's display
// What a branch of a cell has shown, as text; progress comes last.
void compare_output(
    const struct compared *run, const struct run_cell *c, const char *branch, buf *out);
// The same without what is another in each run and says nothing: durations, addresses, the run's
// own name, whether a file cell found its file. run: the name, or NULL.
void compare_settle(const char *text, const char *run, buf *out);
// Has the run made something on a cluster?
bool compare_has_cluster(const fold *f);
// A settled text without what its run was given: names, uids and times of its objects, the address
// of its cluster, what its image store had before. Lines are sorted, and of blanks one is left: a
// cluster's events come in any order.
void compare_given(const char *text, const fold *f, buf *out);
bool compare_is_of_cluster(const struct output *o); // a list of objects, as they were then
