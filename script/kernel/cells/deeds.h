// SPDX-License-Identifier: MIT
// What a cell owes: functions that are called before it ends, whatever ends it. Most are settled by
// the cell's own code (script/lib/deeds.lua keeps them); the others are called here when that is
// through, or was stopped, in the time that was named for them. It belongs to the interpreter.
#pragma once
#include "script/kernel/cells/execution.h"

#include <lua.h>

struct interp;

// On the Lua thread. Adds `owing` to the table on top.
void deeds_open(lua_State *L);
// A cell begins: it owes nothing.
void deeds_forget(struct interp *in);
// The cell's own code and its branches are through: does what it owes. A turn that was stopped goes
// on for that, with a deadline of its own; another stop ends it.
void deeds_do(struct interp *in, execution *x);
