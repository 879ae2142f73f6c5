// SPDX-License-Identifier: MIT
// The fields of a fold, shared by the files of the fold and by replay.c. No other file includes
// this.
#pragma once
#include "base/data/hashmap.h"
#include "base/json/rowset.h"
#include "script/journal/fold/fold.h"

// A training's display: its epochs, and its evaluation.
#define PROGRESS "application/vnd.firesteel.progress+json"

struct metric_series {
    char *cell, *name, *child, *branch; // child NULL: the run's own; branch NULL: of the cell
                                        // itself, or of the child's branch
    struct metric_point *points;
    size_t n, cap;
    unsigned age;
};

// A trial or a measurement: what its branch of the cell records belongs to it.
struct fold_child {
    char *name, *cell, *branch;
    cJSON *value;           // the last record: {state, of, …}
    cJSON *recorded;        // as the fold's
    int64_t started, ended; // wall ns, of its first and last record
};

// What one cell sets a global to.
struct fold_own {
    char *cell, *digest;
    uint64_t changed; // seq of the last change to another value
};
struct fold_global {
    char *name, *digest; // of its value; "": it has none
    char *cell;          // the cell that changed it last
    uint64_t changed;    // seq
    struct fold_own *own;
    size_t n_own;
    hashmap *by_cell; // places in own
};
// NULL: this cell does not set it.
const struct fold_own *fold_own_of(const struct fold_global *g, const char *id);

// fold_copy.c copies each of them.
struct fold {
    char *run;
    notebook *nb, *expected;  // expected: see fold_expect; or NULL
    cJSON *first;             // the "run" record
    cJSON *resumed, *cluster; // the last record of each type; or NULL
    cJSON *params;            // parameters that cells have set since the last start; NULL: none
    cJSON *said;              // what they become when the running cell passes; or NULL
    bool narrowed;            // it is a child of the run
    enum run_state state;
    int exit;
    char *message;
    struct output error; // error of the run as a whole; its kind is OUTPUT_ERROR if there is one
    bool has_error;
    int64_t started, last;         // wall ns
    int64_t mono_start, mono_last; // of the current kernel
    int64_t earlier;               // ns that earlier kernels ran
    uint64_t seq, turns;
    size_t corrupt;
    size_t rows_most; // the most rows of a table; 0: all of a bundle, and ROWSET_TABLE of those
                      // added later
    // In the document's order; after these, cells that are known only from events; last, cells that
    // have left the document but have outputs.
    struct run_cell *cells;
    size_t n_cells, n_gone;
    size_t in_state[STATE_STALE + 1]; // how many of n_cells are
    char *running;                    // id of the cell that last began to run; NULL: none did
    hashmap *by_id;                   // index of a cell in `cells`
    hashmap *by_display;              // index of the cell that has the display with this id
    struct ledger_entry *ledger;
    size_t n_ledger;
    // metrics, params, tags and artifacts by name: {cell, value}; metrics also have step, n, min,
    // max
    cJSON *learned;               // {git, cluster}: what "learned" events said; or NULL
    cJSON *recorded;              // NULL: nothing was recorded
    cJSON *branches;              // {cell: {branch: the same}}; NULL: no branch recorded anything
    struct metric_series *series; // every value of run.metric
    size_t n_series;
    hashmap *by_series;
    struct fold_child *children;
    size_t n_children;
    hashmap *by_branch;          // index in `children`; NULL: none
    cJSON *past_children;        // of earlier kernels; NULL: none
    struct fold_global *globals; // globals that cells have set
    size_t n_globals;
    hashmap *by_global; // by name; NULL: none
    size_t *fields;     // indices in `globals` of fields of the library
    size_t n_fields;
};

// The first adds a "recorded" event; the second drops a cell's records when it runs again.
int fold_record(fold *f, const cJSON *record, err *e);
// Compares two branches of a cell (NULL: the cell itself) by whose value counts more.
int fold_branch_order(const char *a, const char *b);
int fold_learn(fold *f, const cJSON *record, err *e); // a "learned" event
void fold_forget_recorded(fold *f, const char *id);
struct metric_of {
    const char *cell, *child, *branch, *name; // child, branch NULL: none
};
void fold_add_point(fold *f, const struct metric_of *of, struct metric_point point);
void fold_index_series(fold *f, size_t at);
void fold_forget_points(fold *f, const char *id); // NULL: of all cells
void fold_free_points(fold *f);
// fold_children.c: a "recorded" event of a child; the child that a branch belongs to, NULL: none; a
// cell (NULL: each) runs again: drops its children, or keeps them for a resume.
int fold_add_child(fold *f, const cJSON *record, err *e);
struct fold_child *fold_child_of(const fold *f, const char *id, const char *branch);
const struct fold_child *fold_child_named(const fold *f, const char *name); // NULL: none
void fold_forget_children(fold *f, const char *id);
void fold_keep_past_children(fold *f, const char *id);
void fold_copy_children(fold *f, const fold *from);
void fold_free_children(fold *f);
// {params, metrics, tags, artifacts}, new.
cJSON *fold_child_results(const fold *f, const struct fold_child *c);
void fold_note_writes(fold *f, const struct run_cell *c); // the cell has ended
// The same as fold_moved, as if cells always ran from the top: ignores later cells.
const char *fold_moved_above(const fold *f, const struct run_cell *c);
bool fold_names(const cJSON *ids, const char *id); // is it one of these texts?
// Is it a field of a library table ("string.trim"), not a global?
bool fold_is_field(const char *name);
// The word that code uses for a global: for a field of the library, "string.trim", it is "trim",
// since it may be called as a method.
const char *fold_field(const char *name);
// Does the cell's source contain the word of this library field ("trim" of "string.trim")? The
// journal does not record reads of library fields, so the text is searched.
bool fold_uses_field(const fold *f, const struct run_cell *c, const char *name);
void fold_free_globals(fold *f);
void fold_copy_globals(fold *f, const fold *from);
// fold_params.c: a cell begins to run, and has passed; does it set parameters?
void fold_begin_params(fold *f, const char *id);
void fold_take_params(fold *f, const char *id);
bool fold_gives_params(const fold *f, const char *id);
// fold_left.c: the cell with this id, if it has ended by itself; and the files that cells have
// left, new: [{name, cell, sha256 or mtime, size}]. If a later cell overwrote a file, its entry
// follows the earlier one.
const struct run_cell *fold_ended(const fold *f, const char *id);
cJSON *fold_left(const fold *f);
// fold_copy.c: an independent copy of the state; and about how many bytes one takes.
fold *fold_copy(const fold *from);
size_t fold_weight(const fold *f);
void fold_clear_outputs(fold *f, struct run_cell *c);
void fold_output_done(struct output *o);
void fold_ledger_done(struct ledger_entry *l);
void fold_cell_done(struct run_cell *c);
struct run_cell *fold_find_cell(const fold *f, const char *id);
struct output *fold_find_display(const fold *f, int64_t id);
