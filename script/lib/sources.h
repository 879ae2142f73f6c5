// SPDX-License-Identifier: MIT
// The Lua sources of the API that cells see, as the kernel holds them.
#pragma once
#include "script/embed.h"

extern const struct lua_source
    lib_sources[]; // in the order they run in, ended by one without a name
