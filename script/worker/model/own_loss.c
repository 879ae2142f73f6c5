// SPDX-License-Identifier: MIT
// Losses of one's own: Lua functions of targets and outputs, whose gradient gradient.lua finds. A
// function has a Lua thread for itself, since the one that compiled the model may have ended when
// it is called.
#include "script/pack/errortext.h"
#include "script/worker/model/model.h"

#include <string.h>

static const char runner[] = "firesteel.own_loss";

struct own {
    own_loss loss;
    lua_State *L; // 1: what gradient.lua calls it by, 2: the function
};

// What own_call works with: Lua owns the tensors.
struct call {
    const tensor *given[3]; // y, p and weights
    double loss;
    float *gradient;
    size_t n;
};

// Arguments: the call, the runner, the function.
static int call_protected(lua_State *L)
{
    struct call *c = lua_touserdata(L, 1);
    lua_pushvalue(L, 2);
    lua_pushvalue(L, 3);
    for (int i = 0; i < 3; i++) {
        if (c->given[i])
            push_tensor(L, tensor_ref(c->given[i]), NULL);
        else
            lua_pushnil(L);
    }
    lua_call(L, 4, 2);
    const tensor *g = check_tensor(L, -1);
    c->loss = lua_tonumber(L, -2);
    if (tensor_count(g) != c->n)
        return luaL_error(L, "has a gradient of another size than its outputs");
    for (size_t i = 0; i < c->n; i++)
        c->gradient[i] = (float)tensor_at(g, i);
    return 0;
}

static int run(void *ctx, const tensor *y, const tensor *p, const tensor *weights, double *loss,
    float *gradient, err *e)
{
    const struct own *o = ctx;
    lua_State *L = o->L;
    struct call c = {{y, p, weights}, 0, gradient, tensor_count(p)};
    lua_settop(L, 2);
    lua_pushcfunction(L, call_protected);
    lua_pushlightuserdata(L, &c);
    lua_pushvalue(L, 1);
    lua_pushvalue(L, 2);
    int status = lua_pcall(L, 3, 0, 0);
    if (status != LUA_OK) {
        AUTO_BUF why = {0};
        error_text(L, -1, &why);
        err_set(e, ERR_FAILED, "the loss, a function, %s", buf_cstr(&why));
    }
    *loss = c.loss;
    lua_settop(L, 2);
    return status == LUA_OK ? 0 : -1;
}

const own_loss *push_own_loss(lua_State *L, int function)
{
    function = lua_absindex(L, function);
    struct own *o = lua_newuserdatauv(L, sizeof *o, 1);
    *o = (struct own){.loss = {o, run}, .L = lua_newthread(L)};
    lua_setiuservalue(L, -2, 1); // it lives as long
    if (lua_getfield(L, LUA_REGISTRYINDEX, runner) == LUA_TNIL) {
        lua_pop(L, 1);
        lua_getglobal(L, "require"); // a model may come from elsewhere
        lua_pushliteral(L, "nn");
        lua_call(L, 1, 0);
        lua_getfield(L, LUA_REGISTRYINDEX, runner);
    }
    lua_pushvalue(L, function);
    lua_xmove(L, o->L, 2);
    return &o->loss;
}

int take_own_loss_runner(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_settop(L, 1);
    lua_setfield(L, LUA_REGISTRYINDEX, runner);
    return 0;
}
