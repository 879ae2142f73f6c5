// SPDX-License-Identifier: MIT
// Packs a notebook's values for ranks (script/pack): functions of cells with their upvalues and the
// globals that they read. Handles and other values of the kernel are not sent; `hvd`, `nn`, `data`
// and `args` become the worker's. Belongs to the Lua thread.
#pragma once
#include <lauxlib.h>

void packing_open(lua_State *L); // call it before the library is loaded
// pack(fn, args) → base64 and the number of bytes; unpack(base64) → value. Functions of `core`.
extern const luaL_Reg packing_functions[];
