// SPDX-License-Identifier: MIT
// Tells which lines of a Lua source start inside a long string, a long comment or a continued short
// string (there are no magics in those), or inside a table. A plain value; `lua_lines l = {0};` is
// the start.
#pragma once
#include <stdbool.h>
#include <stddef.h>

typedef struct lua_lines {
    bool inside; // does the next line start inside a string or comment?
    int level;   // '=' signs of the long bracket, while inside one
    char quote;  // of the short string that continues, 0: none
    int braces;  // how many tables are open
} lua_lines;

void lua_lines_feed(lua_lines *l, const char *line, size_t n);
