// SPDX-License-Identifier: MIT
#include "script/pack/pack.h"

#include "script/pack/errortext.h"

#include <lauxlib.h>
#include <lualib.h>
#include <string.h>

// Unpacking runs inside lua_pcall, so it may raise.
//   stack   OBJECTS  number → table, function, tensor
//           CELLS    number → {function, index}
struct unpacker {
    const struct pack_ops *ops;
    const char *at, *end;
    enum pack_mode mode;
    int objects, cells;
    lua_Integer object_n, cell_n;
};

const char *unpack_raw(lua_State *L, struct unpacker *u, size_t n)
{
    if ((size_t)(u->end - u->at) < n)
        luaL_error(L, "packed values are cut off");
    const char *bytes = u->at;
    u->at += n;
    return bytes;
}

uint64_t unpack_number(lua_State *L, struct unpacker *u, int bytes)
{
    const uint8_t *b = (const uint8_t *)unpack_raw(L, u, (size_t)bytes);
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)b[i] << (8 * i);
    return value;
}

static void get_value(lua_State *L, struct unpacker *u, int depth);

// Refuses a function before any part of it is made.
static void need_functions(lua_State *L, const struct unpacker *u, const char *what)
{
    if (u->mode != PACK_FUNCTIONS)
        luaL_error(L, "packed values hold %s, which is not accepted here: only data is", what);
}

static void keep_object(lua_State *L, struct unpacker *u)
{
    lua_pushvalue(L, -1);
    lua_rawseti(L, u->objects, ++u->object_n);
}

static void get_table(lua_State *L, struct unpacker *u, int depth)
{
    lua_newtable(L);
    int table = lua_gettop(L);
    keep_object(L, u);
    get_value(L, u, depth);
    bool has_metatable = lua_istable(L, -1);
    if (!lua_isnil(L, -1))
        need_functions(L, u, "a metatable");
    if (!has_metatable && !lua_isnil(L, -1))
        luaL_error(L, "packed values are damaged: a metatable that is no table");
    int metatable = lua_gettop(L);
    while (*unpack_raw(L, u, 1) != 'e') {
        u->at--;
        get_value(L, u, depth);
        get_value(L, u, depth);
        if (lua_isnil(L, -2) || lua_tonumber(L, -2) != lua_tonumber(L, -2))
            luaL_error(L, "packed values are damaged: a key that is no key");
        lua_rawset(L, table);
    }
    if (has_metatable)
        lua_setmetatable(L, table);
    else
        lua_settop(L, metatable - 1);
}

static void get_upvalue(lua_State *L, struct unpacker *u, int function, int i, int depth)
{
    char kind = *unpack_raw(L, u, 1);
    if (kind == 'U') {
        lua_createtable(L, 2, 0);
        lua_pushvalue(L, function);
        lua_rawseti(L, -2, 1);
        lua_pushinteger(L, i);
        lua_rawseti(L, -2, 2);
        lua_rawseti(L, u->cells, ++u->cell_n);
        get_value(L, u, depth);
        lua_setupvalue(L, function, i);
        return;
    }
    if (kind != 'V' ||
        lua_rawgeti(L, u->cells, (lua_Integer)unpack_number(L, u, 4) + 1) != LUA_TTABLE)
        luaL_error(L, "packed values are damaged: an upvalue");
    lua_rawgeti(L, -1, 1);
    lua_rawgeti(L, -2, 2);
    lua_upvaluejoin(L, function, i, -2, (int)lua_tointeger(L, -1));
    lua_pop(L, 3);
}

static void get_function(lua_State *L, struct unpacker *u, int depth)
{
    need_functions(L, u, "a function");
    size_t n = (size_t)unpack_number(L, u, 4);
    if (luaL_loadbufferx(L, unpack_raw(L, u, n), n, "=packed", "b") != LUA_OK)
        lua_error(L);
    int function = lua_gettop(L);
    keep_object(L, u);
    int upvalues = (int)unpack_number(L, u, 1);
    for (int i = 1; i <= upvalues; i++) {
        if (!lua_upvalueid(L, function, i))
            luaL_error(L, "packed values are damaged: too many upvalues");
        get_upvalue(L, u, function, i, depth);
    }
}

// "module" or "module\0field".
static void get_named(lua_State *L, struct unpacker *u)
{
    need_functions(L, u, "a module");
    size_t n = (size_t)unpack_number(L, u, 4);
    lua_pushlstring(L, unpack_raw(L, u, n), n);
    const char *name = lua_tostring(L, -1);
    bool is_field = strlen(name) < n;
    lua_getglobal(L, "require");
    lua_pushstring(L, name);
    lua_call(L, 1, 1);
    if (is_field) {
        const char *field = name + strlen(name) + 1;
        if (!lua_istable(L, -1) || lua_getfield(L, -1, field) == LUA_TNIL)
            luaL_error(L, "module '%s' has no '%s' in this process", name, field);
        lua_remove(L, -2);
    }
    lua_remove(L, -2);
}

static double take_double(lua_State *L, struct unpacker *u)
{
    uint64_t bits = unpack_number(L, u, 8);
    double d;
    memcpy(&d, &bits, 8);
    return d;
}

static void get_value(lua_State *L, struct unpacker *u, int depth)
{
    luaL_checkstack(L, 12, "too many values");
    if (depth > PACK_DEPTH_MAX)
        luaL_error(L, "packed values are nested more than %d deep", PACK_DEPTH_MAX);
    char kind = *unpack_raw(L, u, 1);
    switch (kind) {
    case 'n':
        lua_pushnil(L);
        break;
    case 'f':
    case 't':
        lua_pushboolean(L, kind == 't');
        break;
    case 'i':
        lua_pushinteger(L, (lua_Integer)unpack_number(L, u, 8));
        break;
    case 'd':
        lua_pushnumber(L, take_double(L, u));
        break;
    case 's': {
        size_t n = (size_t)unpack_number(L, u, 4);
        lua_pushlstring(L, unpack_raw(L, u, n), n);
        break;
    }
    case 'R':
        if (lua_rawgeti(L, u->objects, (lua_Integer)unpack_number(L, u, 4) + 1) == LUA_TNIL)
            luaL_error(L, "packed values are damaged: an object that is not there");
        break;
    case 'T':
        get_table(L, u, depth + 1);
        break;
    case 'F':
        get_function(L, u, depth + 1);
        break;
    case 'M':
        get_named(L, u);
        break;
    case 'E':
        need_functions(L, u, "the globals");
        lua_pushglobaltable(L);
        break;
    default:
        if (!u->ops->get || !u->ops->get(L, u, kind))
            luaL_error(L, "packed values are damaged: unknown kind %d", kind);
        keep_object(L, u);
    }
}

static void get_global(lua_State *L, struct unpacker *u)
{
    if (*unpack_raw(L, u, 1) != 'G')
        luaL_error(L, "packed values are damaged: more bytes than values");
    need_functions(L, u, "a global");
    size_t n = (size_t)unpack_number(L, u, 4);
    lua_pushglobaltable(L);
    lua_pushlstring(L, unpack_raw(L, u, n), n);
    get_value(L, u, 0);
    lua_rawset(L, -3);
    lua_pop(L, 1);
}

static int unpack_protected(lua_State *L)
{
    struct unpacker *u = lua_touserdata(L, 1);
    lua_newtable(L);
    u->objects = lua_gettop(L);
    lua_newtable(L);
    u->cells = lua_gettop(L);
    int values = (int)unpack_number(L, u, 4);
    // Each value has at least one byte.
    if (values < 0 || values > u->end - u->at || values > 1000)
        luaL_error(L, "packed values are damaged: %d of them", values);
    luaL_checkstack(L, values, "too many values");
    for (int i = 0; i < values; i++)
        get_value(L, u, 0);
    while (u->at < u->end)
        get_global(L, u);
    return values;
}

int unpack_values(lua_State *L, const void *bytes, size_t n, enum pack_mode mode, err *e)
{
    struct unpacker u = {
        .ops = pack_ops_of(L), .at = bytes, .end = (const char *)bytes + n, .mode = mode};
    int before = lua_gettop(L);
    lua_pushcfunction(L, unpack_protected);
    lua_pushlightuserdata(L, &u);
    if (lua_pcall(L, 1, LUA_MULTRET, 0) == LUA_OK)
        return lua_gettop(L) - before;
    error_take(L, ERR_INVALID, e);
    lua_settop(L, before);
    return -1;
}
