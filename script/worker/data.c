// SPDX-License-Identifier: MIT
// The module `data`: data sets and tensors made in Lua.
#include "base/mem.h"
#include "base/path.h"
#include "script/worker/state.h"
#include "trainer/data/idx.h"
#include "trainer/data/mnist.h"

static const char *opt_field(lua_State *L, int table, const char *name)
{
    if (!lua_istable(L, table))
        return NULL;
    lua_getfield(L, table, name);
    const char *value = lua_tostring(L, -1); // the table keeps it
    lua_pop(L, 1);
    return value;
}

static int int_field(lua_State *L, int table, const char *name, int otherwise)
{
    if (!lua_istable(L, table) || lua_getfield(L, table, name) == LUA_TNIL)
        return otherwise;
    int is_integer;
    lua_Integer value = lua_tointegerx(L, -1, &is_integer);
    if (!is_integer)
        luaL_error(
            L, "data.mnist: '%s' must be an integer, got %s", name, luaL_tolstring(L, -1, NULL));
    return (int)value;
}

// The first folder that has it, new; NULL with all places in e.
static char *find_folder(const worker *w, const char *name, err *e)
{
    AUTO_BUF places = {0};
    for (const char *const *f = w->options.data_folders; *f; f++) {
        AUTO_FREE char *folder = path_join(*f, name);
        if (mnist_is_folder(folder))
            return STEAL(folder);
        buf_fmt(&places, "%s%s", places.len ? ", " : "", folder);
    }
    err_set(e, ERR_NOT_FOUND,
        "cannot find the data set \"%s\"; looked in %s. FIRESTEEL_DATA names the folder that holds "
        "\"%s\"",
        name, buf_cstr(&places), name);
    return NULL;
}

static int load(const worker *w, mnist *m, const char *path, int rank, int size, err *e)
{
    AUTO_FREE char *folder = path ? mem_strdup(path) : find_folder(w, "mnist", e);
    return folder ? mnist_load(m, folder, rank, size, e) : -1;
}

static void push_part(lua_State *L, tensor *x, tensor *y)
{
    lua_createtable(L, 0, 2);
    push_tensor(L, x, NULL);
    lua_setfield(L, -2, "x");
    push_tensor(L, y, NULL);
    lua_setfield(L, -2, "y");
}

// data.mnist{rank=, size=, path=} → {train = {x, y}, test = {x, y}}
static int data_mnist(lua_State *L)
{
    err e;
    mnist m;
    if (!lua_isnoneornil(L, 1))
        luaL_checktype(L, 1, LUA_TTABLE);
    int rank = int_field(L, 1, "rank", 0), size = int_field(L, 1, "size", 1);
    if (size < 1 || rank < 0 || rank >= size)
        return luaL_error(L, "data.mnist: rank %d is not in [0, %d)", rank, size);
    if (load(worker_of(L), &m, opt_field(L, 1, "path"), rank, size, &e))
        raise_err(L, &e);
    lua_createtable(L, 0, 2);
    push_part(L, m.train_x, m.train_y);
    lua_setfield(L, -2, "train");
    push_part(L, m.test_x, m.test_y);
    lua_setfield(L, -2, "test");
    return 1;
}

static int data_idx(lua_State *L)
{
    err e;
    push_tensor(L, idx_read(luaL_checkstring(L, 1), NULL, &e), &e);
    return 1;
}

// The shape of nested tables, from their first items.
static int measure(lua_State *L, int arg, size_t shape[TENSOR_MAX_DIMS])
{
    int dims = 0;
    lua_pushvalue(L, arg);
    while (lua_istable(L, -1)) {
        if (dims == TENSOR_MAX_DIMS)
            return luaL_error(L, "data.tensor: more than %d dimensions", TENSOR_MAX_DIMS);
        shape[dims++] = (size_t)luaL_len(L, -1);
        lua_geti(L, -1, 1);
        lua_remove(L, -2);
    }
    lua_pop(L, 1);
    return dims;
}

static size_t fill(lua_State *L, tensor *t, int dim, size_t at, bool *integer)
{
    err e;
    if (dim == t->dims) {
        if (lua_type(L, -1) != LUA_TNUMBER)
            luaL_error(L, "data.tensor: a %s among the numbers", luaL_typename(L, -1));
        *integer = *integer && lua_isinteger(L, -1);
        if (tensor_set(t, at, lua_tonumber(L, -1), &e))
            raise_err(L, &e);
        return at + 1;
    }
    if (!lua_istable(L, -1) || (size_t)luaL_len(L, -1) != t->shape[dim])
        luaL_error(L, "data.tensor: rows differ in length");
    luaL_checkstack(L, 2, NULL);
    for (size_t i = 1; i <= t->shape[dim]; i++) {
        lua_geti(L, -1, (lua_Integer)i);
        at = fill(L, t, dim + 1, at, integer);
        lua_pop(L, 1);
    }
    return at;
}

// data.tensor({{1, 2}, {3, 4}}, {dtype = "i64"}): f32 unless dtype says otherwise.
static int data_tensor(lua_State *L)
{
    static const char *const names[] = {"f32", "i64", NULL};
    static const tensor_type types[] = {TENSOR_F32, TENSOR_I64};
    err e;
    size_t shape[TENSOR_MAX_DIMS];
    luaL_checktype(L, 1, LUA_TTABLE);
    if (lua_istable(L, 2))
        lua_getfield(L, 2, "dtype");
    else
        lua_pushnil(L);
    int type = luaL_checkoption(L, -1, "f32", names);
    int dims = measure(L, 1, shape);
    push_tensor(L, tensor_new(types[type], dims, shape, &e), &e);
    bool integer = true;
    lua_pushvalue(L, 1);
    fill(L, check_tensor(L, -2), 0, 0, &integer);
    lua_pop(L, 1);
    if (types[type] == TENSOR_I64 && !integer)
        return luaL_error(L, "data.tensor: dtype i64, but there are numbers with a fraction");
    return 1;
}

int open_data(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"mnist", data_mnist},
        {"idx", data_idx},
        {"tensor", data_tensor},
        {NULL, NULL},
    };
    luaL_newlib(L, functions);
    return 1;
}
