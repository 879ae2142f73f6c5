// SPDX-License-Identifier: MIT
// The part of the module `data` that is about files of arrays and tables: data.lua makes frames of
// what comes from here.
#include "script/worker/tensor/arrays.h"

#include "base/os/path.h"
#include "script/worker/core/fields.h"
#include "trainer/data/mapped.h"
#include "trainer/data/npy.h"
#include "trainer/data/npz.h"
#include "trainer/data/table/column.h"
#include "trainer/data/table/csv.h"
#include "trainer/data/table/frame.h"
#include "trainer/files/safetensors.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

// data.npy(path, {mmap = false}) → tensor
static int data_npy(lua_State *L)
{
    err e;
    const char *path = luaL_checkstring(L, 1);
    take_options(L, 2, "data.npy", "", "mmap");
    bool map = opt_bool_field(L, 2, "data.npy", "mmap", false);
    worker_tell_read(worker_of(L), path);
    push_tensor(L, map ? npy_map(path, &e) : npy_read(path, &e), &e);
    return 1;
}

// read_all(safetensors as a light userdata) → {name = tensor, …}; called protected, since each
// tensor may raise.
static int read_all(lua_State *L)
{
    err e;
    const char *name;
    const safetensors *s = lua_touserdata(L, 1);
    lua_newtable(L);
    for (size_t i = 0; (name = safetensors_name(s, i)); i++) {
        push_tensor(L, safetensors_get(s, name, &e), &e);
        lua_setfield(L, -2, name);
    }
    return 1;
}

// data.safetensors(path) → {name = tensor, …}
static int data_safetensors(lua_State *L)
{
    err e;
    mapped file;
    safetensors s;
    const char *path = luaL_checkstring(L, 1);
    worker_tell_read(worker_of(L), path);
    if (mapped_open(&file, path, &e) < 0)
        raise_err(L, &e);
    if (safetensors_open(&s, file.bytes, file.n, &e) < 0) {
        mapped_close(&file);
        err_wrap(&e, "%s", path);
        raise_err(L, &e);
    }
    lua_pushcfunction(L, read_all);
    lua_pushlightuserdata(L, &s);
    int status = lua_pcall(L, 1, 1, 0);
    safetensors_done(&s);
    mapped_close(&file);
    if (status != LUA_OK)
        lua_error(L);
    return 1;
}

// data.npz(path) → {name = tensor, …}
static int data_npz(lua_State *L)
{
    err e;
    npz arrays;
    worker_tell_read(worker_of(L), luaL_checkstring(L, 1));
    if (npz_read(luaL_checkstring(L, 1), &arrays, &e) < 0) {
        npz_done(&arrays);
        raise_err(L, &e);
    }
    lua_createtable(L, 0, (int)arrays.n);
    for (size_t i = 0; i < arrays.n; i++) {
        tensor *t = arrays.item[i].t;
        arrays.item[i].t = NULL;
        push_tensor(L, t, NULL);
        lua_setfield(L, -2, arrays.item[i].name);
    }
    npz_done(&arrays);
    return 1;
}

// options(given, what, places, names) → the options by name
static int named_options(lua_State *L)
{
    take_options(L, 1, luaL_checkstring(L, 2), luaL_checkstring(L, 3), luaL_checkstring(L, 4));
    lua_settop(L, 1);
    return 1;
}

// check_names(given, what, names): for lists of columns that have options beside them
static int check_names(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    check_field_names(L, 1, luaL_checkstring(L, 2), luaL_checkstring(L, 3));
    return 0;
}

// write(path, text)
static int write_bytes(lua_State *L)
{
    err e;
    size_t n;
    const char *path = luaL_checkstring(L, 1), *text = luaL_checklstring(L, 2, &n);
    if (path_update(path, text, n, 0644, &e) < 0)
        raise_err(L, &e);
    return 0;
}

// write_npy(path, tensor)
static int write_npy(lua_State *L)
{
    err e;
    if (npy_write(luaL_checkstring(L, 1), check_tensor(L, 2), &e) < 0)
        raise_err(L, &e);
    return 0;
}

// How many tensors {name, tensor, name, tensor, …} at index 2 has. It raises before anything is
// made.
static lua_Integer check_named(lua_State *L)
{
    lua_Integer n = luaL_len(L, 2) / 2;
    for (lua_Integer i = 0; i < n; i++) {
        lua_rawgeti(L, 2, 2 * i + 1);
        lua_rawgeti(L, 2, 2 * i + 2);
        luaL_checkstring(L, -2);
        check_tensor(L, -1);
        lua_pop(L, 2);
    }
    return n;
}

// write_safetensors(path, {name, tensor, name, tensor, …})
static int write_safetensors(lua_State *L)
{
    err e;
    const char *path = luaL_checkstring(L, 1);
    lua_Integer n = check_named(L);
    safetensors_writer w;
    AUTO_BUF out = {0};
    safetensors_begin(&w);
    for (lua_Integer i = 0; i < n; i++) {
        lua_rawgeti(L, 2, 2 * i + 1);
        lua_rawgeti(L, 2, 2 * i + 2);
        safetensors_add(&w, lua_tostring(L, -2), check_tensor(L, -1));
        lua_pop(L, 2);
    }
    safetensors_finish(&w, &out);
    int status = path_update(path, out.data, out.len, 0644, &e);
    buf_done(&out);
    if (status < 0)
        raise_err(L, &e);
    return 0;
}

// write_npz(path, {name, tensor, name, tensor, …}, compress)
static int write_npz(lua_State *L)
{
    err e;
    const char *path = luaL_checkstring(L, 1);
    lua_Integer n = check_named(L);
    npz arrays = {0};
    for (lua_Integer i = 0; i < n; i++) {
        lua_rawgeti(L, 2, 2 * i + 1);
        lua_rawgeti(L, 2, 2 * i + 2);
        const char *name = lua_tostring(L, -2);
        npz_add(&arrays, name, strlen(name), tensor_ref(check_tensor(L, -1)));
        lua_pop(L, 2);
    }
    int status = npz_write(path, &arrays, lua_toboolean(L, 3), &e);
    npz_done(&arrays);
    if (status < 0)
        raise_err(L, &e);
    return 0;
}

// The strings of a list, borrowed from it, in memory of Lua's that is pushed; NULL-terminated.
static const char *const *string_list(lua_State *L, int table, const char *field)
{
    if (lua_getfield(L, table, field) == LUA_TNIL)
        return NULL;
    if (!lua_istable(L, -1))
        luaL_error(L, "data.csv: %s must be a list of names", field);
    int list = lua_gettop(L);
    lua_Integer n = luaL_len(L, list);
    const char **out = lua_newuserdatauv(L, ((size_t)n + 1) * sizeof *out, 0);
    for (lua_Integer i = 0; i < n; i++) {
        if (lua_rawgeti(L, list, i + 1) != LUA_TSTRING)
            luaL_error(L, "data.csv: %s must be a list of names", field);
        out[i] = lua_tostring(L, -1);
        lua_pop(L, 1);
    }
    out[n] = NULL;
    return out;
}

// known = {{name =, kind =, categories =}, …}. Nothing here raises while `known` is not Lua's.
static int read_known(lua_State *L, int list, frame *known, err *e)
{
    lua_Integer n = (lua_Integer)lua_rawlen(L, list);
    for (lua_Integer i = 1; i <= n; i++) {
        lua_rawgeti(L, list, i);
        lua_getfield(L, -1, "name");
        lua_getfield(L, -2, "kind");
        const char *name = lua_tostring(L, -2), *kind = lua_tostring(L, -1);
        frame_kind k;
        if (!name || !kind || frame_kind_parse(kind, &k, e) < 0)
            return -1;
        frame_column *c = frame_add(known, name, strlen(name));
        c->kind = k;
        c->fixed = lua_getfield(L, -3, "categories") == LUA_TTABLE;
        lua_Integer categories = c->fixed ? (lua_Integer)lua_rawlen(L, -1) : 0;
        for (lua_Integer j = 1; j <= categories; j++) {
            size_t length;
            lua_rawgeti(L, -1, j);
            const char *text = lua_tolstring(L, -1, &length);
            if (text)
                frame_add_category(c, text, length);
            lua_pop(L, 1);
        }
        lua_pop(L, 4);
    }
    return 0;
}

static void set_number(lua_State *L, const char *name, double value)
{
    push_double(L, value);
    lua_setfield(L, -2, name);
}

static void push_about(lua_State *L, const frame_column *c)
{
    lua_createtable(L, 0, 5);
    lua_pushinteger(L, (lua_Integer)c->missing);
    lua_setfield(L, -2, "missing");
    if (c->kind == FRAME_CATEGORY || !c->seen)
        return;
    set_number(L, "mean", c->mean);
    set_number(L, "std", frame_std(c));
    set_number(L, "min", c->min);
    set_number(L, "max", c->max);
}

// A column as data.lua describes it.
static void push_column(lua_State *L, frame_column *c)
{
    lua_createtable(L, 0, 5);
    lua_pushstring(L, c->name);
    lua_setfield(L, -2, "name");
    lua_pushstring(L, frame_kind_name(c->kind));
    lua_setfield(L, -2, "kind");
    tensor *values = c->values;
    c->values = NULL;
    push_tensor(L, values, NULL);
    lua_setfield(L, -2, "stored");
    push_about(L, c);
    lua_setfield(L, -2, "about");
    if (c->kind == FRAME_CATEGORY) {
        lua_createtable(L, (int)c->category_n, 0);
        for (size_t i = 0; i < c->category_n; i++) {
            lua_pushstring(L, c->categories[i]);
            lua_rawseti(L, -2, (lua_Integer)i + 1);
        }
        lua_setfield(L, -2, "categories");
    }
}

// An option that is one character of ASCII, none of those that CSV itself uses; 0: it is not given.
static char one_character(lua_State *L, const char *field)
{
    const char *text = opt_string_field(L, 1, "data.csv", field);
    if (text && (strlen(text) != 1 || strchr("\"\r\n", *text)))
        luaL_error(L, "data.csv: %s must be one character, got '%s'", field, text);
    return text ? *text : 0;
}

static void read_format(lua_State *L, frame_spec *spec)
{
    csv_encoding encoding = CSV_UTF8;
    const char *name = opt_string_field(L, 1, "data.csv", "encoding");
    int64_t skip = opt_int_field(L, 1, "data.csv", "skiprows", 0);
    if (name && !csv_encoding_parse(name, &encoding))
        luaL_error(
            L, "data.csv: encoding must be \"utf-8\", \"latin-1\" or \"cp1252\", got \"%s\"", name);
    if (skip < 0)
        luaL_error(L, "data.csv: skiprows must be a number of lines, got %I", (lua_Integer)skip);
    spec->separator = one_character(L, "separator");
    spec->comment = one_character(L, "comment");
    spec->decimal = one_character(L, "decimal");
    spec->thousands = one_character(L, "thousands");
    spec->skip = (size_t)skip;
    spec->encoding = encoding;
    spec->headless = opt_bool_field(L, 1, "data.csv", "headless", false);
    spec->date_format = opt_string_field(L, 1, "data.csv", "date_format");
    char separator = spec->separator ? spec->separator : ',',
         decimal = spec->decimal ? spec->decimal : '.';
    if (decimal == separator)
        luaL_error(L,
            "data.csv: '%c' stands in numbers and between fields: such a file has another "
            "separator, as separator = \";\"",
            separator);
    if (decimal == spec->thousands)
        luaL_error(L, "data.csv: decimal and thousands are both '%c'", decimal);
    if (isalnum((unsigned char)decimal) || isalnum((unsigned char)spec->thousands))
        luaL_error(L, "data.csv: decimal and thousands are no letters or digits");
}

// read_csv{path =, names =, missing =, only =, true_values =, false_values =, known =, rank =, size
// =, and the options of read_format} → the list of columns and the number of rows
static int read_csv(lua_State *L)
{
    err e = {0};
    frame_spec spec = {0};
    frame known = {0}, out;
    luaL_checktype(L, 1, LUA_TTABLE);
    const char *path = opt_string_field(L, 1, "data.csv", "path");
    read_format(L, &spec);
    spec.rank = opt_int32_field(L, 1, "data.csv", "rank", 0);
    spec.size = opt_int32_field(L, 1, "data.csv", "size", 1);
    if (spec.size < 1 || spec.rank < 0 || spec.rank >= spec.size)
        return luaL_error(L, "data.csv: rank %d is not in [0, %d)", spec.rank, spec.size);
    spec.names = string_list(L, 1, "names");
    spec.missing = string_list(L, 1, "missing");
    spec.only = string_list(L, 1, "only");
    spec.yes = string_list(L, 1, "true_values");
    spec.no = string_list(L, 1, "false_values");
    luaL_checkstack(L, 20, NULL);
    int status = 0;
    if (lua_getfield(L, 1, "known") == LUA_TTABLE)
        status = read_known(L, lua_gettop(L), &known, &e);
    spec.known = &known;
    worker_tell_read(worker_of(L), path);
    if (status == 0)
        status = frame_read(path, &spec, &out, &e);
    else
        out = (frame){0};
    frame_done(&known);
    if (status < 0) {
        frame_done(&out);
        raise_err(L, &e);
    }
    for (char *line = out.note, *end; line && *line && spec.rank == 0; line = end + 1) {
        end = strchr(line, '\n');
        fprintf(stderr, "data.csv: %s:%.*s\n", path, (int)(end - line), line);
    }
    lua_createtable(L, (int)out.n, 0);
    for (size_t i = 0; i < out.n; i++) {
        push_column(L, &out.column[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lua_pushinteger(L, (lua_Integer)out.rows);
    frame_done(&out);
    return 2;
}

// Number k of the list at `list`, if that is one.
static double number_of(lua_State *L, int list, size_t k, double otherwise)
{
    if (!lua_istable(L, list))
        return otherwise;
    if (lua_rawgeti(L, list, (lua_Integer)k + 1) == LUA_TNUMBER)
        otherwise = lua_tonumber(L, -1);
    lua_pop(L, 1);
    return otherwise;
}

static void stack_integers(const tensor *t, size_t at, size_t n, int64_t *out, size_t step)
{
    int64_t block[COLUMN_BLOCK];
    tensor_integers(t, at, n, block);
    for (size_t i = 0; i < n; i++)
        out[i * step] = block[i];
}

struct change {
    double subtract, divide, missing;
};

static void stack_numbers(
    const tensor *t, size_t at, size_t n, float *out, size_t step, struct change c)
{
    double block[COLUMN_BLOCK];
    tensor_numbers(t, at, n, block);
    for (size_t i = 0; i < n; i++) {
        double v = isnan(block[i]) ? c.missing : block[i];
        out[i * step] = (float)((v - c.subtract) / c.divide);
    }
}

// stack({tensor, …}, integers, {subtract, …}, {divide, …}, {missing, …}): n numbers each become
// (n, columns). A nan becomes `missing`, if there is one; then (value - subtract) / divide.
static int stack(lua_State *L)
{
    err e;
    lua_settop(L, 5);
    luaL_checktype(L, 1, LUA_TTABLE);
    size_t columns = (size_t)luaL_len(L, 1), rows = 0;
    for (size_t k = 0; k < columns; k++) {
        lua_rawgeti(L, 1, (lua_Integer)k + 1);
        const tensor *t = check_tensor(L, -1);
        if (tensor_row_size(t) != 1 || (k && tensor_rows(t) != rows))
            return luaL_error(L, "columns have one number for each row, and as many rows");
        rows = tensor_rows(t);
        lua_pop(L, 1);
    }
    bool integers = lua_toboolean(L, 2);
    push_tensor(
        L, tensor_new(integers ? TENSOR_I64 : TENSOR_F32, 2, (size_t[]){rows, columns}, &e), &e);
    tensor *out = check_tensor(L, -1);
    // A block of rows stays in the cache until all of its columns are there.
    for (size_t at = 0, n; at < rows; at += n) {
        n = rows - at < COLUMN_BLOCK ? rows - at : COLUMN_BLOCK;
        for (size_t k = 0; k < columns; k++) {
            lua_rawgeti(L, 1, (lua_Integer)k + 1);
            const tensor *t = check_tensor(L, -1);
            if (integers)
                stack_integers(t, at, n, (int64_t *)out->data + at * columns + k, columns);
            else
                stack_numbers(t, at, n, (float *)out->data + at * columns + k, columns,
                    (struct change){
                        number_of(L, 3, k, 0), number_of(L, 4, k, 1), number_of(L, 5, k, NAN)});
            lua_pop(L, 1);
        }
    }
    return 1;
}

// one_hot(i64 (rows), classes) → f32 (rows, classes)
static int one_hot(lua_State *L)
{
    err e;
    const tensor *y = check_tensor(L, 1);
    size_t classes = (size_t)luaL_checkinteger(L, 2), rows = tensor_rows(y);
    push_tensor(L, tensor_new(TENSOR_F32, 2, (size_t[]){rows, classes}, &e), &e);
    tensor *out = check_tensor(L, -1);
    for (size_t i = 0; i < rows; i++) {
        size_t class = (size_t)tensor_at(y, i);
        luaL_argcheck(L, class < classes, 1, "a label is no class");
        ((float *)out->data)[i * classes + class] = 1;
    }
    return 1;
}

void add_arrays(lua_State *L)
{
    static const luaL_Reg public[] = {
        {"npy", data_npy}, {"npz", data_npz}, {"safetensors", data_safetensors}, {NULL, NULL}};
    luaL_setfuncs(L, public, 0);
}

int open_arrays(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"options", named_options},
        {"check_names", check_names},
        {"write", write_bytes},
        {"write_npy", write_npy},
        {"write_npz", write_npz},
        {"write_safetensors", write_safetensors},
        {"read_csv", read_csv},
        {"stack", stack},
        {"one_hot", one_hot},
        {"unpack_parquet", unpack_parquet},
        {"remove", remove_folder},
        {"read_image", read_image},
        {"read_images", read_images},
        {NULL, NULL},
    };
    luaL_newlib(L, functions);
    open_tables(L);
    return 1;
}
