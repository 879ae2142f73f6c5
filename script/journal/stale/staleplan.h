// SPDX-License-Identifier: MIT
// What `run --stale` does with a notebook: which cells run anew, which run only to rebuild values
// for these, and which stay as recorded.
#pragma once
#include "script/journal/fold/fold.h"

// An array with an object for each code cell of the notebook: {cell: id, title, does, why}; new.
// does:
// "anew"    it is stale: it runs, and its effects are done again
// "rebuild" it is valid, and runs for its globals; its effects are verified, not repeated
// "verify"  it is valid if what it made elsewhere still exists, which is checked in the same way
// "keep"    it does not run
// The notebook is as it would run now, with the ids of the run's cells (notebook_adopt_ids).
// outside: the result of outside_look; params: {name: value}, the present ones.
cJSON *stale_plan(const fold *f, const notebook *now, const cJSON *outside, const cJSON *params);
// How many cells of a plan do that.
size_t stale_plan_count(const cJSON *plan, const char *does);
