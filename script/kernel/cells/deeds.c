// SPDX-License-Identifier: MIT
#include "script/kernel/cells/deeds.h"

#include "base/clock.h"
#include "script/kernel/cells/state.h"

#include <lauxlib.h>

// owing(seconds): the deferred functions may take so long at the end of the cell; 0: there are none
static int core_owing(lua_State *L)
{
    double seconds = luaL_checknumber(L, 1);
    struct interp *in = interp_of(L);
    in->owed = seconds > 0 ? clock_of_seconds(seconds) : 0;
    in->has_owed = true;
    return 0;
}

void deeds_open(lua_State *L)
{
    lua_pushcfunction(L, core_owing);
    lua_setfield(L, -2, "owing");
}

static void call_named(lua_State *L, const char *hook)
{
    lua_getfield(L, LUA_REGISTRYINDEX, INTERP_HOOKS);
    lua_getfield(L, -1, hook);
    lua_call(L, 0, 0);
}

static int forget(lua_State *L)
{
    call_named(L, "forget_deeds");
    return 0;
}

void deeds_forget(struct interp *in)
{
    in->owed = 0;
    if (!in->has_owed)
        return;
    in->has_owed = false;
    lua_pushcfunction(in->L, forget);
    if (lua_pcall(in->L, 0, 0, 0) != LUA_OK)
        lua_pop(in->L, 1);
}

static int call_hook(lua_State *L)
{
    call_named(L, "deeds");
    branches_finish(L);
    return 0;
}

static void post_owing(void *arg)
{
    execution *x = arg;
    x->interp->ops->owing(x->interp->arg, x);
}

void deeds_do(struct interp *in, execution *x)
{
    lua_State *L = in->L;
    int64_t time = in->owed;
    in->owed = 0;
    if (!time)
        return;
    x->owed_ns = time;
    interrupt_leave(&in->interrupt, L);
    turn_go_on(&x->turn, clock_add(clock_mono(), time));
    loop_post(in->options->effects->spec.loop, post_owing, x);
    lua_settop(L, 0);
    interrupt_enter(&in->interrupt, L, &x->turn);
    lua_pushcfunction(L, call_hook);
    if (lua_pcall(L, 0, 0, 0) != LUA_OK)
        lua_pop(L, 1); // it has reported its own errors; only a stop is an error here
    branches_drop(L);
}
