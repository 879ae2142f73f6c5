// SPDX-License-Identifier: MIT
// Tensors and models as packed values (script/pack): they travel between driver and ranks.
//
//   X  a tensor: type, dimensions, shape, scale, numbers · C  a model: its checkpoint
#pragma once
#include <lua.h>

void travel_open(lua_State *L);
