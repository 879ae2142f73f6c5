// SPDX-License-Identifier: MIT
// Records which globals a cell reads and writes. All globals are on a shelf, a second table; the
// table of globals fetches each from there at its first use in a cell. So a first use costs a
// little, and later ones nothing.
//    x      globals.x is nil ──> __index: moves it from the shelf, notes "x" unless it is the
//           library's
//    end    entries that were not fetched, or have another value now, were written; then all
//           move back to the shelf: a cell's cost depends on what it uses, not on what there is
//    stop   the table of globals is an ordinary one again, for lookups
// A cell that takes the table itself (_G, _ENV) may do anything with it: its reads count as
// unknown, and everything moves back to the table at once. Belongs to the Lua thread.
#pragma once
#include "base/json/json.h"
#include "script/journal/mask/mask.h"

#include <lua.h>
#include <stdbool.h>

// library() → the table of our globals and Lua's own, without those that the notebook has replaced.
// Our own code uses it so as not to read a global of the notebook.
int reads_library(lua_State *L);

// Call it when the library is loaded and no cell has run. Raises only if memory runs out, as do the
// others.
void reads_open(lua_State *L);
// Stack: name, value, which are popped. A part of the library has made this global.
void reads_learn(lua_State *L);
// Stack: a module's name, a field, its value, which are popped. A part has added this field to the
// module.
void reads_learn_field(lua_State *L);
// Call them when an execution begins and ends; whole: its source names _ENV.
void reads_begin(lua_State *L, bool whole);
// {reads = ["name"…], writes = {name = digest, "" without one}, touched = ["name"…] (tables that
// were read and may have been changed in place), unknown, random}, new; no members: nothing was
// used. A text with a secret has no digest. A field that was set in a table of the library is in
// `writes` as "string.trim", without a digest.
cJSON *reads_end(lua_State *L, mask *m);
// Moves everything, the library too, to the table of globals, until the next execution begins.
void reads_stop(lua_State *L);
