// SPDX-License-Identifier: MIT
// The C part of hvd.elastic. Private to script/worker.
#pragma once
#include "script/worker/core/state.h"

// Pushes the table of functions from which elastic.lua makes hvd.elastic.
void open_elastic(lua_State *L);
// The error with which state:commit ends a rank for newcomers.
void elastic_push_interrupt(lua_State *L);
bool elastic_is_interrupt(lua_State *L, int index);
