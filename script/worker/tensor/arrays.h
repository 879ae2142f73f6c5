// SPDX-License-Identifier: MIT
// Files of arrays and tables in the module `data`. Private to script/worker.
#pragma once
#include "script/worker/core/state.h"

// Adds the public functions to the module on top of the stack.
void add_arrays(lua_State *L);
// Functions of pictures (pictures.c).
int read_image(lua_State *L);
int read_images(lua_State *L);
// What frames are computed with (tables.c): adds its functions to those on top of the stack.
void open_tables(lua_State *L);
// Parquet files (parquet.c).
int unpack_parquet(lua_State *L);
int remove_folder(lua_State *L);
// Pushes the functions that data.lua builds on.
int open_arrays(lua_State *L);
