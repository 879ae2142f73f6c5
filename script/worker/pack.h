// SPDX-License-Identifier: MIT
// Lua values as bytes and back, so that functions, their upvalues and results travel between driver
// and ranks. Strings may be binary; tables and functions may be shared and may form cycles.
//
//   value   n nil · f false · t true · i int64 · d double · s string · R seen object
//           T table: metatable or n, pairs, e · F function: bytecode, upvalues · X tensor · C model
//           M by name: a module, or a field of one · E the globals
//   upvalue U new cell, value · V seen cell
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

// Packs the n values from `first`. ERR_USAGE names what cannot travel, and where it is, by the
// names of the values (NULL: by their number).
int pack_values(lua_State *L, int first, int n, const char *const *names, buf *out, err *e);
// Pushes the values; returns how many, or -1 with e and nothing pushed. Bytecode is only believed
// when `trusted`: who sent it has proved the job's secret.
int unpack_values(lua_State *L, const void *bytes, size_t n, bool trusted, err *e);
