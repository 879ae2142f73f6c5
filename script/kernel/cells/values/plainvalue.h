// SPDX-License-Identifier: MIT
// The text of a plain value: a number, a text, a boolean, a small table of these, or a result of sh
// and the like. Equal values have the same text, in whatever order a table was filled.
#pragma once
#include "base/buf.h"

#include <lua.h>
#include <stdbool.h>

// Appends the text of the value at an index. Returns false if it is not a plain value (a function,
// a table with a metatable, one that contains itself), or has more than `most` bytes; then ignore
// what was appended. Raises no error.
bool plainvalue_add(lua_State *L, int index, size_t most, buf *out);
