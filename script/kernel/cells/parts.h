// SPDX-License-Identifier: MIT
// The parts of our library (script/lib/parts.def), which are loaded when they are used: a kernel
// that prints has no use for pipelines. All of it belongs to the Lua thread, and raises for want of
// memory alone.
//
// The library's code has a table of globals of its own, so what a notebook calls `table` does not
// break it. What parts.def names of it are globals of cells, too.
#pragma once
#include <lua.h>
#include <stdbool.h>

// Stack: core, at 1. Loads the first part.
void parts_open(lua_State *L);
// Loads the part that makes a name, "k8s", "display.plot" or "core.children"; false: there is none,
// or it is there.
bool parts_find(lua_State *L, const char *name);
void parts_find_all(lua_State *L);

// more(name): parts_find for the library. everything(): parts_find_all.
int parts_more(lua_State *L);
int parts_everything(lua_State *L);
