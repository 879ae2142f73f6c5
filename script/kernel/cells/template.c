// SPDX-License-Identifier: MIT
#include "script/kernel/cells/template.h"

#include "base/json.h"
#include "base/str.h"
#include "script/kernel/cells/luajson.h"

#include <lauxlib.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct place {
    const char *chunk;
    int line;
};

static void pass(struct place *at, const char *from, const char *to)
{
    for (; from < to; from++)
        at->line += *from == '\n';
}

static int fail(
    lua_State *L, const struct place *at, const char *expression, size_t n, const char *why)
{
    lua_pushlstring(L, expression, n);
    return luaL_error(L, "%s:%d: ${%s} %s", at->chunk, at->line, lua_tostring(L, -1), why);
}

// Pushes the function of the shortest expression that compiles and ends before a "}"; returns the
// place of that "}". A "}" in strings and tables is passed over by trying the next one.
static const char *load_expression(lua_State *L, const struct place *at, const char *text)
{
    const char *first = strchr(text, '}');
    const char *newline = strchr(text, '\n');
    if (!first) {
        lua_pushlstring(L, text, newline ? (size_t)(newline - text) : strlen(text));
        luaL_error(L, "%s:%d: ${%s has no closing brace", at->chunk, at->line, lua_tostring(L, -1));
    }
    lua_pushfstring(L, "=%s", at->chunk);
    const char *chunk = lua_tostring(L, -1);
    for (const char *end = first; end; end = strchr(end + 1, '}')) {
        luaL_Buffer source;
        luaL_buffinit(L, &source);
        for (int i = 1; i < at->line; i++)
            luaL_addchar(&source, '\n');
        luaL_addstring(&source, "return ");
        luaL_addlstring(&source, text, (size_t)(end - text));
        luaL_pushresult(&source);
        int status = luaL_loadbufferx(L, lua_tostring(L, -1), lua_rawlen(L, -1), chunk, "t");
        if (status == LUA_OK && end > text)
            return end;
        lua_pop(L, 2);
    }
    fail(L, at, text, (size_t)(first - text), "is not a Lua expression");
    return NULL;
}

// Turns the value on top of the stack into text.
static void to_text(lua_State *L, const struct place *at, const char *expression, size_t n)
{
    if (lua_isnil(L, -1))
        fail(L, at, expression, n, "is nil");
    int type = lua_type(L, -1);
    bool prints_itself = luaL_getmetafield(L, -1, "__tostring") != LUA_TNIL;
    if (prints_itself)
        lua_pop(L, 1);
    if (!prints_itself && (type == LUA_TFUNCTION || type == LUA_TUSERDATA || type == LUA_TTHREAD)) {
        char why[32];
        snprintf(why, sizeof why, "is a %s", lua_typename(L, type));
        fail(L, at, expression, n, why);
    }
    if (type == LUA_TTABLE && !prints_itself) {
        err e = {0};
        char **json = luajson_box(L);
        cJSON *tree = luajson_read(L, -2, &e);
        if (!tree)
            fail(L, at, expression, n, e.text);
        *json = json_to_str(tree);
        cJSON_Delete(tree);
        lua_pushstring(L, *json);
    } else
        luaL_tolstring(L, -1, NULL);
}

// Pushes the text of the expression that starts at `text`; returns the place after its brace.
static const char *push_expression(lua_State *L, const struct place *at, const char *text)
{
    int top = lua_gettop(L);
    const char *end = load_expression(L, at, text);
    lua_call(L, 0, 1);
    to_text(L, at, text, (size_t)(end - text));
    lua_replace(L, top + 1);
    lua_settop(L, top + 1);
    return end + 1;
}

void template_fill(lua_State *L, const char *text, int skipped, const char *chunk)
{
    struct place at = {chunk, 1 + skipped};
    lua_newtable(L); // the pieces, joined at the end
    lua_Integer n = 0;
    while (*text) {
        const char *dollar = strstr(text, "${");
        const char *end = dollar ? dollar : text + strlen(text);
        bool literal = dollar && dollar > text && dollar[-1] == '$';
        lua_pushlstring(L, text, (size_t)(end - text) - (literal ? 1 : 0));
        lua_rawseti(L, -2, ++n);
        pass(&at, text, end);
        text = end;
        if (!dollar)
            break;
        if (literal) {
            lua_pushliteral(L, "${");
            text = dollar + 2;
        } else {
            text = push_expression(L, &at, dollar + 2);
            pass(&at, dollar, text);
        }
        lua_rawseti(L, -2, ++n);
    }
    int pieces = lua_gettop(L);
    luaL_Buffer whole;
    luaL_buffinit(L, &whole);
    for (lua_Integer i = 1; i <= n; i++) {
        lua_rawgeti(L, pieces, i);
        luaL_addvalue(&whole);
    }
    luaL_pushresult(&whole);
}

void template_check(lua_State *L, const char *text, int skipped, const char *chunk)
{
    struct place at = {chunk, 1 + skipped};
    int top = lua_gettop(L);
    for (const char *dollar; (dollar = strstr(text, "${"));) {
        const char *after = dollar + 2;
        pass(&at, text, dollar);
        if (dollar == text || dollar[-1] != '$')
            after = load_expression(L, &at, after) + 1;
        lua_settop(L, top);
        pass(&at, dollar, after);
        text = after;
    }
}
