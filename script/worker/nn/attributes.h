// SPDX-License-Identifier: MIT
// Objects in Lua, by what trainer/declared/attribute.h declares of them: which options their
// classes have, and what is in an object. Private to script/worker.
#pragma once
#include "trainer/declared/attribute.h"

#include <lauxlib.h>
#include <lua.h>

// Pushes {name =, other =, order = {"units", …}, rest =, fields = {units = "integer", …},
// defaults = {rate = 0, …}}, for a class; defaults are those of numbers.
void push_class(lua_State *L, const declaration *d);
// Adds an option to that table at index `class`.
void add_class_field(lua_State *L, int class, const char *name, const char *type);
// What the object at `table` says, as a struct. Raises "NAME: units must be positive, got 0". The
// table at `kept` keeps lists of numbers as long as they are used.
void read_attributes(lua_State *L, int table, const declaration *d, int kept, void *own);
// Pushes a table that has what read_attributes reads: numbers, and what is true.
void push_attributes(lua_State *L, const declaration *d, const void *own);
// A list of sizes at the field: how many, -1 when there is none. -1 in it (a size to be found)
// becomes 0 where `open` allows it.
int read_sizes(
    lua_State *L, int table, const char *what, const char *field, size_t *out, int most, bool open);
