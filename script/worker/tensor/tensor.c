// SPDX-License-Identifier: MIT
// Tensors in Lua: userdata around a view. They count from 0 with half-open slices, as NumPy does.
#include "base/mem.h"
#include "script/worker/core/state.h"
#include "script/worker/tensor/arithmetic.h"
#include "trainer/tensor/arrange.h"

#include <limits.h>
#include <string.h>

static const char type_name[] = "tensor";

void push_tensor(lua_State *L, tensor *t, const err *e)
{
    if (!t)
        raise_err(L, e);
    // To Lua each tensor has only a few bytes, so by itself it would collect too late: it goes on
    // as if it had allocated the numbers, too. What is collected soon is still in the cache.
    enum { TOLD_FROM = 16 << 10 };
    worker *w = worker_of(L);
    w->tensor_bytes += tensor_count(t) * tensor_type_size(t->type);
    if (w->tensor_bytes > TOLD_FROM) {
        size_t kib = w->tensor_bytes / 1024;
        w->tensor_bytes = 0;
        lua_gc(L, LUA_GCSTEP, kib < 1 << 16 ? (int)kib : 1 << 16);
    }
    // If this ran out of Lua stack or memory, the tensor would leak; but then the process ends
    // anyway.
    tensor **box = lua_newuserdatauv(L, sizeof *box, 0);
    *box = t;
    luaL_setmetatable(L, type_name);
}

tensor *test_tensor(lua_State *L, int arg)
{
    tensor **box = luaL_testudata(L, arg, type_name);
    return box ? *box : NULL;
}

// What to write where something else than a tensor was given.
static const char *remedy(lua_State *L, int arg)
{
    const char *name =
        luaL_getmetafield(L, arg, "__name") == LUA_TSTRING ? lua_tostring(L, -1) : "";
    if (strcmp(name, "node") == 0)
        return "a tensor was expected, got a node, which has no numbers: layers are called on "
               "nodes, "
               "as nn.Dense { 8 } (node), and model:predict(x) on tensors";
    if (strcmp(name, "variable") == 0)
        return "a tensor was expected, got one whose gradient is asked for: that goes through "
               "functions of tensors alone; model:gradients(x, y) has the gradients of a model";
    return lua_istable(L, arg) && !*name
               ? "a tensor was expected, got a table: data.tensor(t) makes one of numbers"
               : NULL;
}

tensor *check_tensor(lua_State *L, int arg)
{
    const char *wrong = luaL_testudata(L, arg, type_name) ? NULL : remedy(L, arg);
    if (wrong)
        luaL_error(L, "%s", wrong);
    tensor **box = luaL_checkudata(L, arg, type_name);
    luaL_argcheck(L, *box, arg, "the tensor is closed");
    return *box;
}

static int tensor_close(lua_State *L)
{
    tensor **box = luaL_checkudata(L, 1, type_name);
    tensor_free(*box);
    *box = NULL;
    return 0;
}

static void push_number(lua_State *L, const tensor *t, size_t i)
{
    if (tensor_is_integer(t))
        lua_pushinteger(L, tensor_integer_at(t, i));
    else
        push_double(L, tensor_at(t, i));
}

// Raises when a method is called with more than n arguments: one that is ignored would be believed.
static void at_most(lua_State *L, int n, const char *method)
{
    int given = lua_gettop(L) - 1;
    if (given > n)
        luaL_error(L, "%s: takes %d argument%s, got %d", method, n, n == 1 ? "" : "s", given);
}

// slice(from, to, step): the rows from, from + step, … before `to`
static int slice(lua_State *L)
{
    err e;
    const tensor *t = check_tensor(L, 1);
    at_most(L, 3, "slice");
    lua_Integer from = luaL_optinteger(L, 2, 0);
    lua_Integer to = luaL_optinteger(L, 3, (lua_Integer)tensor_rows(t));
    lua_Integer step = luaL_optinteger(L, 4, 1);
    luaL_argcheck(L, step >= 1 && step <= INT_MAX, 4, "the step must be 1 or more");
    push_tensor(L, tensor_slice(t, from, to, &e), &e);
    if (step > 1)
        push_tensor(L, tensor_shard(check_tensor(L, -1), 0, (int)step, &e), &e);
    return 1;
}

static int shard(lua_State *L)
{
    err e;
    const tensor *t = check_tensor(L, 1);
    at_most(L, 2, "shard");
    lua_Integer rank = luaL_checkinteger(L, 2), size = luaL_checkinteger(L, 3);
    luaL_argcheck(L, rank >= 0 && rank < size, 2, "rank must be in [0, size)");
    luaL_argcheck(L, size <= INT32_MAX, 3, "there are no so many ranks");
    push_tensor(L, tensor_shard(t, (int)rank, (int)size, &e), &e);
    return 1;
}

static int reshape(lua_State *L)
{
    err e;
    const tensor *t = check_tensor(L, 1);
    at_most(L, 1, "reshape");
    luaL_checktype(L, 2, LUA_TTABLE);
    int64_t shape[TENSOR_MAX_DIMS];
    lua_Integer dims = luaL_len(L, 2);
    luaL_argcheck(L, dims <= TENSOR_MAX_DIMS, 2, "too many dimensions");
    for (int i = 0; i < dims; i++) {
        lua_geti(L, 2, i + 1);
        shape[i] = luaL_checkinteger(L, -1);
        lua_pop(L, 1);
    }
    if (tensor_has_gaps(t)) { // of a shard, or of columns
        push_tensor(L, tensor_copy(t, &e), &e);
        t = check_tensor(L, -1);
    }
    push_tensor(L, tensor_reshape(t, (int)dims, shape, &e), &e);
    return 1;
}

static int item(lua_State *L)
{
    const tensor *t = check_tensor(L, 1);
    if (tensor_count(t) != 1)
        return luaL_error(
            L, "only a tensor of one element is a number; this one has %d", (int)tensor_count(t));
    push_number(L, t, 0);
    return 1;
}

// Pushes the elements from `at` on as nested tables; Lua's tables count from 1.
static size_t push_nested(lua_State *L, const tensor *t, int dim, size_t at)
{
    if (dim == t->dims) {
        push_number(L, t, at);
        return at + 1;
    }
    luaL_checkstack(L, 3, NULL);
    lua_createtable(L, (int)t->shape[dim], 0);
    for (size_t i = 0; i < t->shape[dim]; i++) {
        at = push_nested(L, t, dim + 1, at);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return at;
}

static int totable(lua_State *L)
{
    push_nested(L, check_tensor(L, 1), 0, 0);
    return 1;
}

static int to_string(lua_State *L)
{
    const tensor *t = check_tensor(L, 1);
    buf text = {0};
    tensor_format(t, &text);
    lua_pushlstring(L, buf_cstr(&text), text.len);
    buf_done(&text);
    return 1;
}

static int length(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer)tensor_rows(check_tensor(L, 1)));
    return 1;
}

static const luaL_Reg methods[] = {
    {"slice", slice},
    {"shard", shard},
    {"reshape", reshape},
    {"item", item},
    {"totable", totable},
    {NULL, NULL},
};

// t[i]: a number, or row i as a tensor; t.shape, t.dtype; methods.
static int get(lua_State *L)
{
    err e;
    const tensor *t = check_tensor(L, 1);
    if (lua_type(L, 2) == LUA_TNUMBER) {
        tensor *row = tensor_row(t, luaL_checkinteger(L, 2), &e);
        if (row && row->dims > 0) {
            push_tensor(L, row, &e);
            return 1;
        }
        if (!row)
            raise_err(L, &e);
        push_number(L, row, 0);
        tensor_free(row);
        return 1;
    }
    const char *name = luaL_checkstring(L, 2);
    if (strcmp(name, "shape") == 0) {
        lua_createtable(L, t->dims, 0);
        for (int i = 0; i < t->dims; i++) {
            lua_pushinteger(L, (lua_Integer)t->shape[i]);
            lua_rawseti(L, -2, i + 1);
        }
        return 1;
    }
    if (strcmp(name, "dtype") == 0) {
        lua_pushstring(L, t->scale != 1 ? "f32" : tensor_type_name(t->type));
        return 1;
    }
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL)
        return 1;
    add_names(L, lua_upvalueindex(1), (const char *const[]){"dtype", "shape", NULL});
    no_such_name(L, "a tensor", "a tensor", name, -1);
}

int open_tensor(lua_State *L)
{
    static const luaL_Reg meta[] = {
        {"__gc", tensor_close},
        {"__close", tensor_close},
        {"__len", length},
        {"__tostring", to_string},
        {NULL, NULL},
    };
    luaL_newmetatable(L, type_name);
    luaL_setfuncs(L, meta, 0);
    add_tensor_operators(L);
    luaL_newlib(L, methods);
    add_tensor_methods(L);
    lua_pushcclosure(L, get, 1);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
    return 0;
}
