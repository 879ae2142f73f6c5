// SPDX-License-Identifier: MIT
// The top of a run's report, for its HTML page and for Markdown: read from the fold, owned by the
// caller.
#pragma once
#include "base/json/json.h"
#include "script/journal/fold/fold.h"

// How the run was made, {name: text, …} in the order in which it should be shown: when, where, of
// what, with which versions, on which cluster. New.
cJSON *page_record(const fold *f);
// The page's title: the notebook's first heading, else its file's name. New.
char *page_title(const fold *f);
// "3 of 5 cells passed, 1 failed, 1 interrupted, 1 not run". New.
char *page_count(const fold *f);
// Has the cell begun, but not ended by itself?
bool page_is_begun(const struct run_cell *c);
// The word for such cells of the run: "running", "killed" or "interrupted".
const char *page_begun(const fold *f);
// The result of a cell: its state; "not run" if it never ran; "killed" if it was running when the
// run was killed.
const char *page_cell_state(const fold *f, size_t i);
// The when= that kept a cell from running, if the run reached it or ran all cells: NULL, or
// borrowed.
const char *page_left_out(const fold *f, const char *id);
// Why the run ended, if no cell's error says so: NULL, or borrowed.
const char *page_reason(const fold *f);
