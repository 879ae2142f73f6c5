// SPDX-License-Identifier: MIT
// Functions of `core` for script/api that read and write other programs' formats, and times.
#pragma once
#include <lauxlib.h>

extern const luaL_Reg formats_functions[];
