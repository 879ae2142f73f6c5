// SPDX-License-Identifier: MIT
// What errors say of places and names: the line of the user's file, not that of a Lua part of our
// own, and the names that there are. Private to script/worker.
#pragma once
#include "base/err.h"
#include "script/embed.h"

#include <lauxlib.h>
#include <lua.h>

extern const struct lua_source worker_sources[]; // the Lua parts

// Raises e's text, with the line of the file that has called us.
_Noreturn void raise_err(lua_State *L, const err *e);
// The message at index `at` names that line instead of one in a Lua part of our own, if it does.
void name_line(lua_State *L, int at);
// Pushes the table's names, sorted: "a, b, c".
const char *push_known(lua_State *L, int table);
// inner.nearest(word, table) → the name in the table that may have been meant, or nil
int lua_nearest(lua_State *L);
