// SPDX-License-Identifier: MIT
// The arithmetic of tensors in Lua: operators, methods, and the module's table `nn.ops`. Private to
// script/worker.
#pragma once
#include <lua.h>

// Adds operators to the metatable on top of the stack.
void add_tensor_operators(lua_State *L);
// Adds methods to the table on top of the stack.
void add_tensor_methods(lua_State *L);
// Pushes the functions of nn.ops: the methods, and those that make tensors of others.
void push_ops(lua_State *L);
