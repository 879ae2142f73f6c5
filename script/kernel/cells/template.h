// SPDX-License-Identifier: MIT
// Replaces ${lua expression} in a text by its value. "$${" is a literal "${"; everything else
// stays.
#pragma once
#include <lua.h>

// Pushes the filled-in text. Strings, numbers and booleans appear as printed, tables as JSON on one
// line. Raises "chunk:LINE: …" for an expression that does not compile, fails, or is nil; LINE
// counts from 1 + skipped.
void template_fill(lua_State *L, const char *text, int skipped, const char *chunk);
// Raises the same for the first expression that does not compile; evaluates none.
void template_check(lua_State *L, const char *text, int skipped, const char *chunk);
