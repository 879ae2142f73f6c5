// SPDX-License-Identifier: MIT
// What fold.c and fold_events.c share: the fold's fields. Nobody else includes it.
#pragma once
#include "base/hashmap.h"
#include "base/rowset.h"
#include "script/journal/fold.h"

struct fold {
    char *run;
    notebook *nb;
    cJSON *first;             // the "run" record
    cJSON *resumed, *cluster; // the last of each; or NULL
    enum run_state state;
    int exit;
    char *message;
    struct output error; // of the run as a whole; kind OUTPUT_ERROR when there is one
    bool has_error;
    int64_t started, last;         // wall ns
    int64_t mono_start, mono_last; // of the present kernel
    int64_t earlier;               // ns that earlier kernels ran
    uint64_t seq;
    size_t corrupt;
    // In the document's order; cells that only events know stand behind them, and behind these
    // those that have left the document with something below them.
    struct run_cell *cells;
    size_t n_cells, n_gone;
    hashmap *by_id;      // index of a cell in `cells`
    hashmap *by_display; // index of the cell that a display's id is in
    struct ledger_entry *ledger;
    size_t n_ledger;
};

void fold_clear_outputs(fold *f, struct run_cell *c);
void fold_output_done(struct output *o);
void fold_cell_done(struct run_cell *c);
struct run_cell *fold_find_cell(const fold *f, const char *id);
struct output *fold_find_display(const fold *f, int64_t id);
