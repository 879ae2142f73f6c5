// SPDX-License-Identifier: MIT
// The text of what Lua code has raised, for every program that runs Lua: a string or a number as it
// is; what its __tostring says; else "(the error is a table)". __tostring is the user's code: what
// it raises, and what it returns instead of a string, is never an error of ours. The caller owns
// the state and the text.
#pragma once
#include "base/buf.h"
#include "base/err.h"

#include <lua.h>

// Appends it for the value at `index`. Raises nothing, and leaves the stack as it was, so it may be
// called where nothing protects.
void error_text(lua_State *L, int index, buf *out);
// Sets e to the text of the value on top of the stack, and removes that; returns -1.
int error_take(lua_State *L, err_code code, err *e);
// Pushes the text. For message handlers and other protected code: it may raise "not enough memory".
const char *error_push(lua_State *L, int index);
