// SPDX-License-Identifier: MIT
#include "script/worker/nn/attributes.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

// What nn.lua calls the values of an option, which it checks when an object is made.
static const char *type_of(const attribute *a)
{
    static const char *const types[] = {
        [ATTRIBUTE_SIZE] = "integer",
        [ATTRIBUTE_NUMBER] = "number",
        [ATTRIBUTE_FLOAT] = "number",
        [ATTRIBUTE_RATE] = "rate", // a number or a schedule
        [ATTRIBUTE_WHOLE] = "integer",
        [ATTRIBUTE_BOOL] = "boolean",
        [ATTRIBUTE_NOT] = "boolean",
        [ATTRIBUTE_CHOICE] = "string",
        [ATTRIBUTE_SHAPE] = "table",
        [ATTRIBUTE_OPEN_SHAPE] = "table",
        [ATTRIBUTE_AXIS] = "integer",
    };
    if (a->type == ATTRIBUTE_CHOICE && !a->parse)
        return "choice"; // in any case
    if (a->type == ATTRIBUTE_LUA && (a->whole || (a->signature && a->signature[0] == '{')))
        return a->whole ? "integer" : "table";
    return a->type < ARRAY_LEN(types) && types[a->type] ? types[a->type] : "any";
}

void add_class_field(lua_State *L, int class, const char *name, const char *type)
{
    lua_getfield(L, class, "fields");
    lua_pushstring(L, type);
    lua_setfield(L, -2, name);
    lua_pop(L, 1);
}

void push_class(lua_State *L, const declaration *d)
{
    lua_Integer n = 0;
    lua_createtable(L, 0, 4);
    lua_pushstring(L, d->name);
    lua_setfield(L, -2, "name");
    lua_pushstring(L, d->rest);
    lua_setfield(L, -2, "rest");
    lua_pushstring(L, d->other);
    lua_setfield(L, -2, "other");
    lua_newtable(L);
    for (const attribute *a = attribute_next(d, NULL); a; a = attribute_next(d, a))
        if (a->type == ATTRIBUTE_NUMBER) {
            lua_pushnumber(L, a->otherwise);
            lua_setfield(L, -2, a->name);
        }
    lua_setfield(L, -2, "defaults");
    lua_newtable(L);
    for (const char *at = d->places; at && *at; at += strspn(at, " ")) {
        lua_pushlstring(L, at, strcspn(at, " "));
        lua_rawseti(L, -2, ++n);
        at += strcspn(at, " ");
    }
    lua_setfield(L, -2, "order");
    lua_newtable(L);
    lua_setfield(L, -2, "fields");
    for (const attribute *a = attribute_next(d, NULL); a; a = attribute_next(d, a))
        if (!a->no_option)
            add_class_field(L, lua_gettop(L), a->name, type_of(a));
}

struct reading {
    lua_State *L;
    const declaration *d;
    const attribute *a;
    int kept;
};

static _Noreturn void refuse(const struct reading *r, const err *e)
{
    luaL_error(r->L, "%s: %s", r->d->name, e->text);
    __builtin_unreachable();
}

static _Noreturn void wrong(const struct reading *r, const char *must)
{
    luaL_error(r->L, "%s: %s must be %s, got %s", r->d->name, r->a->name, must,
        luaL_tolstring(r->L, -1, NULL));
    __builtin_unreachable();
}

// The value on top of the stack, which is a number of the attribute's range. nan has no sign in
// messages.
static double take_number(const struct reading *r, bool whole)
{
    err e;
    if (lua_type(r->L, -1) != LUA_TNUMBER || (whole && !lua_isinteger(r->L, -1)))
        wrong(r, whole ? "an integer" : "a number");
    double value = lua_tonumber(r->L, -1);
    if (r->d->checked_later)
        return isnan(value) ? NAN : value;
    const char *got = isnan(value) ? "nan" : luaL_tolstring(r->L, -1, NULL);
    if (attribute_check_number(r->a, value, got, &e) < 0)
        refuse(r, &e);
    return isnan(value) ? NAN : value;
}

// `1`, `{1}` or for several `{1, 2}`: positive integers.
static void take_window(const struct reading *r, size_t *out)
{
    lua_State *L = r->L;
    int at = lua_gettop(L), most = r->a->type == ATTRIBUTE_PAIR ? 2 : 1;
    bool list = lua_istable(L, at), good = list ? luaL_len(L, at) == most : true;
    for (int i = 0; good && i < most; i++) {
        if (list)
            lua_geti(L, at, i + 1);
        good = lua_isinteger(L, -1) && lua_tointeger(L, -1) > 0 &&
               lua_tointeger(L, -1) <= (lua_Integer)r->a->most;
        out[i] = good ? (size_t)lua_tointeger(L, -1) : 0;
        lua_settop(L, at);
    }
    if (!good)
        luaL_error(L, "%s: %s must be a positive integer%s", r->d->name, r->a->name,
            most == 2 ? " or two of them" : "");
}

// Pushes item i of two, or the value at `at` itself, which then counts for both.
static void push_side(lua_State *L, int at, int i)
{
    if (lua_istable(L, at) && luaL_len(L, at) == 2)
        lua_geti(L, at, i + 1);
    else
        lua_pushvalue(L, at);
}

static void take_sides(const struct reading *r, size_t *out)
{
    lua_State *L = r->L;
    int at = lua_gettop(L);
    for (int i = 0; i < 4; i++) {
        push_side(L, at, i / 2);
        push_side(L, at + 1, i % 2);
        if (!lua_isinteger(L, -1) || lua_tointeger(L, -1) < 0)
            luaL_error(L,
                "%s: %s must be an integer of 0 or more, { rows, columns } or { { top, bottom }, { "
                "left, right } }",
                r->d->name, r->a->name);
        out[i] = (size_t)lua_tointeger(L, -1);
        lua_settop(L, at);
    }
}

// The dimension on top of the stack.
static int take_dimension(const struct reading *r)
{
    lua_Integer axis = lua_tointeger(r->L, -1);
    if (axis == 0 && r->a->type == ATTRIBUTE_AXIS)
        luaL_error(r->L,
            "%s: %s must not be 0, which are the rows: -1 is the last dimension, 1 the first of a "
            "row",
            r->d->name, r->a->name);
    if (!lua_isinteger(r->L, -1) || axis == 0 || axis < -TENSOR_MAX_DIMS || axis > TENSOR_MAX_DIMS)
        wrong(r, "that of a dimension, 1 or -1 and so on");
    return (int)axis;
}

static void take_axes(const struct reading *r, axis_range *out)
{
    lua_State *L = r->L;
    int at = lua_gettop(L), least = TENSOR_MAX_DIMS, most = -TENSOR_MAX_DIMS;
    lua_Integer n = lua_istable(L, at) ? luaL_len(L, at) : 1;
    if (n < 1 || (!lua_istable(L, at) && !lua_isinteger(L, at)))
        wrong(r, "an integer, or a list of them");
    bool seen[2 * TENSOR_MAX_DIMS + 1] = {0}, twice = false;
    for (lua_Integer i = 1; i <= n; i++) {
        if (lua_istable(L, at))
            lua_geti(L, at, i);
        int axis = take_dimension(r);
        twice |= seen[axis + TENSOR_MAX_DIMS];
        seen[axis + TENSOR_MAX_DIMS] = true;
        least = axis < least ? axis : least;
        most = axis > most ? axis : most;
        lua_settop(L, at);
    }
    if (twice || most - least + 1 != n)
        luaL_error(L, "%s: %s must list dimensions that follow each other", r->d->name, r->a->name);
    *out = (axis_range){least, (size_t)n};
}

static void take_numbers(const struct reading *r, number_list *out)
{
    lua_State *L = r->L;
    int at = lua_gettop(L);
    lua_Integer n = lua_istable(L, at) ? luaL_len(L, at) : 1;
    if (n > NUMBERS_MOST)
        luaL_error(L, "%s: %s has more than %d numbers", r->d->name, r->a->name, NUMBERS_MOST);
    double *values = lua_newuserdatauv(L, ((size_t)n + 1) * sizeof *values, 0);
    lua_rawsetp(L, r->kept, values);
    for (lua_Integer i = 0; i < n; i++) {
        if (lua_istable(L, at))
            lua_geti(L, at, i + 1);
        values[i] = lua_tonumber(L, -1);
        lua_settop(L, at);
    }
    *out = (number_list){values, (size_t)n};
}

int read_sizes(
    lua_State *L, int table, const char *what, const char *field, size_t *out, int most, bool open)
{
    if (lua_getfield(L, table, field) == LUA_TNIL) {
        lua_pop(L, 1);
        return -1;
    }
    lua_Integer n = lua_istable(L, -1) ? luaL_len(L, -1) : 0;
    if (n > most)
        luaL_error(L, "%s: %s has more than %d dimensions", what, field, most);
    for (int i = 0; i < n; i++) {
        lua_geti(L, -1, i + 1);
        lua_Integer size = lua_tointeger(L, -1);
        if ((size < 1 && !(open && size == -1)) || size > INT32_MAX)
            luaL_error(L, "%s: %s must be positive integers, got %s", what, field,
                luaL_tolstring(L, -1, NULL));
        out[i] = size < 0 ? 0 : (size_t)size;
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return (int)n;
}

static void take_shape(const struct reading *r, int table, row_shape *out)
{
    bool open = r->a->type == ATTRIBUTE_OPEN_SHAPE;
    int n = read_sizes(r->L, table, r->d->name, r->a->name, out->size, TENSOR_MAX_DIMS, open);
    out->dims = n < 0 ? 0 : n;
}

static void take_choice(const struct reading *r, int *out)
{
    err e;
    if (lua_type(r->L, -1) != LUA_TSTRING)
        wrong(r, "a string");
    if (attribute_parse_choice(r->a, lua_tostring(r->L, -1), out, &e) < 0)
        refuse(r, &e);
}

// The value is on top of the stack.
static void take(const struct reading *r, int table, void *at)
{
    switch (r->a->type) {
    case ATTRIBUTE_SIZE:
        *(size_t *)at = (size_t)take_number(r, true);
        break;
    case ATTRIBUTE_WHOLE:
        if (!lua_isinteger(r->L, -1))
            wrong(r, "an integer");
        *(int64_t *)at = lua_tointeger(r->L, -1);
        break;
    case ATTRIBUTE_RATE:
        if (!lua_istable(r->L, -1))
            *(double *)at = take_number(r, false);
        break;
    case ATTRIBUTE_NUMBER:
        *(double *)at = take_number(r, false);
        break;
    case ATTRIBUTE_FLOAT:
        *(float *)at = (float)take_number(r, false);
        break;
    case ATTRIBUTE_BOOL:
    case ATTRIBUTE_NOT:
        if (!lua_isboolean(r->L, -1))
            wrong(r, "true or false");
        *(bool *)at = lua_toboolean(r->L, -1) == (r->a->type == ATTRIBUTE_BOOL);
        break;
    case ATTRIBUTE_CHOICE:
        take_choice(r, at);
        break;
    case ATTRIBUTE_PAIR:
    case ATTRIBUTE_LENGTH:
        take_window(r, at);
        break;
    case ATTRIBUTE_SIDES:
        take_sides(r, at);
        break;
    case ATTRIBUTE_SHAPE:
    case ATTRIBUTE_OPEN_SHAPE:
        take_shape(r, table, at);
        break;
    case ATTRIBUTE_AXIS:
        *(int *)at = take_dimension(r);
        break;
    case ATTRIBUTE_AXES:
        take_axes(r, at);
        break;
    case ATTRIBUTE_NUMBERS:
        take_numbers(r, at);
        break;
    case ATTRIBUTE_LUA:
        break;
    }
}

void read_attributes(lua_State *L, int table, const declaration *d, int kept, void *own)
{
    int top = lua_gettop(L);
    struct reading r = {.L = L, .d = d, .kept = kept};
    declaration_defaults(d, own);
    for (r.a = attribute_next(d, NULL); r.a; r.a = attribute_next(d, r.a)) {
        if (r.a->no_option)
            continue;
        bool given = lua_getfield(L, table, r.a->name) != LUA_TNIL;
        if (!given && r.a->required)
            luaL_error(L, "%s: %s", d->name, d->ask);
        if (given)
            take(&r, table, attribute_at(r.a, own));
        lua_settop(L, top);
    }
}

void push_attributes(lua_State *L, const declaration *d, const void *own)
{
    lua_newtable(L);
    for (const attribute *a = attribute_next(d, NULL); a; a = attribute_next(d, a)) {
        const double *number = attribute_number(a, own);
        bool said = number && !(*number < 0 && a->otherwise < 0); // there is none
        bool set = a->type == ATTRIBUTE_BOOL && *(const bool *)attribute_of(a, own);
        if (said)
            lua_pushnumber(L, *number);
        else if (set)
            lua_pushboolean(L, true);
        if (said || set)
            lua_setfield(L, -2, a->name);
    }
}
