// SPDX-License-Identifier: MIT
// Runs of the working folder, read from their journals, for cells.
#pragma once
#include <lua.h>

// runs(names or nil, last) → { {run, state, params, metrics, …}, … } as in
// script/journal/runs/runs.h: the runs with these names, or the `last` newest that have ended,
// newest first.
int pastruns(lua_State *L);
// lineage() → this run as lineage_of returns it (script/journal/runs/lineage.h).
int pastruns_own(lua_State *L);
