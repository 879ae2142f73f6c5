// SPDX-License-Identifier: MIT
// Packed Lua values, both as a driver gets results (data only) and as a rank gets its function.
// Damaged bytecode can do anything to Lua, so it is accepted only from the driver, and is not tried
// here.
#include "script/pack/pack.h"
#include "script/worker/core/state.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static bool has_bytecode(const uint8_t *data, size_t n)
{
    return n && memmem(data, n, LUA_SIGNATURE, strlen(LUA_SIGNATURE));
}

// Only loaded modules can be named: no file is looked up.
static worker *new_worker(void)
{
    err e;
    static const char *const no_folders[] = {NULL};
    worker *w = worker_new(&(struct worker_options){.data_folders = no_folders}, &e);
    (void)luaL_dostring(w->L, "package.searchers = { package.searchers[1] }");
    return w;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static worker *w;
    err e;
    if (!w)
        w = new_worker();
    unpack_values(w->L, data, n, PACK_DATA, &e);
    lua_settop(w->L, 0);
    if (!has_bytecode(data, n))
        unpack_values(w->L, data, n, PACK_FUNCTIONS, &e);
    lua_settop(w->L, 0);
    return 0;
}
