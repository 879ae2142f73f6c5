// SPDX-License-Identifier: MIT
// The parts of our library (lib_parts), which are loaded at their first use: a kernel
// that only prints needs no pipelines. Belongs to the Lua thread, and raises only if memory runs
// out.
// The library's code has its own table of globals, so a notebook that sets `table` does not break
// it. The names of parts are globals of cells, too.
#pragma once
#include <lua.h>
#include <stdbool.h>

// Stack: core, at 1. Loads the first part.
void parts_open(lua_State *L);
// Loads the part that makes a name such as "k8s", "display.plot" or "core.children"; false: no part
// has it, or it is loaded already.
bool parts_find(lua_State *L, const char *name);
void parts_find_all(lua_State *L);

// more(name): parts_find for the library. everything(): parts_find_all.
int parts_more(lua_State *L);
int parts_everything(lua_State *L);
