// SPDX-License-Identifier: MIT
// Checks the form of a file that a cell is about to write, by its extension: .lua is compiled (not
// run); .json, .yaml and .yml are parsed.
#pragma once
#include "script/kernel/cells/execution.h"

#include <lua.h>

// Raises a syntax error of the cell, with its line, when the text at `index` is malformed. Data
// with "{{" is another tool's template and is not checked.
void filecheck(lua_State *L, execution *x, const char *path, int index);
// Parses data by the name's extension: "x.json", "x.yaml" or "x.yml". Other names, and text with
// "{{", pass. ERR_INVALID: *line is the line (0: unknown); the message begins with the column.
int filecheck_data(const char *path, const char *text, size_t n, int *line, err *e);
// Compiles a Lua file's text as luaL_loadfile would: skips a first line that starts with '#'.
// Leaves the chunk or a message, and returns luaL_loadbufferx's status.
int filecheck_load(lua_State *L, const char *text, size_t n, const char *chunk);
