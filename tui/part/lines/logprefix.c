// SPDX-License-Identifier: MIT
#include "tui/part/lines/logprefix.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

enum { LONGEST = 253 + 1 + 63 }; // a pod's name, a slash, a container's

// Names of pods and containers have small letters, digits, '-' and '.'.
static bool is_of_name(char c)
{
    return islower((unsigned char)c) || isdigit((unsigned char)c) || c == '-' || c == '.' ||
           c == '/';
}

size_t logprefix(const char *line, size_t n, style *look)
{
    // Without red, which says that something is wrong; bold doubles them.
    static const uint8_t colours[] = {6, 3, 2, 5, 4};
    enum { COLOURS = sizeof colours };
    size_t length = 0;
    uint32_t hash = 2166136261u; // FNV-1a
    while (length < n && length < LONGEST && is_of_name(line[length]))
        hash = (hash ^ (unsigned char)line[length++]) * 16777619u;
    if (!length || n - length < 2 || memcmp(line + length, " |", 2) != 0)
        return 0;
    hash ^= hash >> 16;
    *look = (style){
        .fg = COLOR_INDEX(colours[hash % COLOURS]), .attrs = hash / COLOURS % 2 ? ATTR_BOLD : 0};
    return length;
}
