// SPDX-License-Identifier: MIT
// What the top of a report says of a run, for its HTML page and for Markdown: read from the fold,
// owned by the caller.
#pragma once
#include "base/json.h"
#include "script/journal/fold.h"

// All that the journal tells of how the run was made, {name: text, …} in the order in which it is
// to be shown: when, where, of what, with what versions, on which cluster. New.
cJSON *page_record(const fold *f);
// What the page is called: the notebook's first heading, else its file's name. New.
char *page_title(const fold *f);
// "3 of 5 cells passed, 1 failed, 1 interrupted, 1 not run". New.
char *page_count(const fold *f);
// Has the cell begun, and not come to an end of its own?
bool page_is_begun(const struct run_cell *c);
// What such cells of the run are: "running", "killed" or "interrupted".
const char *page_begun(const fold *f);
// What became of a cell: its state; "not run" if it never was; "killed" if it ran when the run was.
const char *page_cell_state(const fold *f, size_t i);
// The when= that left the cell out, after it was reached or in a run of all cells: NULL, or
// borrowed.
const char *page_left_out(const fold *f, const char *id);
// Why the run ended as it did, where that is not in a cell's error: NULL, or borrowed.
const char *page_reason(const fold *f);
