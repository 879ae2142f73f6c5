// SPDX-License-Identifier: MIT
// Packed Lua values, as a driver gets them; bytecode is not for strangers, so it is refused here.
#include "script/worker/pack.h"
#include "script/worker/state.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static worker *w;
    static const char *const no_folders[] = {NULL};
    err e;
    if (!w)
        w = worker_new(&(struct worker_options){.data_folders = no_folders}, &e);
    unpack_values(w->L, data, n, false, &e);
    lua_settop(w->L, 0);
    return 0;
}
