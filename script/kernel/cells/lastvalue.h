// SPDX-License-Identifier: MIT
// Compiles a cell so that it returns the values of its last expression, as notebooks show them.
//
// In Lua only calls can be statements. So we look for the shortest tail of whole lines that
// compiles as a list of expressions, or is a `return` with one, behind lines that compile by
// themselves. The list becomes a table in a variable that the chunk returns; a field tells it
// from what an earlier `return` returns. Line numbers stay right, and the cell keeps its frame in
// tracebacks (`return f()` is a tail call, without a frame).
#pragma once
#include <lua.h>
#include <stdbool.h>

// Pushes the function, or a message; returns lua_load's status. The first line of `source` has the
// number 1 + skipped.
int lastvalue_load(lua_State *L, const char *source, int skipped, const char *chunk);
// The same to see whether it compiles: the function may return nothing.
int lastvalue_check(lua_State *L, const char *source, int skipped, const char *chunk);
// Calls that function, and leaves the values in its place; returns how many. A nil at the end of a
// list counts for nothing. Raises what the cell raises.
int lastvalue_call(lua_State *L);
// Is the function at this level (lua_getstack) a cell, and what it calls now its last expression as
// a whole? Then nobody but the display gets the values.
bool lastvalue_is_shown(lua_State *L, int level);
