// SPDX-License-Identifier: MIT
// Lua values to JSON trees and back. Nothing is kept; a new tree is the caller's.
//
//   nil, firesteel.null <-> null     (null in an object reads as an absent key, else as
//   firesteel.null) integer, float      <-> number   (64-bit integers survive; NaN and infinities
//   are errors) {1, 2}, array{}     <-> array    (marked by metatable when it came from JSON, so
//   that [] survives) other tables        <-> object   (keys are strings; a cycle or a function in
//   it is an error with its path)
#pragma once
#include "base/err.h"
#include "base/json.h"

#include <lua.h>

// Does not raise. NULL and ERR_USAGE naming the place, "args.spec[2]: a function is not JSON".
cJSON *luajson_read(lua_State *L, int index, err *e);
// Pushes a value. Raises only when memory runs out; then the tree still is its holder's.
void luajson_push(lua_State *L, const cJSON *j);
// Marks the table on top of the stack as an array.
void luajson_mark_array(lua_State *L);
// Pushes a value that holds a text of malloc and frees it when Lua collects it, so that pushing the
// text may raise: make the box, then the text in it, then push that.
char **luajson_box(lua_State *L);
