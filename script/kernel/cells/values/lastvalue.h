// SPDX-License-Identifier: MIT
// Compiles a cell so that it returns the values of its last expression, as notebooks show them.
// In Lua only calls can be statements. So we look for the shortest tail of whole lines that
// compiles as a list of expressions, or is a `return` with one, after lines that compile by
// themselves. The list becomes a table in a variable that the chunk returns; a field distinguishes
// it from what an earlier `return` returns. Line numbers stay right, and the cell keeps its frame
// in tracebacks (`return f()` would be a tail call, without a frame).
#pragma once
#include <lua.h>
#include <stdbool.h>

// Pushes the function, or a message; returns lua_load's status. The first line of `source` has the
// number 1 + skipped.
int lastvalue_load(lua_State *L, const char *source, int skipped, const char *chunk);
// The same only to check whether it compiles: the function may return nothing.
int lastvalue_check(lua_State *L, const char *source, int skipped, const char *chunk);
// Calls that function, and leaves the values in its place; returns their number. Nils at the end of
// a list are dropped. Raises what the cell raises.
int lastvalue_call(lua_State *L);
// Is the function at this level (lua_getstack) a cell whose last expression is the call that now
// runs? Then only the display gets its values.
bool lastvalue_is_shown(lua_State *L, int level);
