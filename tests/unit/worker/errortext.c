// SPDX-License-Identifier: MIT
// What Lua code raises becomes a text, in every program, whatever its __tostring does.
#include "script/pack/errortext.h"
#include "base/mem.h"
#include "script/pack/pack.h"
#include "tests/support/tap.h"

#include <lauxlib.h>
#include <lualib.h>
#include <string.h>

static const struct {
    const char *raised, *text;
} cases[] = {
    {"'a text'", "a text"},
    {"12", "12"},
    {"nil", "(the error is a nil)"},
    {"{}", "(the error is a table)"},
    {"setmetatable({}, { __tostring = function() return 'said' end })", "said"},
    {"setmetatable({}, { __tostring = function() return 7 end })", "7"},
    {"setmetatable({}, { __tostring = function() return nil end })", "(the error is a table)"},
    {"setmetatable({}, { __tostring = function() error 'no' end })",
        "(the error is a table whose __tostring fails)"},
    {"setmetatable({}, { __tostring = function(e) error(e) end })",
        "(the error is a table whose __tostring fails)"},
    {"setmetatable({}, { __tostring = coroutine.yield })",
        "(the error is a table whose __tostring fails)"},
    {"setmetatable({}, { __tostring = function(e) return tostring(e) end })",
        "(the error is a table whose __tostring fails)"},
    {"setmetatable({}, { __tostring = 1 })", "(the error is a table whose __tostring fails)"},
};

// Leaves what the chunk raises on the stack.
static void raise(lua_State *L, const char *raised)
{
    lua_settop(L, 0);
    AUTO_BUF text = {0};
    buf_fmt(&text, "error(%s, 0)", raised);
    CHECK_INT(luaL_loadstring(L, buf_cstr(&text)), LUA_OK);
    CHECK_INT(lua_pcall(L, 0, 0, 0), LUA_ERRRUN);
}

TEST(whatever_is_raised_has_a_text)
{
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        err e = {0};
        AUTO_BUF text = {0};
        raise(L, cases[i].raised);
        error_text(L, -1, &text);
        CHECK_STR(buf_cstr(&text), cases[i].text);
        CHECK_INT(lua_gettop(L), 1);
        CHECK_STR(error_push(L, -1), cases[i].text);
        CHECK_INT(lua_gettop(L), 2);
        lua_pop(L, 1);
        CHECK_INT(error_take(L, ERR_INVALID, &e), -1);
        CHECK_STR(e.text, cases[i].text);
        CHECK_INT(lua_gettop(L), 0);
    }
    lua_close(L);
}

TEST(bytes_stay_bytes)
{
    lua_State *L = luaL_newstate();
    AUTO_BUF text = {0};
    lua_pushlstring(L, "a\0b", 3);
    error_text(L, 1, &text);
    CHECK_INT(text.len, 3);
    CHECK(memcmp(text.data, "a\0b", 3) == 0);
    lua_close(L);
}

// Packing calls __tostring of what it refuses.
TEST(what_cannot_be_packed_is_told)
{
    err e = {0};
    AUTO_BUF bytes = {0};
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    CHECK_INT(luaL_dostring(L, "debug.setmetatable(print, { __tostring = function() error {} end })"
                               "return print"),
        LUA_OK);
    CHECK_INT(pack_values(L, 1, 1, PACK_DATA, NULL, &bytes, &e), -1);
    CHECK_STR(e.text, "(the error is a table)");
    CHECK_INT(lua_gettop(L), 1);
    lua_close(L);
}

int main(void)
{
    return tap_run();
}
