// SPDX-License-Identifier: MIT
// Compiles a cell so that it returns the value of its last expression, as notebooks show it.
//
// In Lua only calls can be statements. So we look for the shortest tail of whole lines that
// compiles as an expression, behind lines that compile by themselves. It is assigned to a variable
// that the chunk returns. Line numbers stay right, and the cell keeps its frame in tracebacks
// (`return f()` would be a tail call, without a frame).
#pragma once
#include <lua.h>

// Pushes the function, or a message; returns lua_load's status. The first line of `source` has the
// number 1 + skipped.
int lastvalue_load(lua_State *L, const char *source, int skipped, const char *chunk);
