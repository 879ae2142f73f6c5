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
#include "base/json/json.h"

#include <lua.h>
#include <stdbool.h>

// Does not raise. Returns NULL with ERR_USAGE that names the place,
// "args.spec[2]: a function is not JSON".
cJSON *luajson_read(lua_State *L, int index, err *e);
// The same for JSON that others read: a list with holes such as {1, nil, 3} is an error, because it
// would become an object with the keys "1" and "3".
cJSON *luajson_read_strict(lua_State *L, int index, err *e);
// Pushes a value. Raises only when memory runs out; the tree still belongs to its owner then.
// Leaves out null members of objects; luajson_push_whole keeps them, as the library's null.
void luajson_push(lua_State *L, const cJSON *j);
void luajson_push_whole(lua_State *L, const cJSON *j);
// Was the table at this index marked as an array?
bool luajson_is_array(lua_State *L, int index);
// Is the table at this index a result of csv.decode? That is an array, even if it is empty.
bool luajson_is_rows(lua_State *L, int index);
// Marks the table on top of the stack as an array.
void luajson_mark_array(lua_State *L);
// Pushes a box for a malloc'ed text; Lua frees the text with the box. Pushing the text itself may
// raise, so: make the box, put the text into it, then push the text.
char **luajson_box(lua_State *L);
