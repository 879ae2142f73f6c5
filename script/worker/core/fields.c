// SPDX-License-Identifier: MIT
#include "script/worker/core/fields.h"

#include "script/worker/core/errors.h"

#include <math.h>
#include <string.h>

static _Noreturn void wrong(lua_State *L, const char *what, const char *field, const char *wanted)
{
    const char *got = luaL_tolstring(L, -1, NULL);
    luaL_error(L, "%s: '%s' must be %s, got %s", what, field, wanted, got);
    __builtin_unreachable();
}

int64_t opt_int_field(
    lua_State *L, int table, const char *what, const char *field, int64_t otherwise)
{
    int is_integer;
    if (lua_getfield(L, table, field) != LUA_TNIL) {
        otherwise = lua_tointegerx(L, -1, &is_integer);
        if (!is_integer || lua_type(L, -1) != LUA_TNUMBER)
            wrong(L, what, field, "an integer");
    }
    lua_pop(L, 1);
    return otherwise;
}

int opt_int32_field(lua_State *L, int table, const char *what, const char *field, int otherwise)
{
    int64_t value = opt_int_field(L, table, what, field, otherwise);
    if (value < INT32_MIN || value > INT32_MAX) {
        lua_pushinteger(L, value);
        wrong(L, what, field, "an integer of 32 bits");
    }
    return (int)value;
}

double opt_number_field(
    lua_State *L, int table, const char *what, const char *field, double otherwise)
{
    int type = lua_getfield(L, table, field);
    if (type != LUA_TNIL) {
        if (type != LUA_TNUMBER)
            wrong(L, what, field, "a number");
        otherwise = lua_tonumber(L, -1);
        otherwise = isnan(otherwise) ? NAN : otherwise; // without a sign, in messages
    }
    lua_pop(L, 1);
    return otherwise;
}

bool opt_bool_field(lua_State *L, int table, const char *what, const char *field, bool otherwise)
{
    int type = lua_getfield(L, table, field);
    if (type != LUA_TNIL) {
        if (type != LUA_TBOOLEAN)
            wrong(L, what, field, "true or false");
        otherwise = lua_toboolean(L, -1);
    }
    lua_pop(L, 1);
    return otherwise;
}

const char *opt_string_field(lua_State *L, int table, const char *what, const char *field)
{
    int type = lua_getfield(L, table, field);
    if (type != LUA_TNIL && type != LUA_TSTRING)
        wrong(L, what, field, "a string");
    const char *value = type == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
    lua_pop(L, 1);
    return value;
}

static bool is_among(const char *names, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = strstr(names, name); n && at; at = strstr(at + 1, name)) {
        if ((at == names || at[-1] == ' ') && (at[n] == 0 || at[n] == ' '))
            return true;
    }
    return false;
}

// Pushes the i-th of the names, from 1. False, and nothing pushed: there is none.
static bool push_name(lua_State *L, const char *names, lua_Integer i)
{
    for (; i > 1 && (names = strchr(names, ' ')); i--)
        names++;
    if (i != 1 || !names || !*names)
        return false;
    lua_pushlstring(L, names, strcspn(names, " "));
    return true;
}

// Raises for the key below the top of the stack, unless it is one of the names.
static void check_name(lua_State *L, const char *what, const char *names)
{
    if (lua_type(L, -2) == LUA_TSTRING && is_among(names, lua_tostring(L, -2)))
        return;
    const char *given = luaL_tolstring(L, -2, NULL), *near = NULL;
    lua_newtable(L);
    for (lua_Integer i = 1; push_name(L, names, i); i++) {
        lua_pushboolean(L, true);
        lua_rawset(L, -3);
    }
    int known = lua_gettop(L);
    push_hint(L, "an option", given, known);
    if (!lua_isnil(L, -1))
        luaL_error(L, "%s: unknown option '%s': %s", what, given, lua_tostring(L, -1));
    near = push_nearest(L, given, known);
    if (near)
        luaL_error(
            L, "%s: unknown option '%s'; did you mean %s? known are: %s", what, given, near, names);
    luaL_error(L, "%s: unknown option '%s'; known are: %s", what, given, names);
}

void check_field_names(lua_State *L, int table, const char *what, const char *names)
{
    for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1))
        if (!lua_isinteger(L, -2))
            check_name(L, what, names);
}

// Raises for item i, which has no place among the options.
static _Noreturn void refuse_item(
    lua_State *L, const char *what, lua_Integer i, const char *places, const char *names)
{
    if (*places)
        luaL_error(L, "%s: item %I is one too many; by place it takes: %s", what, i, places);
    push_name(L, names, 1);
    luaL_error(L, "%s: item %I has no name; write %s = …; known are: %s", what, i,
        lua_tostring(L, -1), names);
    __builtin_unreachable();
}

// Puts the option whose key and value are on top of the stack into the table at `copy`, by name.
static void put_option(
    lua_State *L, int copy, const char *what, const char *places, const char *names)
{
    if (!lua_isinteger(L, -2)) {
        check_name(L, what, names);
        lua_pushvalue(L, -2);
    } else if (!push_name(L, places, lua_tointeger(L, -2)))
        refuse_item(L, what, lua_tointeger(L, -2), places, names);
    lua_pushvalue(L, -1);
    if (lua_rawget(L, copy) != LUA_TNIL)
        luaL_error(L, "%s: %s is given twice, by place and by name", what, lua_tostring(L, -2));
    lua_pop(L, 1);
    lua_pushvalue(L, -2);
    lua_rawset(L, copy);
}

void take_options(lua_State *L, int at, const char *what, const char *places, const char *names)
{
    if (lua_gettop(L) < at)
        lua_settop(L, at);
    lua_newtable(L);
    int copy = lua_gettop(L);
    if (!lua_isnil(L, at) && !lua_istable(L, at)) {
        push_name(L, *places ? places : names, 1);
        const char *first = lua_tostring(L, -1);
        luaL_error(L, "%s: the options must be a table, as { %s = … }, got %s", what, first,
            luaL_tolstring(L, at, NULL));
    }
    if (lua_istable(L, at)) {
        for (lua_pushnil(L); lua_next(L, at); lua_settop(L, copy + 1))
            put_option(L, copy, what, places, names);
        if (lua_getmetatable(L, at)) // it may bring options, too
            lua_setmetatable(L, copy);
    }
    lua_replace(L, at);
    lua_settop(L, copy - 1);
}
