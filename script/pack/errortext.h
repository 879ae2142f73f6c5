// SPDX-License-Identifier: MIT
// The text of an error value in Lua, for every program that runs Lua: a string or a number as it
// is; the result of its __tostring; else "(the error is a table)". __tostring is the user's code:
// if it raises, or returns something else than a string, that is not an error of ours. The caller
// owns the state and the text.
#pragma once
#include "base/buf.h"
#include "base/err.h"

#include <lua.h>

// Appends it for the value at `index`. Raises nothing and leaves the stack as it was, so it may be
// called without protection.
void error_text(lua_State *L, int index, buf *out);
// Sets e to the text of the value on top of the stack, and pops the value; returns -1.
int error_take(lua_State *L, err_code code, err *e);
// Pushes the text. For message handlers and other protected code: it may raise "not enough memory".
const char *error_push(lua_State *L, int index);
