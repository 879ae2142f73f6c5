// SPDX-License-Identifier: MIT
// Deferred functions of a cell, which are called before it ends, however it ends. The cell's own
// code calls most of them (script/api/core/deeds.lua keeps the list). The rest is called here after
// that code has ended or was stopped, within the time that was given for them. It belongs to the
// interpreter.
#pragma once
#include "script/kernel/cells/execution.h"

#include <lua.h>

struct interp;

// On the Lua thread. Adds `owing` to the table on top.
void deeds_open(lua_State *L);
// A cell begins: it owes nothing.
void deeds_forget(struct interp *in);
// Call it when the cell's own code and its branches have ended: calls the deferred functions. A
// turn that was stopped continues for them with a deadline of its own; another stop ends it.
void deeds_do(struct interp *in, execution *x);
