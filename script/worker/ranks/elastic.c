// SPDX-License-Identifier: MIT
// The C part of hvd.elastic (elastic.lua): snapshots of models and values, and commits to the
// driver, which keeps the last one while ranks come and go.
#include "script/worker/ranks/elastic.h"

#include "script/pack/pack.h"
#include "trainer/files/checkpoint.h"

#include <string.h>

// A table whose address marks the error with which all ranks end for newcomers.
static const char interrupt_key;

void elastic_push_interrupt(lua_State *L)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &interrupt_key);
}

bool elastic_is_interrupt(lua_State *L, int index)
{
    index = lua_absindex(L, index);
    elastic_push_interrupt(L);
    bool same = lua_istable(L, index) && lua_rawequal(L, index, -1);
    lua_pop(L, 1);
    return same;
}

static void push_buf(lua_State *L, buf *b)
{
    lua_pushlstring(L, buf_cstr(b), b->len);
    buf_done(b);
}

// (value) → bytes; only data can be committed.
static int elastic_pack(lua_State *L)
{
    err e;
    buf bytes = {0};
    static const char *const names[] = {"hvd.elastic.State"};
    if (pack_values(L, 1, 1, PACK_DATA, names, &bytes, &e)) {
        buf_done(&bytes);
        raise_err(L, &e);
    }
    push_buf(L, &bytes);
    return 1;
}

static int elastic_unpack(lua_State *L)
{
    err e;
    size_t n;
    const char *bytes = luaL_checklstring(L, 1, &n);
    int values = unpack_values(L, bytes, n, PACK_DATA, &e);
    if (values < 0)
        raise_err(L, &e);
    return values;
}

// (model) → its weights and its optimizer's state as bytes, epochs
static int elastic_model_bytes(lua_State *L)
{
    err e;
    buf bytes = {0};
    const model *m = check_model(L, 1);
    if (checkpoint_encode(m, (checkpoint_options){.optimizer = true}, &bytes, &e)) {
        buf_done(&bytes);
        raise_err(L, &e);
    }
    push_buf(L, &bytes);
    lua_pushinteger(L, model_epochs(m));
    return 2;
}

// (model, bytes, epochs): the model is as it was then.
static int elastic_model_restore(lua_State *L)
{
    err e;
    size_t n;
    model *m = check_model(L, 1);
    const char *bytes = luaL_checklstring(L, 2, &n);
    if (checkpoint_restore(m, bytes, n, &e))
        raise_err(L, &e);
    model_set_epochs(m, luaL_checkinteger(L, 3));
    model_written(m);
    return 0;
}

// (bytes) → do newcomers wait? nil: the job is not elastic.
static int elastic_commit_bytes(lua_State *L)
{
    err e;
    size_t n;
    bool newcomers = false;
    worker *w = worker_of(L);
    const char *bytes = luaL_checklstring(L, 1, &n);
    if (!w->link || !w->place.generation)
        return 0;
    if (w->place.rank == 0 && rank_commit(w->link, bytes, n, &newcomers, &e))
        raise_err(L, &e);
    lua_pushboolean(L, newcomers);
    return 1;
}

// () → the number of this generation (0: the job is not elastic), and on rank 0 the last commit
static int elastic_last(lua_State *L)
{
    const void *bytes = NULL;
    size_t n = 0;
    worker *w = worker_of(L);
    lua_pushinteger(L, w->place.generation);
    if (w->link && w->place.rank == 0)
        rank_last_commit(w->link, &bytes, &n);
    if (!n)
        return 1;
    lua_pushlstring(L, bytes, n);
    return 2;
}

void open_elastic(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"pack", elastic_pack},
        {"unpack", elastic_unpack},
        {"model_bytes", elastic_model_bytes},
        {"model_restore", elastic_model_restore},
        {"commit", elastic_commit_bytes},
        {"last", elastic_last},
        {NULL, NULL},
    };
    luaL_newlib(L, functions);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &interrupt_key);
    lua_setfield(L, -2, "HostsUpdatedInterrupt");
}
