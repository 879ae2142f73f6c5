// SPDX-License-Identifier: MIT
// Runs functions of script/api for a program that a binding runs (call_serve). The Lua thread is
// inside that binding meanwhile, so they run on the coroutine that called it.
#include "script/kernel/cells/state.h"
#include "script/kernel/cells/values/luajson.h"

#include <lauxlib.h>
#include <stdatomic.h>

struct request {
    const char *hook;
    const cJSON *args;
    cJSON *result;
};

static int call_hook(lua_State *L)
{
    struct request *r = lua_touserdata(L, 1);
    interp *in = interp_of(L);
    lua_getfield(L, LUA_REGISTRYINDEX, INTERP_HOOKS);
    lua_getfield(L, -1, r->hook);
    luajson_push_whole(L, r->args);
    lua_call(L, 1, 1);
    r->result = luajson_read(L, -1, &in->raised);
    return r->result ? 0 : interp_raise(L, FAILURE_ERROR);
}

// Errors of the function are part of the result; only a stop, or a lack of memory, is raised.
int interp_serve(void *arg, const char *hook, const cJSON *args, cJSON **result, err *e)
{
    interp *in = arg;
    lua_State *L = atomic_load(&in->interrupt.running);
    struct request r = {.hook = hook, .args = args};
    int top = L ? lua_gettop(L) : 0;
    if (!L || !lua_checkstack(L, LUA_MINSTACK))
        return err_set(e, ERR_LIMIT, "Lua's stack is full");
    lua_pushcfunction(L, call_hook);
    lua_pushlightuserdata(L, &r);
    bool raised = lua_pcall(L, 1, 0, 0) != LUA_OK;
    lua_settop(L, top);
    *result = r.result;
    if (!raised)
        return 0;
    return turn_stopped(in->turn) ? err_set(e, ERR_CANCELLED, "interrupted")
                                  : err_set(e, ERR_FAILED, "%s", in->raised.text);
}
