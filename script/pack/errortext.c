// SPDX-License-Identifier: MIT
#include "script/pack/errortext.h"

#include <lauxlib.h>

// Arguments: the value and the buf. Lua owns every text here.
static int say(lua_State *L)
{
    size_t n;
    const char *text = lua_tolstring(L, 1, &n);
    if (!text && luaL_callmeta(L, 1, "__tostring"))
        text = lua_tolstring(L, -1, &n);
    if (text)
        buf_add(lua_touserdata(L, 2), text, n);
    else
        buf_fmt(lua_touserdata(L, 2), "(the error is a %s)", luaL_typename(L, 1));
    return 0;
}

void error_text(lua_State *L, int index, buf *out)
{
    int top = lua_gettop(L), status = LUA_ERRMEM;
    index = lua_absindex(L, index);
    if (lua_checkstack(L, 3)) {
        lua_pushcfunction(L, say);
        lua_pushvalue(L, index);
        lua_pushlightuserdata(L, out);
        status = lua_pcall(L, 2, 0, 0);
    }
    if (status != LUA_OK)
        buf_fmt(out, "(the error is a %s whose __tostring fails)", luaL_typename(L, index));
    lua_settop(L, top);
}

int error_take(lua_State *L, err_code code, err *e)
{
    AUTO_BUF text = {0};
    error_text(L, -1, &text);
    lua_pop(L, 1);
    return err_set(e, code, "%s", buf_cstr(&text));
}

static int push(lua_State *L)
{
    const buf *text = lua_touserdata(L, 1);
    lua_pushlstring(L, text->data ? text->data : "", text->len);
    return 1;
}

const char *error_push(lua_State *L, int index)
{
    buf text = {0};
    error_text(L, index, &text);
    lua_pushcfunction(L, push);
    lua_pushlightuserdata(L, &text);
    int status = lua_pcall(L, 1, 1, 0);
    buf_done(&text);
    if (status != LUA_OK)
        lua_error(L);
    return lua_tostring(L, -1);
}
