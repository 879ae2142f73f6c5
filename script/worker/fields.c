// SPDX-License-Identifier: MIT
#include "script/worker/fields.h"

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

void check_field_names(lua_State *L, int table, const char *what, const char *names)
{
    for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) {
        if (lua_type(L, -2) == LUA_TSTRING && !is_among(names, lua_tostring(L, -2)))
            luaL_error(
                L, "%s: unknown option '%s'; known are: %s", what, lua_tostring(L, -2), names);
    }
}
