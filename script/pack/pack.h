// SPDX-License-Identifier: MIT
// Packs Lua values into bytes and back: a function is sent with its upvalues from a cell, or from
// the driver, to ranks; data is sent in all directions. Strings may be binary. Shared values stay
// shared, also in cycles. The same values give the same bytes.
//   value   n nil · f false · t true · i int64 · d double · s string · R seen object
//           T table: metatable or n, pairs, e · F function: bytecode, upvalues
//           M by name: a module, or a field of one · E the globals · others: a program's own kinds
//   upvalue U new cell, value · V seen cell
//   global  G name, value: after the values, those of the sender's globals that functions read
//   Data has no F, M, E, G and no metatable: nothing in it can run, whoever made the bytes.
//   A table whose metatable has __plain = true is sent as a table without one.
//   Objects (T, F, own kinds) and cells count from 0 in the order in which they appear. Lengths are
//   4 bytes, all numbers little-endian.
#pragma once
#include "base/buf.h"
#include "base/err.h"

#include <lua.h>
#include <stdbool.h>

enum { PACK_DEPTH_MAX = 180 }; // how deep tables and functions may be nested

struct packer;
struct unpacker;

enum pack_verdict {
    PACK_TRAVELS,
    PACK_PLAIN, // the table is sent without its metatable
    PACK_STAYS, // it cannot; a text that says what it is was pushed: "a handle of a Job"
};

// What a program can send besides Lua's own values. Its functions run inside lua_pcall and may
// raise. Each may be NULL.
struct pack_ops {
    // Writes a userdata, its kind (a free letter) first, with pack_kind, pack_number and
    // pack_bytes; false: it cannot be sent.
    bool (*put)(lua_State *L, struct packer *p, int index);
    // Pushes a value of this kind; false: the program has no such kind.
    bool (*get)(lua_State *L, struct unpacker *u, char kind);
    // Does the receiver have this module, too? NULL: it has all.
    bool (*shares)(const char *module);
    // Decides about objects that were not packed before and have no known name.
    enum pack_verdict (*judge)(lua_State *L, int index);
    // Pushes a global of the sender that the receiver lacks; false: there is none of this name.
    bool (*global)(lua_State *L, const char *name);
};
void pack_use(lua_State *L, const struct pack_ops *ops); // borrowed for the life of the state

// Remembers the present globals, which every process has. Call it before the script sets its own.
void pack_remember_globals(lua_State *L);
// Was it there then?
bool pack_is_base_global(lua_State *L, const char *name);
// Pushes a list of the globals added since.
void pack_push_own_globals(lua_State *L);

// What may be sent. Only ranks get functions. Results, and what ranks send each other, are data:
// nil, booleans, numbers, strings, tables, and what ops->put accepts.
enum pack_mode { PACK_DATA, PACK_FUNCTIONS };

// Packs the n values from `first`. ERR_USAGE names a value that cannot be sent, and its place,
// using the values' names (NULL: their numbers).
int pack_values(lua_State *L, int first, int n, enum pack_mode mode, const char *const *names,
    buf *out, err *e);
// Pushes the values, and sets the globals; returns how many values, or -1 with e and nothing
// pushed. ERR_INVALID names a value that is not data where only data is allowed.
int unpack_values(lua_State *L, const void *bytes, size_t n, enum pack_mode mode, err *e);

// For ops->put.
void pack_kind(struct packer *p, char kind);
void pack_number(struct packer *p, uint64_t value, int bytes);
void pack_bytes(lua_State *L, struct packer *p, const void *bytes, size_t n); // length and bytes
void pack_raw(struct packer *p, const void *bytes, size_t n);
const char *pack_path(const struct packer *p); // where the value is, for errors
// For ops->get. They raise if the bytes end too early.
uint64_t unpack_number(lua_State *L, struct unpacker *u, int bytes);
const char *unpack_raw(lua_State *L, struct unpacker *u, size_t n);

// Private to this folder.
const struct pack_ops *pack_ops_of(lua_State *L);
// Calls fn with each global that a function reads by its name: from its bytecode, as lua_dump
// writes it. ERR_INVALID: this Lua did not write it.
int pack_each_global(const void *bytecode, size_t n,
    void (*fn)(void *arg, const char *name, size_t length), void *arg, err *e);
