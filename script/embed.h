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
