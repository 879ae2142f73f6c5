// SPDX-License-Identifier: MIT
// The form of a file that a cell is about to write, by its ending: .lua is compiled (and not run),
// .json, .yaml and .yml are parsed.
#pragma once
#include "script/kernel/cells/execution.h"

#include <lua.h>

// Raises a syntax error of the cell, with its line, when the text at `index` is not in form. Data
// with "{{" in it is another tool's template, where anything may be right.
void filecheck(lua_State *L, execution *x, const char *path, int index);
