// SPDX-License-Identifier: MIT
// What of a notebook's values travels to ranks (script/pack): functions of cells with their
// upvalues and the globals that they read. Handles and other things of the kernel stay; `hvd`,
// `nn`, `data` and `args` become the worker's. Belongs to the Lua thread.
#pragma once
#include <lauxlib.h>

void packing_open(lua_State *L); // before the library is there
// pack(fn, args) → base64 and the number of bytes; unpack(base64) → value. Functions of `core`.
extern const luaL_Reg packing_functions[];
