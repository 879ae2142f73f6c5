// SPDX-License-Identifier: MIT
// Which globals a cell reads and writes. All globals are on a shelf, and the table of globals
// fetches each from there at its first use in a cell; so a use costs something once, and loops
// nothing.
//
//   x      globals.x is nil ──> __index: moves it from the shelf, notes "x" unless it is the
//          library's
//   end    what is there and was not fetched, or is another value now, was written; then all goes
//          back to the shelf: a cell costs by what it uses, not by what there is
//   stop   the table of globals is an ordinary one again, for lookups
//
// A cell that takes the table itself (_G, _ENV) may do anything with it: it counts as unknown, and
// gets everything back at once. It belongs to the Lua thread.
#pragma once
#include "base/json.h"
#include "script/journal/mask.h"

#include <lua.h>
#include <stdbool.h>

// library() → the table of our globals and Lua's own, without those in whose place the notebook has
// put others. It is for our own code, which reads no global of the notebook by it.
int reads_library(lua_State *L);

// When the library is there and no cell has run. Raises only for want of memory, as do the others.
void reads_open(lua_State *L);
// Stack: name, value, which are popped. A part of the library has made this global.
void reads_learn(lua_State *L);
// Stack: a module's name, a field, its value, which are popped. It has added this to a module.
void reads_learn_field(lua_State *L);
// An execution begins and ends; whole: its source names _ENV.
void reads_begin(lua_State *L, bool whole);
// {reads = ["name"…], writes = {name = digest, or "" of what has none}, touched = ["name"…] (tables
// that were read and may have been changed in place), unknown, random}, new; empty: nothing at all.
// A text with a secret has no digest. A field of a table of the library that was set is written as
// "string.trim", without one.
cJSON *reads_end(lua_State *L, mask *m);
// Everything, all of the library too, is in the table of globals, until the next execution begins.
void reads_stop(lua_State *L);
