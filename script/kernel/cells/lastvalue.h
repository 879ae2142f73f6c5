// SPDX-License-Identifier: MIT
// Compiles a cell so that it returns the value of its last expression, as notebooks show it.
//
// Lua has no expression statements but calls. So the end of the source is tried: the shortest tail
// of whole lines that reads as an expression, behind lines that compile by themselves, is assigned
// to a variable that the chunk returns. Line numbers stay, and the frame of the cell stays in
// tracebacks (a `return f()` would be a tail call, which loses it).
#pragma once
#include <lua.h>

// Pushes the function, or a message; returns lua_load's status. Line 1 of `source` is numbered 1 +
// skipped.
int lastvalue_load(lua_State *L, const char *source, int skipped, const char *chunk);
