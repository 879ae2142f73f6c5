// SPDX-License-Identifier: MIT
// Lua values as bytes and back, so that functions with their upvalues travel from the driver to
// ranks, and data travels everywhere. Strings may be binary; what is shared stays shared, cycles
// too.
//
//   value   n nil · f false · t true · i int64 · d double · s string · R seen object
//           T table: metatable or n, pairs, e · F function: bytecode, upvalues · X tensor · C model
//           M by name: a module, or a field of one · E the globals
//   upvalue U new cell, value · V seen cell
//   Data has none of F, M, E and no metatable: nothing in it runs, whoever made the bytes.
//   Objects (T, F, X, C) and cells count from 0 in the order in which they appear. Lengths are 4
//   bytes, all numbers little-endian.
#pragma once
#include "base/buf.h"
#include "base/err.h"

#include <lua.h>

enum { PACK_DEPTH_MAX = 180 }; // of tables and functions in each other

// Remembers which globals every process has: those that are there now. What a script adds is its
// own.
void pack_remember_globals(lua_State *L);
// Pushes a list of the names that were added since.
void pack_push_own_globals(lua_State *L);

// What may travel: functions only from the driver to its ranks; results, and what ranks send each
// other, are data: nil, booleans, numbers, strings, tables, tensors, models.
enum pack_mode { PACK_DATA, PACK_FUNCTIONS };

// Packs the n values from `first`. ERR_USAGE names what cannot travel, and where it is, by the
// names of the values (NULL: by their number).
int pack_values(lua_State *L, int first, int n, enum pack_mode mode, const char *const *names,
    buf *out, err *e);
// Pushes the values; returns how many, or -1 with e and nothing pushed. ERR_INVALID names what is
// not data when it must be.
int unpack_values(lua_State *L, const void *bytes, size_t n, enum pack_mode mode, err *e);
