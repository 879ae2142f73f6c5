// SPDX-License-Identifier: MIT
// Packs Lua values into bytes and back: the driver sends functions with their upvalues to ranks,
// and data is sent everywhere. Strings may be binary. Shared values stay shared, also in cycles.
//
//   value   n nil · f false · t true · i int64 · d double · s string · R seen object
//           T table: metatable or n, pairs, e · F function: bytecode, upvalues · X tensor · C model
//           M by name: a module, or a field of one · E the globals
//   upvalue U new cell, value · V seen cell
//   Data has no F, M, E and no metatable: nothing in it can run, whoever made the bytes.
//   Objects (T, F, X, C) and cells count from 0 in the order in which they appear. Lengths are 4
//   bytes, all numbers little-endian.
#pragma once
#include "base/buf.h"
#include "base/err.h"

#include <lua.h>

enum { PACK_DEPTH_MAX = 180 }; // how deep tables and functions may be nested

// Remembers the present globals: every process has these. The script's own globals come later.
void pack_remember_globals(lua_State *L);
// Pushes a list of the globals added since.
void pack_push_own_globals(lua_State *L);

// What may be sent. The driver sends functions to its ranks. Results, and what ranks send each
// other, are data: nil, booleans, numbers, strings, tables, tensors, models.
enum pack_mode { PACK_DATA, PACK_FUNCTIONS };

// Packs the n values from `first`. ERR_USAGE names a value that cannot be sent, and its place,
// using the values' names (NULL: their numbers).
int pack_values(lua_State *L, int first, int n, enum pack_mode mode, const char *const *names,
    buf *out, err *e);
// Pushes the values; returns how many, or -1 with e and nothing pushed. ERR_INVALID names a value
// that is not data where only data is allowed.
int unpack_values(lua_State *L, const void *bytes, size_t n, enum pack_mode mode, err *e);
