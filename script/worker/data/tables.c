// SPDX-License-Identifier: MIT
// What frames are computed with, for tables.lua: rows chosen, joined, sorted and grouped, functions
// called for each row. Columns are tensors of one number a row, as narrow as column.h makes them;
// rows are i32 tensors, -1 is none.
#include "base/mem.h"
#include "script/worker/tensor/arrays.h"
#include "trainer/data/table/calendar.h"
#include "trainer/data/table/column.h"
#include "trainer/data/table/frame.h"
#include "trainer/data/table/groups.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char groups_name[] = "groups of rows";

static const tensor *check_column(lua_State *L, int arg)
{
    const tensor *t = check_tensor(L, arg);
    luaL_argcheck(L, tensor_row_size(t) == 1 && t->dims >= 1, arg, "a column has one number a row");
    return t;
}

// The tensors of a list, which keeps them; as many rows in each.
static size_t check_columns(lua_State *L, int list, const tensor *out[KEYS_MAX])
{
    luaL_checktype(L, list, LUA_TTABLE);
    lua_Integer n = luaL_len(L, list);
    if (n < 1 || n > KEYS_MAX)
        luaL_error(L, "expects 1 to %d columns, got %d", KEYS_MAX, (int)n);
    for (lua_Integer i = 0; i < n; i++) {
        lua_rawgeti(L, list, i + 1);
        out[i] = check_column(L, lua_gettop(L));
        if (tensor_rows(out[i]) != tensor_rows(out[0]))
            luaL_error(L, "the columns differ in how many rows they have");
        lua_pop(L, 1);
    }
    return (size_t)n;
}

// A column that was made, as columns are kept.
static void push_column(lua_State *L, tensor *t, err *e)
{
    push_tensor(L, column_narrow(t, e), e);
}

// Room for rows, which Lua owns as the i32 tensor that they are to it.
static uint32_t *push_room(lua_State *L, size_t n)
{
    err e;
    push_tensor(L, tensor_new(TENSOR_I32, 1, &n, &e), &e);
    return check_tensor(L, -1)->data;
}

// The first n of the rows in the room on top, alone.
static int push_first(lua_State *L, size_t n)
{
    err e;
    push_tensor(L, tensor_from(TENSOR_I32, 1, &n, check_tensor(L, -1)->data, &e), &e);
    return 1;
}

static const uint32_t *check_rows(lua_State *L, int arg)
{
    const tensor *rows = check_column(L, arg);
    luaL_argcheck(L, rows->type == TENSOR_I32 && !tensor_has_gaps(rows), arg, "rows are i32");
    return rows->data;
}

// take(column, rows, category) → column
static int take(lua_State *L)
{
    err e;
    const tensor *t = check_column(L, 1);
    const uint32_t *row = check_rows(L, 2);
    size_t n = tensor_rows(check_tensor(L, 2)), have = tensor_rows(t);
    for (size_t i = 0; i < n; i++)
        if (row[i] >= have && row[i] != ROW_NONE)
            return luaL_error(
                L, "there is no row %d: the column has %d", (int)(int32_t)row[i], (int)have);
    push_column(L, rows_take(t, row, n, lua_toboolean(L, 3), &e), &e);
    return 1;
}

// rows_of(rows, rows) → the rows of the first that the second names, -1 where one of them is
static int rows_of(lua_State *L)
{
    const uint32_t *row = check_rows(L, 1), *of = check_rows(L, 2);
    size_t n = tensor_rows(check_tensor(L, 2)), have = tensor_rows(check_tensor(L, 1));
    uint32_t *out = push_room(L, n);
    for (size_t i = 0; i < n; i++)
        out[i] = of[i] < have ? row[of[i]] : ROW_NONE;
    return 1;
}

// present(rows) → the places of those that are not -1
static int present(lua_State *L)
{
    const uint32_t *row = check_rows(L, 1);
    size_t n = tensor_rows(check_tensor(L, 1)), found = 0;
    uint32_t *out = push_room(L, n);
    for (size_t i = 0; i < n; i++)
        if (row[i] != ROW_NONE)
            out[found++] = (uint32_t)i;
    return push_first(L, found);
}

// nonzero(column) → rows
static int nonzero(lua_State *L)
{
    const tensor *t = check_column(L, 1);
    size_t n = 0;
    uint32_t *room = push_room(L, tensor_rows(t));
    for (size_t i = 0; i < tensor_rows(t); i++) {
        double v = tensor_at(t, i);
        if (v != 0 && !isnan(v))
            room[n++] = (uint32_t)i;
    }
    return push_first(L, n);
}

// match(keys, other keys) → rows of the other; or nil and a row whose keys are there twice
static int match(lua_State *L)
{
    err e = {0};
    const tensor *keys[KEYS_MAX], *other[KEYS_MAX];
    size_t n = check_columns(L, 1, keys), twice = SIZE_MAX;
    luaL_argcheck(L, check_columns(L, 2, other) == n, 2, "as many columns as the first list");
    uint32_t *room = push_room(L, tensor_rows(keys[0]));
    if (groups_match(keys, other, n, room, &twice, &e) < 0) {
        if (twice == SIZE_MAX)
            raise_err(L, &e);
        lua_pushnil(L);
        lua_pushinteger(L, (lua_Integer)twice);
        return 2;
    }
    return 1;
}

// sort(keys, {descending, …}) → rows
static int sort(lua_State *L)
{
    err e;
    const tensor *keys[KEYS_MAX];
    bool down[KEYS_MAX];
    size_t n = check_columns(L, 1, keys);
    for (size_t k = 0; k < n; k++) {
        lua_rawgeti(L, 2, (lua_Integer)k + 1);
        down[k] = lua_toboolean(L, -1);
        lua_pop(L, 1);
    }
    uint32_t *room = push_room(L, tensor_rows(keys[0]));
    if (rows_sort(keys, down, n, room, &e) < 0)
        raise_err(L, &e);
    return 1;
}

// make_groups(keys) → groups
static int make_groups(lua_State *L)
{
    err e;
    const tensor *keys[KEYS_MAX];
    size_t n = check_columns(L, 1, keys);
    groups *g = lua_newuserdatauv(L, sizeof *g, 0);
    *g = (groups){0};
    luaL_setmetatable(L, groups_name);
    if (groups_make(g, keys, n, &e) < 0)
        raise_err(L, &e);
    return 1;
}

static const groups *check_groups(lua_State *L, int arg)
{
    return luaL_checkudata(L, arg, groups_name);
}

static int close_groups(lua_State *L)
{
    groups_done(luaL_checkudata(L, 1, groups_name));
    return 0;
}

// The values of the rows that were grouped.
static const tensor *check_values(lua_State *L, int arg, const groups *g)
{
    const tensor *t = check_column(L, arg);
    luaL_argcheck(L, tensor_rows(t) == g->rows, arg, "not as many rows as were grouped");
    return t;
}

// groups_first(groups) → the first row of each
static int groups_first(lua_State *L)
{
    const groups *g = check_groups(L, 1);
    uint32_t *room = push_room(L, g->n);
    for (size_t k = 0; k < g->n; k++)
        room[k] = g->row[g->begin[k]];
    return 1;
}

// groups_of(groups) → the group of each row
static int groups_of(lua_State *L)
{
    const groups *g = check_groups(L, 1);
    memcpy(push_room(L, g->rows), g->of, g->rows * sizeof *g->of);
    return 1;
}

static aggregate check_aggregate(lua_State *L, int arg)
{
    err e;
    aggregate how = AGGREGATE_MEAN;
    if (aggregate_parse(luaL_checkstring(L, arg), &how, &e) < 0)
        raise_err(L, &e);
    return how;
}

// aggregate(groups, column, how) → a number for each group
static int aggregate_groups(lua_State *L)
{
    err e;
    const groups *g = check_groups(L, 1);
    const tensor *t = check_values(L, 2, g);
    push_tensor(L, groups_aggregate(g, t, check_aggregate(L, 3), &e), &e);
    return 1;
}

// shift(groups, column, by, category) → column
static int shift(lua_State *L)
{
    err e;
    const groups *g = check_groups(L, 1);
    const tensor *t = check_values(L, 2, g);
    long by = (long)luaL_checkinteger(L, 3);
    push_tensor(L, groups_shift(g, t, by, lua_toboolean(L, 4), &e), &e);
    return 1;
}

// roll(groups, column, how, window, least) → column
static int roll(lua_State *L)
{
    err e;
    const groups *g = check_groups(L, 1);
    const tensor *t = check_values(L, 2, g);
    aggregate how = check_aggregate(L, 3);
    lua_Integer window = luaL_checkinteger(L, 4), least = luaL_checkinteger(L, 5);
    luaL_argcheck(L, window >= 1, 4, "a window has 1 row or more");
    luaL_argcheck(L, least >= 0, 5, "min_periods is 0 or more");
    push_tensor(L, groups_roll(g, t, how, (size_t)window, (size_t)least, &e), &e);
    return 1;
}

// cumulate(groups, column) → column
static int cumulate(lua_State *L)
{
    err e;
    const groups *g = check_groups(L, 1);
    push_tensor(L, groups_cumulate(g, check_values(L, 2, g), &e), &e);
    return 1;
}

// elapsed(groups, flag, when, back) → column
static int elapsed(lua_State *L)
{
    err e;
    const groups *g = check_groups(L, 1);
    const tensor *flag = check_values(L, 2, g), *when = check_values(L, 3, g);
    push_tensor(L, groups_elapsed(g, flag, when, lua_toboolean(L, 4), &e), &e);
    return 1;
}

// describe(column) → how many are not missing, mean, std, min, max (nan when there are none)
static int describe(lua_State *L)
{
    const tensor *t = check_column(L, 1);
    double mean = 0, squares = 0, min = INFINITY, max = -INFINITY, block[COLUMN_BLOCK];
    size_t n = 0, rows = tensor_rows(t);
    for (size_t at = 0, part; at < rows; at += part) {
        part = rows - at < COLUMN_BLOCK ? rows - at : COLUMN_BLOCK;
        tensor_numbers(t, at, part, block);
        for (size_t i = 0; i < part; i++) {
            double v = block[i], off = v - mean; // Welford 1962
            if (isnan(v))
                continue;
            mean += off / (double)++n;
            squares += off * (v - mean);
            min = fmin(min, v);
            max = fmax(max, v);
        }
    }
    lua_pushinteger(L, (lua_Integer)n);
    lua_pushnumber(L, n ? mean : NAN);
    lua_pushnumber(L, n ? sqrt(squares / (double)n) : NAN);
    lua_pushnumber(L, n ? min : NAN);
    lua_pushnumber(L, n ? max : NAN);
    return 5;
}

// date_part(column, name, seconds) → column; without seconds it is of days
static int date_part_of(lua_State *L)
{
    err e;
    enum date_part part;
    const tensor *t = check_column(L, 1);
    if (date_part_parse(luaL_checkstring(L, 2), &part, &e) < 0)
        raise_err(L, &e);
    push_column(L, calendar_parts(t, lua_toboolean(L, 3), part, &e), &e);
    return 1;
}

// days("2015-07-31") → 16647, or nil
static int days_of(lua_State *L)
{
    size_t n;
    int64_t days;
    const char *text = luaL_checklstring(L, 1, &n);
    if (frame_date(text, n, &days))
        lua_pushinteger(L, days);
    else
        lua_pushnil(L);
    return 1;
}

// translate(codes, {[0] = …, …}) → each code's number in the table; 0 where it has none
static int translate(lua_State *L)
{
    err e;
    const tensor *t = check_column(L, 1);
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_Integer n = luaL_len(L, 2);
    int64_t *to = lua_newuserdatauv(L, ((size_t)n + 1) * sizeof *to, 0);
    int64_t least = 0, most = 0, block[COLUMN_BLOCK];
    for (lua_Integer i = 0; i <= n; i++) {
        lua_rawgeti(L, 2, i);
        to[i] = lua_tointeger(L, -1);
        least = to[i] < least ? to[i] : least;
        most = to[i] > most ? to[i] : most;
        lua_pop(L, 1);
    }
    size_t rows = tensor_rows(t);
    push_tensor(L, tensor_new(column_type(least, most), 1, &rows, &e), &e);
    for (size_t at = 0, part; at < rows; at += part) {
        part = rows - at < COLUMN_BLOCK ? rows - at : COLUMN_BLOCK;
        tensor_integers(t, at, part, block);
        for (size_t i = 0; i < part; i++)
            block[i] = block[i] >= 0 && block[i] <= n ? to[block[i]] : 0;
        column_put(check_tensor(L, -1), at, block, part);
    }
    return 1;
}

// narrow(column) → the same as columns are kept
static int narrow(lua_State *L)
{
    err e;
    push_column(L, tensor_ref(check_column(L, 1)), &e);
    return 1;
}

// concat({column, …}) → one below the other: integers when all are, else f32
static int concat(lua_State *L)
{
    err e;
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_Integer n = luaL_len(L, 1);
    size_t rows = 0;
    bool whole = true;
    int64_t least = 0, most = 0, block[COLUMN_BLOCK];
    for (lua_Integer k = 1; k <= n; k++, lua_pop(L, 1)) {
        int64_t from, to;
        lua_rawgeti(L, 1, k);
        const tensor *t = check_column(L, 2);
        rows += tensor_rows(t);
        whole = whole && tensor_is_integer(t);
        if (!whole)
            continue;
        column_range(t, &from, &to);
        least = from < least ? from : least;
        most = to > most ? to : most;
    }
    push_tensor(L, tensor_new(whole ? column_type(least, most) : TENSOR_F32, 1, &rows, &e), &e);
    tensor *out = check_tensor(L, 2);
    size_t row = 0;
    for (lua_Integer k = 1; k <= n; k++, lua_pop(L, 1)) {
        lua_rawgeti(L, 1, k);
        const tensor *t = check_tensor(L, 3);
        size_t have = tensor_rows(t);
        for (size_t at = 0, part; whole && at < have; at += part, row += part) {
            part = have - at < COLUMN_BLOCK ? have - at : COLUMN_BLOCK;
            tensor_integers(t, at, part, block);
            column_put(out, row, block, part);
        }
        for (size_t i = 0; !whole && i < have; i++, row++)
            ((float *)out->data)[row] = (float)tensor_at(t, i);
    }
    return 1;
}

// fill(column, number) → the column with it for nan: integers when all are whole then
static int fill(lua_State *L)
{
    err e;
    const tensor *t = check_column(L, 1);
    double value = luaL_checknumber(L, 2);
    size_t n = tensor_rows(t);
    bool whole = true;
    for (size_t i = 0; i < n && whole; i++) {
        double v = tensor_at(t, i);
        v = isnan(v) ? value : v;
        whole = tensor_is_integer(t) || (v == trunc(v) && fabs(v) < 0x1p53);
    }
    tensor *filled = tensor_new(whole ? TENSOR_I64 : TENSOR_F32, 1, &n, &e);
    void *out = filled ? filled->data : NULL;
    for (size_t i = 0; out && i < n; i++) {
        double v = tensor_at(t, i);
        v = isnan(v) ? value : v;
        if (whole && tensor_is_integer(t))
            ((int64_t *)out)[i] = tensor_integer_at(t, i);
        else if (whole)
            ((int64_t *)out)[i] = (int64_t)v;
        else
            ((float *)out)[i] = (float)v;
    }
    push_column(L, filled, &e);
    return 1;
}

// A row's value of a column for a function: a number, a category's text, nil when it is missing.
static void push_value(lua_State *L, const tensor *t, int categories, size_t row)
{
    if (categories) {
        lua_rawgeti(L, categories, (lua_Integer)tensor_integer_at(t, row));
    } else if (tensor_is_integer(t)) {
        lua_pushinteger(L, (lua_Integer)tensor_integer_at(t, row));
    } else {
        double v = tensor_at(t, row);
        if (isnan(v))
            lua_pushnil(L);
        else
            lua_pushnumber(L, v);
    }
}

enum { MAP_FN = 1, MAP_COLUMNS, MAP_CATEGORIES, MAP_CODES, MAP_NAMES, MAP_ROOM, MAP_FIRST };

// What a function returned for the rows so far.
struct mapped {
    double *value;
    size_t n, numbers, texts;
    bool whole;
};

// Takes the function's result off the stack.
static void keep_result(lua_State *L, struct mapped *m)
{
    int type = lua_type(L, -1);
    double v = NAN;
    if (type == LUA_TSTRING) {
        lua_pushvalue(L, -1);
        if (lua_rawget(L, MAP_CODES) == LUA_TNIL) { // its first appearance
            lua_Integer code = luaL_len(L, MAP_NAMES) + 1;
            lua_pushvalue(L, -2);
            lua_rawseti(L, MAP_NAMES, code);
            lua_pushvalue(L, -2);
            lua_pushinteger(L, code);
            lua_rawset(L, MAP_CODES);
            lua_pushinteger(L, code);
            lua_replace(L, -2);
        }
        v = (double)lua_tointeger(L, -1);
        lua_pop(L, 1);
        m->texts++;
    } else if (type == LUA_TNUMBER || type == LUA_TBOOLEAN) {
        v = type == LUA_TNUMBER ? lua_tonumber(L, -1) : lua_toboolean(L, -1);
        m->whole = m->whole && (type == LUA_TBOOLEAN || lua_isinteger(L, -1));
        m->numbers++;
    } else if (type != LUA_TNIL) {
        luaL_error(L, "row %d: the function returned a %s, not a number, a text or nil", (int)m->n,
            lua_typename(L, type));
    }
    if (m->numbers && m->texts)
        luaL_error(L, "row %d: the function returns numbers as well as texts", (int)m->n);
    if (m->whole && fabs(v) > 0x1p53)
        luaL_error(L, "row %d: an integer beyond 2^53", (int)m->n);
    m->value[m->n++] = v;
    lua_pop(L, 1);
}

// map(fn, {column, …}, {categories or false, …}) → a column of what fn(value, …) returned for each
// row, and its categories if that were texts
static int map(lua_State *L)
{
    err e;
    const tensor *t[KEYS_MAX];
    int categories[KEYS_MAX] = {0};
    lua_settop(L, MAP_CATEGORIES);
    size_t columns = check_columns(L, MAP_COLUMNS, t), rows = tensor_rows(t[0]);
    luaL_checkstack(L, 4 * KEYS_MAX, NULL);
    lua_newtable(L);
    lua_newtable(L);
    struct mapped m = {
        .value = lua_newuserdatauv(L, (rows + 1) * sizeof(double), 0), .whole = true};
    for (size_t k = 0; k < columns; k++) {
        push_tensor(L, tensor_ref(t[k]), &e); // fn may close its own view
        t[k] = check_tensor(L, -1);
        if (lua_rawgeti(L, MAP_CATEGORIES, (lua_Integer)k + 1) == LUA_TTABLE)
            categories[k] = lua_gettop(L);
    }
    for (size_t row = 0; row < rows; row++) {
        lua_pushvalue(L, MAP_FN);
        for (size_t k = 0; k < columns; k++)
            push_value(L, t[k], categories[k], row);
        lua_call(L, (int)columns, 1);
        keep_result(L, &m);
    }
    bool missing = m.numbers + m.texts < rows, whole = m.texts || (m.whole && !missing);
    tensor *made = tensor_new(whole ? TENSOR_I64 : TENSOR_F32, 1, &rows, &e);
    for (size_t i = 0; made && i < rows; i++)
        if (whole)
            ((int64_t *)made->data)[i] = isnan(m.value[i]) ? 0 : (int64_t)m.value[i];
        else
            ((float *)made->data)[i] = (float)m.value[i];
    push_column(L, made, &e);
    if (!m.texts)
        return 1;
    lua_pushvalue(L, MAP_NAMES);
    return 2;
}

void open_tables(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"take", take},
        {"rows_of", rows_of},
        {"present", present},
        {"narrow", narrow},
        {"nonzero", nonzero},
        {"match", match},
        {"sort", sort},
        {"make_groups", make_groups},
        {"groups_first", groups_first},
        {"groups_of", groups_of},
        {"aggregate", aggregate_groups},
        {"shift", shift},
        {"roll", roll},
        {"cumulate", cumulate},
        {"elapsed", elapsed},
        {"describe", describe},
        {"date_part", date_part_of},
        {"days", days_of},
        {"translate", translate},
        {"concat", concat},
        {"fill", fill},
        {"map", map},
        {NULL, NULL},
    };
    luaL_newmetatable(L, groups_name);
    lua_pushcfunction(L, close_groups);
    lua_setfield(L, -2, "__gc");
    lua_pop(L, 1);
    luaL_setfuncs(L, functions, 0);
}
