// SPDX-License-Identifier: MIT
#include "script/worker/tensor/arithmetic.h"

#include "script/worker/core/state.h"
#include "trainer/tensor/arithmetic.h"
#include "trainer/tensor/arrange.h"

#include <math.h>
#include <string.h>

// Raises when there are more than n arguments. If an extra one were ignored, people would think
// that it has an effect.
static void at_most(lua_State *L, int n, const char *method)
{
    if (lua_gettop(L) > n)
        luaL_error(L, "%s: takes %d argument%s, got %d", method, n - 1, n == 2 ? "" : "s",
            lua_gettop(L) - 1);
}

// The tensor at `arg`; a number becomes one without dimensions, in the type of its partner if it
// fits there.
static const tensor *operand(lua_State *L, int arg, int partner, const char *what)
{
    err e;
    tensor *t = test_tensor(L, arg);
    if (t || luaL_testudata(L, arg, "tensor"))
        return check_tensor(L, arg);
    if (lua_istable(L, arg) && luaL_getmetafield(L, arg, "__name") != LUA_TNIL)
        check_tensor(L, arg); // it says what to write instead of a node
    if (lua_type(L, arg) != LUA_TNUMBER)
        luaL_error(L, "%s: a tensor goes with a tensor or a number, not with a %s", what,
            luaL_typename(L, arg));
    const tensor *other = test_tensor(L, partner);
    int64_t whole = lua_tointeger(L, arg);
    float value = (float)lua_tonumber(L, arg);
    bool integer = lua_isinteger(L, arg) && (!other || tensor_is_integer(other));
    push_tensor(L,
        tensor_from(integer ? TENSOR_I64 : TENSOR_F32, 0, NULL,
            integer ? (void *)&whole : (void *)&value, &e),
        &e);
    lua_replace(L, arg);
    return check_tensor(L, arg);
}

// Is the second operand a variable of gradient.lua? Then that computes, and the result is pushed.
static bool hand_over(lua_State *L, const char *name)
{
    if (lua_type(L, 2) != LUA_TTABLE || luaL_getmetafield(L, 2, "__operate") == LUA_TNIL)
        return false;
    lua_pushstring(L, name);
    lua_pushvalue(L, 1);
    lua_pushvalue(L, 2);
    lua_call(L, 3, 1);
    return true;
}

static int combine(lua_State *L, tensor_binary op)
{
    err e;
    const char *name = tensor_binary_name(op);
    if (hand_over(L, name))
        return 1;
    const tensor *a = operand(L, 1, 2, name), *b = operand(L, 2, 1, name);
    push_tensor(L, tensor_combine(op, a, b, &e), &e);
    return 1;
}

#define X(name, text)                                                                              \
    static int binary_##name(lua_State *L)                                                         \
    {                                                                                              \
        at_most(L, 2, text);                                                                       \
        return combine(L, BINARY_##name);                                                          \
    }
TENSOR_BINARIES(X)
#undef X

static int map(lua_State *L, tensor_unary op)
{
    err e;
    push_tensor(L, tensor_map(op, check_tensor(L, 1), &e), &e);
    return 1;
}

#define X(name, text, f)                                                                           \
    static int unary_##name(lua_State *L)                                                          \
    {                                                                                              \
        at_most(L, 1, text);                                                                       \
        return map(L, UNARY_##name);                                                               \
    }
TENSOR_UNARIES(X)
#undef X

static int negated(lua_State *L) // Lua hands an operator its operand twice
{
    return map(L, UNARY_NEGATIVE);
}

// sum() → a number; sum(axis, keepdims) → a tensor
static int reduce(lua_State *L, tensor_reduction r)
{
    err e = {0};
    const char *name = tensor_reduction_name(r);
    const tensor *t = check_tensor(L, 1);
    at_most(L, 3, name);
    if (!lua_isnoneornil(L, 3) && !lua_isboolean(L, 3))
        return luaL_error(L, "%s: keepdims must be true or false", name);
    if (!lua_isnoneornil(L, 2)) {
        if (!lua_isinteger(L, 2))
            return luaL_error(
                L, "%s: the axis must be an integer, got %s", name, luaL_tolstring(L, 2, NULL));
        push_tensor(L, tensor_reduce(r, t, lua_tointeger(L, 2), lua_toboolean(L, 3), &e), &e);
        return 1;
    }
    int64_t whole = 0;
    double value = 0;
    bool is_whole = tensor_reduction_is_whole(r, t);
    if (is_whole)
        tensor_reduce_whole(r, t, &whole, &e);
    else
        value = tensor_reduce_all(r, t, &e);
    if (e.code)
        raise_err(L, &e);
    if (is_whole)
        lua_pushinteger(L, whole);
    else
        push_double(L, value);
    return 1;
}

#define X(name, text)                                                                              \
    static int reduce_##name(lua_State *L)                                                         \
    {                                                                                              \
        return reduce(L, REDUCTION_##name);                                                        \
    }
TENSOR_REDUCTIONS(X)
#undef X

static int same(lua_State *L)
{
    lua_pushboolean(L, tensor_same(check_tensor(L, 1), check_tensor(L, 2)));
    return 1;
}

// < and <= give one answer, so they are for tensors of one number, and numbers.
static int order(lua_State *L, bool or_same)
{
    const char *name = or_same ? "<=" : "<";
    const tensor *a = operand(L, 1, 2, name), *b = operand(L, 2, 1, name);
    if (tensor_count(a) != 1 || tensor_count(b) != 1)
        return luaL_error(L,
            "%s compares tensors of one number; a:%s(b) compares all numbers one by one", name,
            or_same ? "less_equal" : "less");
    double x = tensor_at(a, 0), y = tensor_at(b, 0);
    lua_pushboolean(L, or_same ? x <= y : x < y);
    return 1;
}

static int less(lua_State *L)
{
    return order(L, false);
}

static int less_or_same(lua_State *L)
{
    return order(L, true);
}

static int clip(lua_State *L)
{
    err e;
    at_most(L, 3, "clip");
    double least = luaL_optnumber(L, 2, -HUGE_VAL), most = luaL_optnumber(L, 3, HUGE_VAL);
    push_tensor(L, tensor_clip(check_tensor(L, 1), least, most, &e), &e);
    return 1;
}

// The product of two vectors is a number.
static int matmul(lua_State *L)
{
    err e;
    at_most(L, 2, "matmul");
    if (hand_over(L, "matmul"))
        return 1;
    push_tensor(L, tensor_matmul(check_tensor(L, 1), check_tensor(L, 2), &e), &e);
    const tensor *t = check_tensor(L, -1);
    if (t->dims == 0)
        push_double(L, tensor_at(t, 0));
    return 1;
}

static int columns(lua_State *L)
{
    err e;
    at_most(L, 3, "columns");
    const tensor *t = check_tensor(L, 1);
    lua_Integer from = luaL_optinteger(L, 2, 0), to = luaL_optinteger(L, 3, LUA_MAXINTEGER);
    push_tensor(L, tensor_columns(t, from, to, &e), &e);
    return 1;
}

// The integers of the list at `arg`; returns how many.
static int read_list(lua_State *L, int arg, int64_t out[TENSOR_MAX_DIMS], const char *what)
{
    luaL_checktype(L, arg, LUA_TTABLE);
    lua_Integer n = luaL_len(L, arg);
    if (n > TENSOR_MAX_DIMS)
        luaL_error(L, "%s: more than %d dimensions", what, TENSOR_MAX_DIMS);
    for (int i = 0; i < n; i++) {
        lua_geti(L, arg, i + 1);
        if (!lua_isinteger(L, -1))
            luaL_error(L, "%s: a list of integers, got %s", what, luaL_tolstring(L, -1, NULL));
        out[i] = lua_tointeger(L, -1);
        lua_pop(L, 1);
    }
    return (int)n;
}

// transpose() or transpose{ axes }, from 0
static int transpose(lua_State *L)
{
    err e;
    int64_t axes[TENSOR_MAX_DIMS];
    const tensor *t = check_tensor(L, 1);
    at_most(L, 2, "transpose");
    bool given = !lua_isnoneornil(L, 2);
    if (given && read_list(L, 2, axes, "transpose") != t->dims)
        return luaL_error(L, "transpose: the tensor has %d dimensions, the list %d", t->dims,
            (int)luaL_len(L, 2));
    push_tensor(L, tensor_transpose(t, given ? axes : NULL, &e), &e);
    return 1;
}

static int copy(lua_State *L)
{
    err e;
    at_most(L, 1, "copy");
    push_tensor(L, tensor_copy(check_tensor(L, 1), &e), &e);
    return 1;
}

static int cast(lua_State *L)
{
    err e;
    static const char *const names[] = {
#define X(name, text, bytes) text,
        TENSOR_TYPES(X)
#undef X
            NULL};
    at_most(L, 2, "cast");
    int type = luaL_checkoption(L, 2, NULL, names);
    push_tensor(L, tensor_cast(check_tensor(L, 1), (tensor_type)type, &e), &e);
    return 1;
}

// take(rows): a tensor of integers, or a list of them
static int take(lua_State *L)
{
    err e;
    at_most(L, 2, "take");
    const tensor *t = check_tensor(L, 1);
    if (lua_istable(L, 2)) {
        size_t n = (size_t)luaL_len(L, 2);
        push_tensor(L, tensor_new(TENSOR_I64, 1, &n, &e), &e);
        int64_t *rows = check_tensor(L, -1)->data;
        for (size_t i = 0; i < n; i++) {
            if (lua_geti(L, 2, (lua_Integer)i + 1) != LUA_TNUMBER || !lua_isinteger(L, -1))
                return luaL_error(L, "take: item %d is no number of a row", (int)i + 1);
            rows[i] = lua_tointeger(L, -1);
            lua_pop(L, 1);
        }
        lua_replace(L, 2);
    }
    push_tensor(L, tensor_take(t, check_tensor(L, 2), &e), &e);
    return 1;
}

// concatenate({ a, b, … }, axis = -1)
static int concatenate(lua_State *L)
{
    err e;
    luaL_checktype(L, 1, LUA_TTABLE);
    at_most(L, 2, "concatenate");
    size_t n = (size_t)luaL_len(L, 1);
    lua_Integer axis = luaL_optinteger(L, 2, -1);
    const tensor **list = lua_newuserdatauv(L, (n + 1) * sizeof *list, 0);
    for (size_t i = 0; i < n; i++) {
        lua_geti(L, 1, (lua_Integer)i + 1);
        if (!(list[i] = test_tensor(L, -1)))
            return luaL_error(
                L, "concatenate: item %d is a %s, not a tensor", (int)i + 1, luaL_typename(L, -1));
        lua_pop(L, 1); // the table still holds it
    }
    push_tensor(L, tensor_concatenate(list, n, axis, &e), &e);
    return 1;
}

static int filled(lua_State *L, int dims, const int64_t *given, double value)
{
    err e;
    size_t shape[TENSOR_MAX_DIMS] = {0};
    for (int i = 0; i < dims; i++) {
        luaL_argcheck(L, given[i] >= 0, 1, "sizes are 0 or more");
        shape[i] = (size_t)given[i];
    }
    push_tensor(L, tensor_new(TENSOR_F32, dims, shape, &e), &e);
    tensor *t = check_tensor(L, -1);
    for (size_t i = 0; i < tensor_count(t); i++)
        ((float *)t->data)[i] = (float)value;
    return 1;
}

// full({ sizes }, value), and zeros and ones of a list or, as zeros_like, of a tensor's shape
static int full(lua_State *L)
{
    int64_t shape[TENSOR_MAX_DIMS];
    int dims = read_list(L, 1, shape, "full");
    return filled(L, dims, shape, luaL_checknumber(L, 2));
}

static int filled_by(lua_State *L, const char *name, double value)
{
    int64_t shape[TENSOR_MAX_DIMS];
    const tensor *like = test_tensor(L, 1);
    int dims = like ? like->dims : read_list(L, 1, shape, name);
    for (int i = 0; like && i < dims; i++)
        shape[i] = (int64_t)like->shape[i];
    return filled(L, dims, shape, value);
}

static int zeros(lua_State *L)
{
    return filled_by(L, "zeros", 0);
}

static int ones(lua_State *L)
{
    return filled_by(L, "ones", 1);
}

static const luaL_Reg methods[] = {
#define X(name, text) {text, binary_##name},
    TENSOR_BINARIES(X)
#undef X
#define X(name, text, f) {text, unary_##name},
        TENSOR_UNARIES(X)
#undef X
#define X(name, text) {text, reduce_##name},
            TENSOR_REDUCTIONS(X)
#undef X
                {"clip", clip},
    {"matmul", matmul},
    {"columns", columns},
    {"transpose", transpose},
    {"copy", copy},
    {"cast", cast},
    {"take", take},
    {NULL, NULL},
};

void add_tensor_operators(lua_State *L)
{
    static const luaL_Reg operators[] = {
        {"__add", binary_ADD},
        {"__sub", binary_SUBTRACT},
        {"__mul", binary_MULTIPLY},
        {"__div", binary_DIVIDE},
        {"__pow", binary_POWER},
        {"__unm", negated},
        {"__eq", same},
        {"__lt", less},
        {"__le", less_or_same},
        {NULL, NULL},
    };
    luaL_setfuncs(L, operators, 0);
}

void add_tensor_methods(lua_State *L)
{
    luaL_setfuncs(L, methods, 0);
}

void push_ops(lua_State *L)
{
    static const luaL_Reg makers[] = {
        {"concatenate", concatenate},
        {"full", full},
        {"zeros", zeros},
        {"ones", ones},
        {"zeros_like", zeros},
        {"ones_like", ones},
        {NULL, NULL},
    };
    luaL_newlib(L, methods);
    luaL_setfuncs(L, makers, 0);
}
