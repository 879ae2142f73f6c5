// SPDX-License-Identifier: MIT
// Lua sources inside a program: the build writes a C file with an array of these (script/embed.c),
// ended by one without a name. Nothing is owned.
#pragma once
#include <stddef.h>

struct lua_source {
    const char *name; // the file's name without its folder and ".lua"
    const char *text;
    size_t n;
};

// Files of the cells' library that are loaded together, at the first use of one of the names that
// they make (script/parts.lua). In both lists each has a newline behind it.
struct lua_part {
    const char *files, *names;
};
