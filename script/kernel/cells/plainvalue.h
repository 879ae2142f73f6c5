// SPDX-License-Identifier: MIT
// The text of a plain value: of a number, a text, a boolean, a small table of such, or a
// result of sh and the like. Equal values
// have the same text, whatever the order in which a table was filled.
#pragma once
#include "base/buf.h"

#include <lua.h>
#include <stdbool.h>

// Adds the text of the value at an index. false: it is no plain value (a function, a table with a
// metatable, one that contains itself), or is larger than `most` bytes; what was added means
// nothing then. It raises no error.
bool plainvalue_add(lua_State *L, int index, size_t most, buf *out);
