// SPDX-License-Identifier: MIT
// Compares two runs: how they differ, and whether one reproduced the other. Folds are borrowed;
// JSON that is returned is new.
#pragma once
#include "base/buf.h"
#include "base/json/json.h"
#include "script/journal/fold/fold.h"

// A run, and where its spooled outputs are.
struct compared {
    const fold *fold;
    const char *spool_dir;
};

// Only what differs:
//   {a, b = {run, state, started, seconds, notebook},
//    params, tags, metrics, artifacts, inputs, images, environment, versions, origin
//      = {name = {a =, b =}}, for metrics also `change`, b − a; a side without it is missing
//    cells = [{title, change = "source" | "added" | "removed", diff}]
//    states, outputs = [{title, a, b}], [{title, diff}] (of a branch "TITLE: BRANCH")
//    causes = {metric = …} (compare_causes)
//    durations = [{title, a, b}], in seconds, of all cells that both ran
//    same: is everything computed equal (durations, machine and command may differ)?}
cJSON *compare_runs(const struct compared *a, const struct compared *b);
// The same for people, as lines.
void compare_print(const cJSON *difference, buf *out);

// A value of it as people read it, new: of a digest 12 digits; "(none)" for NULL.
char *compare_value_text(const cJSON *value);

// For each metric that has moved, by name: {cell, earliest, all = ["parameter lr", …]}: the changes
// that reach it through the reads that cells recorded; or {unknown = "why"}. Without `earliest`, no
// recorded change reaches it.
cJSON *compare_causes(const struct compared *a, const struct compared *b, const cJSON *difference);

// Whether run b reproduced a: {a, b (names), equal, within, moved, unknown (numbers of results),
// results = [{what = "metric" | "artifact" | "output" | "display" | "cell", name, verdict, a, b,
// diff, tolerance, why}]}. "within": numbers differ by at most their cell's `tolerance`; "unknown":
// cannot be compared.
cJSON *compare_again(const struct compared *a, const struct compared *b);
void compare_again_print(const cJSON *again, buf *out);

// Matches the cells of two documents: by id; else by title; else by position between matched cells.
// Cells that given parameters have added match nothing. partner[i]: the index in b, or SIZE_MAX;
// new, for each cell of a.
size_t *compare_match(const notebook *a, const notebook *b);
// Two runs whose cells have been matched.
struct paired {
    const fold *a, *b;
    const size_t *partner; // of a's cells
};
// The "metrics" or "artifacts" of one run, new: {name: as in fold_results, and the id of its cell}.
// Those of a cell's branch are named "NAME of TITLE: BRANCH", with a's title.
cJSON *compare_recorded(const struct paired *p, const fold *f, const char *list);
// Branches run concurrently, so the order of their outputs means nothing: a cell's outputs are
// compared branch by branch. Returns the names of the branches with outputs in either run, sorted,
// and first "" for the cell itself; new (strv_free).
char **compare_branches(const struct run_cell *a, const struct run_cell *b);
bool compare_is_of(const struct output *o, const char *branch);
// "TITLE", "TITLE: BRANCH"; new.
char *compare_branch_title(const char *title, const char *branch);
bool compare_is_progress(const struct output *o); // a training's display
// The outputs of a cell's branch, as text; progress comes last.
void compare_output(
    const struct compared *run, const struct run_cell *c, const char *branch, buf *out);
// The same without text that differs in each run and means nothing: durations, addresses, the run's
// own name, whether a file cell found its file. run: the name, or NULL.
void compare_settle(const char *text, const char *run, buf *out);
// Has the run made something on a cluster?
bool compare_has_cluster(const fold *f);
// That text without what the cluster gave the run: names, uids and times of its objects, the
// address of its cluster, what its image store had before. Lines are sorted, and runs of blanks
// become one: a cluster's events come in any order.
void compare_given(const char *text, const fold *f, buf *out);
bool compare_is_of_cluster(const struct output *o); // a list of objects at that time
