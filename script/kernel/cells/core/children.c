// SPDX-License-Identifier: MIT
#include "script/kernel/cells/core/children.h"

#include "script/kernel/cells/state.h"
#include "script/kernel/cells/values/luajson.h"
#include "script/kernel/effects/call.h"

#include <lauxlib.h>

static int past_children(lua_State *L)
{
    const interp *in = interp_of(L);
    effects *fx = in->options->effects;
    if (in->turn && fx->past_children && call_resumes(fx, in->turn))
        luajson_push(L, fx->past_children);
    else
        lua_pushnil(L);
    return 1;
}

static int keep_branch(lua_State *L)
{
    const interp *in = interp_of(L);
    if (in->turn && in->turn->key)
        ledger_keep_branch(
            in->options->effects->ledger, in->turn->root->source, turn_key(in->turn));
    return 0;
}

static int cell_source(lua_State *L)
{
    const interp *in = interp_of(L);
    lua_pushstring(L, in->turn ? in->turn->root->source : "");
    return 1;
}

// The running cell and the number of its execution; nil: none.
static int cell_run(lua_State *L)
{
    const interp *in = interp_of(L);
    if (!in->turn || !*in->turn->root->source)
        return 0;
    const execution *x = (const execution *)in->turn->root; // its first member
    lua_pushstring(L, in->turn->cell);
    lua_pushfstring(L, "%I.%d", (LUAI_UACINT)x->count, x->attempt);
    return 2;
}

static displays *displays_of(const interp *in)
{
    return in->options->effects->spec.displays;
}

static int trainings(lua_State *L)
{
    const interp *in = interp_of(L);
    const char *branch = luaL_checkstring(L, 1);
    int64_t version = luaL_optinteger(L, 2, -1);
    if (!in->turn)
        return luaL_error(L, "only cells have trainings");
    cJSON *shown = displays_followed(displays_of(in), in->turn->cell, branch, &version);
    if (!shown)
        return 0;
    interp_push_json(L, shown);
    lua_pushinteger(L, version);
    return 2;
}

static int trainings_end(lua_State *L)
{
    const interp *in = interp_of(L);
    const char *branch = luaL_checkstring(L, 1);
    if (in->turn)
        displays_unfollow(displays_of(in), in->turn->cell, branch);
    return 0;
}

void children_open(lua_State *L)
{
    static const luaL_Reg functions[] = {{"past_children", past_children},
        {"keep_branch", keep_branch}, {"cell_source", cell_source}, {"cell_run", cell_run},
        {"trainings", trainings}, {"trainings_end", trainings_end}, {0}};
    luaL_setfuncs(L, functions, 0);
}
