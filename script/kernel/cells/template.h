// SPDX-License-Identifier: MIT
// Fills ${lua expression} into a text. "$${" is a literal "${"; everything else stays as it is.
#pragma once
#include <lua.h>

// Pushes the filled-in text. Values: strings, numbers and booleans as they print, tables as JSON on
// one line. Raises "chunk:LINE: …" for an expression that does not compile, fails, or is nil; LINE
// counts from 1 + skipped.
void template_fill(lua_State *L, const char *text, int skipped, const char *chunk);
