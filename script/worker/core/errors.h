// SPDX-License-Identifier: MIT
// What errors say of places and names: the line of the user's file, not that of a Lua part of our
// own, and the names that there are. Private to script/worker.
#pragma once
#include "base/err.h"
#include "script/embed.h"

#include <lauxlib.h>
#include <lua.h>

extern const struct lua_source worker_sources[]; // the Lua parts

// Raises e's text, with the line of the file that has called us.
_Noreturn void raise_err(lua_State *L, const err *e);
// The message at index `at` names that line instead of one in a Lua part of our own, if it does.
void name_line(lua_State *L, int at);
// A message handler: as name_line, and a message of our own without a place gets the line of the
// file that has called us.
int place_error(lua_State *L);
// From now on pcall and xpcall of Lua do that, too.
void open_errors(lua_State *L);
// Pushes the table's names, sorted: "a, b, c".
const char *push_known(lua_State *L, int table);
// Raises `WHAT has no 'NAME'` (what: "a model"), followed by keras.lua's hint if it has one for key
// and name, else by the nearest name and, unless it is too long, the list of names in the table.
_Noreturn void no_such_name(
    lua_State *L, const char *what, const char *key, const char *name, int table);
// Pushes a copy of the table that has these names, too; NULL at their end.
void add_names(lua_State *L, int table, const char *const *names);
// Pushes what keras.lua says of the name, or nil.
void push_hint(lua_State *L, const char *key, const char *name, int table);
// inner.is_asked_by_file() → is the metamethod that calls this asked by a file's code? Else it is
// us, who look which fields there are.
int lua_is_asked_by_file(lua_State *L);
// inner.hint(key, name, table) → text or nil
int lua_hint(lua_State *L);
// inner.no_such_name(what, key, name, table)
int lua_no_such_name(lua_State *L);
// Pushes the name in the table that may have been meant by the word; NULL: nil was pushed.
const char *push_nearest(lua_State *L, const char *word, int table);
// inner.nearest(word, table) → the name in the table that may have been meant, or nil
int lua_nearest(lua_State *L);
