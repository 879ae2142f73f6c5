// SPDX-License-Identifier: MIT
// A function that runs on ranks, whoever has packed it: hvd.run of a trainer file, or a cell's.
// Both push a list that has for each rank a table {n =, …} of what the function returned, or raise.
#pragma once
#include "script/worker/core/state.h"

// Here, without MPI, as if one rank had been started for it. fn, args: places on the stack; args is
// a list or nil.
void job_run_here(lua_State *L, worker *w, int fn, int args);
// On np ranks. packed: fn, args, arg, names of the script's own globals; it is freed. elastic NULL:
// all ranks are needed to the end.
void job_run_ranks(lua_State *L, worker *w, int np, buf *packed, int64_t start_timeout,
    const struct elastic_options *elastic);
// Reads the options of an elastic job from the table of hvd.run, and from the environment what is
// not there; NULL: it is none.
const struct elastic_options *job_elastic(
    lua_State *L, const worker *w, int table, int np, struct elastic_options *o);
