// SPDX-License-Identifier: MIT
// The first trap of a notebook in Lua: a cell is a function, so what it makes `local` at its top
// ends with it. Which names of a cell are those of such locals of an earlier one? Nothing is run.
#pragma once
#include "base/json/json.h"
#include "script/notebook/faults.h"

// {"rate": {"where": "cell 1 (Make), line 1", "line": 3}}, new: the names that cell i uses as
// globals (line: where first), that an earlier cell has as a local at its top, and that no cell
// makes a global. NULL: there are none.
cJSON *locals_lost(const notebook *nb, size_t i);
// What is to be said of one: "rate is a local of cell 1 (Make), line 1, and ends with it: …"; new.
char *locals_words(const char *name, const cJSON *lost);
// Adds a warning for each name that locals_lost finds. wanted: the cells; NULL: all.
void locals_check(const notebook *nb, const bool *wanted, struct faults *out);
