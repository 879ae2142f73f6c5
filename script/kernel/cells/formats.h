// SPDX-License-Identifier: MIT
// What texts of other programs mean, and times: functions of `core` for script/lib.
#pragma once
#include <lauxlib.h>

extern const luaL_Reg formats_functions[];
