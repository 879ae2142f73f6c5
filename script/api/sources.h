// SPDX-License-Identifier: MIT
// The Lua sources of the API for cells, built into the kernel.
#pragma once
#include "script/embed.h"

extern const struct lua_source lib_sources[]; // in the order in which they run; the end has no name
extern const struct lua_source lib_chunks[];  // the same, compiled
extern const struct lua_part
    lib_parts[]; // the first one is loaded at the start; the end has no files
