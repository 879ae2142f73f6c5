// SPDX-License-Identifier: MIT
// The module `data`: data sets and tensors made in Lua.
#include "base/mem.h"
#include "base/os/path.h"
#include "script/worker/core/fields.h"
#include "script/worker/core/state.h"
#include "script/worker/tensor/arrays.h"
#include "trainer/data/idx.h"
#include "trainer/data/mnist.h"
#include "trainer/tensor/arrange.h"

#include <sys/stat.h>

// The first folder with this data set, new; NULL, and e lists all places.
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

// A sum that is known is not made again; those that were made to check the files are told.
static int load_mnist(worker *w, const char *folder, mnist *m, err *e)
{
    mnist_file files[MNIST_FILES];
    struct stat states[MNIST_FILES];
    mnist_find(folder, files);
    for (int i = 0; i < MNIST_FILES; i++)
        if (files[i].path && stat(files[i].path, &states[i]) == 0)
            worker_known_sum(w, files[i].path, &states[i], files[i].sum);
    int result = mnist_load(m, folder, files, 0, 1, e);
    for (int i = 0; i < MNIST_FILES; i++) {
        if (files[i].sum[0])
            worker_know_sum(w, files[i].path, &states[i], files[i].sum);
        if (files[i].path)
            worker_tell_read(w, files[i].path);
    }
    mnist_files_done(files);
    return result;
}

static const char cache_name[] = "data.mnist"; // folder → {train_x, train_y, test_x, test_y}

// Pushes the whole data set of a folder. It is cached, because unpacking takes longer than an
// epoch.
static void push_whole(lua_State *L, const char *folder)
{
    err e;
    mnist m;
    luaL_getsubtable(L, LUA_REGISTRYINDEX, cache_name);
    if (lua_getfield(L, -1, folder) == LUA_TNIL) {
        lua_pop(L, 1);
        if (load_mnist(worker_of(L), folder, &m, &e))
            raise_err(L, &e);
        tensor *parts[] = {m.train_x, m.train_y, m.test_x, m.test_y};
        lua_createtable(L, ARRAY_LEN(parts), 0);
        for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
            push_tensor(L, parts[i], NULL);
            lua_rawseti(L, -2, (lua_Integer)i + 1);
        }
        lua_pushvalue(L, -1);
        lua_setfield(L, -3, folder);
    }
    lua_remove(L, -2);
}

// {x =, y =}: this rank's rows of items i and i + 1 of the table on top.
static void push_part(lua_State *L, int i, int rank, int size)
{
    static const char *const names[] = {"x", "y"};
    err e;
    int whole = lua_gettop(L);
    lua_createtable(L, 0, 2);
    for (int k = 0; k < 2; k++) {
        lua_rawgeti(L, whole, i + k);
        push_tensor(L, tensor_shard(check_tensor(L, -1), rank, size, &e), &e);
        lua_setfield(L, whole + 1, names[k]);
        lua_pop(L, 1);
    }
}

// data.mnist{rank=, size=, path=} → {train = {x, y}, test = {x, y}}
static int data_mnist(lua_State *L)
{
    err e;
    lua_settop(L, 1);
    take_options(L, 1, "data.mnist", "", "path rank size");
    int rank = opt_int32_field(L, 1, "data.mnist", "rank", 0);
    int size = opt_int32_field(L, 1, "data.mnist", "size", 1);
    if (size < 1 || rank < 0 || rank >= size)
        return luaL_error(L, "data.mnist: rank %d is not in [0, %d)", rank, size);
    const char *path = opt_string_field(L, 1, "data.mnist", "path");
    if (!path) {
        char *folder = find_folder(worker_of(L), "mnist", &e);
        if (!folder)
            raise_err(L, &e);
        path = lua_pushstring(L, folder);
        free(folder);
    }
    push_whole(L, path);
    int whole = lua_gettop(L);
    lua_createtable(L, 0, 2);
    lua_pushvalue(L, whole);
    push_part(L, 1, rank, size);
    lua_setfield(L, whole + 1, "train");
    push_part(L, 3, rank, size);
    lua_setfield(L, whole + 1, "test");
    lua_settop(L, whole + 1);
    return 1;
}

static int data_idx(lua_State *L)
{
    err e;
    worker_tell_read(worker_of(L), luaL_checkstring(L, 1));
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
        if (t->type == TENSOR_I64 && lua_isinteger(L, -1))
            ((int64_t *)t->data)[at] = lua_tointeger(L, -1); // a double does not hold all of them
        else if (tensor_set(t, at, lua_tonumber(L, -1), &e))
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

// data.tensor({{1, 2}, {3, 4}}, {dtype = "i64"}): f32 unless dtype says otherwise. The small
// integers are made of i64.
static int data_tensor(lua_State *L)
{
    static const char *const names[] = {"f32", "i64", "i32", "i16", "u8", NULL};
    static const tensor_type types[] = {TENSOR_F32, TENSOR_I64, TENSOR_I32, TENSOR_I16, TENSOR_U8};
    err e;
    size_t shape[TENSOR_MAX_DIMS];
    luaL_checktype(L, 1, LUA_TTABLE);
    if (lua_istable(L, 2))
        lua_getfield(L, 2, "dtype");
    else
        lua_pushnil(L);
    int type = luaL_checkoption(L, -1, "f32", names);
    int dims = measure(L, 1, shape);
    push_tensor(L, tensor_new(type ? TENSOR_I64 : TENSOR_F32, dims, shape, &e), &e);
    bool integer = true;
    lua_pushvalue(L, 1);
    fill(L, check_tensor(L, -2), 0, 0, &integer);
    lua_pop(L, 1);
    if (type && !integer)
        return luaL_error(
            L, "data.tensor: dtype %s, but there are numbers with a fraction", names[type]);
    if (type > 1)
        push_tensor(L, tensor_cast(check_tensor(L, -1), types[type], &e), &e);
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
    add_arrays(L);
    open_arrays(L);
    return 2;
}
