// SPDX-License-Identifier: MIT
#include "script/kernel/cells/values/template.h"

#include "base/json/json.h"
#include "base/str.h"
#include "script/kernel/cells/values/luajson.h"

#include <ctype.h>
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

// Raises with the place in the template; luaL_error would add the one in our library.
static int fail(
    lua_State *L, const struct place *at, const char *expression, size_t n, const char *why)
{
    lua_pushlstring(L, expression, n);
    lua_pushfstring(L, "%s:%d: ${%s} %s", at->chunk, at->line, lua_tostring(L, -1), why);
    return lua_error(L);
}

// Pushes the function of the shortest expression that compiles and ends before a "}"; returns the
// place of that "}". If it does not compile, the "}" is in a string or a table, and the next one is
// tried.
static const char *load_expression(lua_State *L, const struct place *at, const char *text)
{
    const char *first = strchr(text, '}');
    const char *newline = strchr(text, '\n');
    if (!first) {
        lua_pushlstring(L, text, newline ? (size_t)(newline - text) : strlen(text));
        lua_pushfstring(
            L, "%s:%d: ${%s has no closing brace", at->chunk, at->line, lua_tostring(L, -1));
        lua_error(L);
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
        cJSON *tree = luajson_read_strict(L, -2, &e);
        if (!tree)
            fail(L, at, expression, n, e.text);
        *json = json_to_str(tree);
        cJSON_Delete(tree);
        lua_pushstring(L, *json);
    } else
        luaL_tolstring(L, -1, NULL);
}

// Pushes the text of the expression that starts at `text`, with the globals in the table at stack
// index `env` (0: all); returns the place after its brace.
static const char *push_expression(lua_State *L, const struct place *at, const char *text, int env)
{
    int top = lua_gettop(L);
    const char *end = load_expression(L, at, text);
    if (env) {
        lua_pushvalue(L, env);
        lua_setupvalue(L, -2, 1);
    }
    lua_call(L, 0, 1);
    to_text(L, at, text, (size_t)(end - text));
    lua_replace(L, top + 1);
    lua_settop(L, top + 1);
    return end + 1;
}

// Joins the pieces in the table at `pieces`.
static void join(lua_State *L, int pieces, lua_Integer n)
{
    luaL_Buffer whole;
    luaL_buffinit(L, &whole);
    for (lua_Integer i = 1; i <= n; i++) {
        lua_rawgeti(L, pieces, i);
        luaL_addvalue(&whole);
    }
    luaL_pushresult(&whole);
}

// Pushes a blank for the expression at `text`; returns the place after its brace.
typedef const char *put_fn(lua_State *L, const struct place *at, const char *text, void *arg);

static void walk(lua_State *L, const char *text, struct place *at, put_fn *put, void *arg)
{
    lua_newtable(L); // the pieces, which are joined at the end
    lua_Integer n = 0;
    while (*text) {
        const char *dollar = strstr(text, "${");
        const char *end = dollar ? dollar : text + strlen(text);
        bool literal = dollar && dollar > text && dollar[-1] == '$';
        lua_pushlstring(L, text, (size_t)(end - text) - (literal ? 1 : 0));
        lua_rawseti(L, -2, ++n);
        pass(at, text, end);
        text = end;
        if (!dollar)
            break;
        if (literal) {
            lua_pushliteral(L, "${");
            text = dollar + 2;
        } else {
            text = put(L, at, dollar + 2, arg);
            pass(at, dollar, text);
        }
        lua_rawseti(L, -2, ++n);
    }
    join(L, lua_gettop(L), n);
}

static const char *put_value(lua_State *L, const struct place *at, const char *text, void *arg)
{
    return push_expression(L, at, text, *(int *)arg);
}

void template_fill(lua_State *L, const char *text, int skipped, const char *chunk)
{
    walk(L, text, &(struct place){chunk, 1 + skipped}, put_value, &(int){0});
}

void template_fill_with(lua_State *L, const char *text, int env, const char *chunk)
{
    walk(L, text, &(struct place){chunk, 1}, put_value, &env);
}

struct sketch {
    const char *start; // of the whole text
    enum template_blank blank;
    int blanks;
};

static bool is_alone(const char *start, const char *from, const char *end)
{
    while (from > start && (from[-1] == ' ' || from[-1] == '\t'))
        from--;
    end += strspn(end, " \t\r");
    return (from == start || from[-1] == '\n') && (!*end || *end == '\n');
}

static bool is_field(const char *start, const char *from)
{
    while (from > start && isspace((unsigned char)from[-1]))
        from--;
    return from > start && (from[-1] == '{' || from[-1] == ',');
}

// Pushes a blank for an unknown value. Each number differs, since keys of a mapping must.
static void push_blank(lua_State *L, struct sketch *s, const char *dollar, const char *end)
{
    int number = 1000000 + s->blanks++;
    if (s->blank == BLANK_WORD)
        lua_pushliteral(L, TEMPLATE_WORD);
    else if (s->blank == BLANK_NOTHING ||
             (s->blank == BLANK_SCALAR && is_alone(s->start, dollar, end)))
        lua_pushliteral(L, "");
    else if (s->blank == BLANK_FIELD && is_field(s->start, dollar))
        lua_pushfstring(L, "\"%d\": %d", number, number);
    else
        lua_pushinteger(L, number);
}

static const char *put_sketch(lua_State *L, const struct place *at, const char *text, void *arg)
{
    struct sketch *s = arg;
    int top = lua_gettop(L);
    const char *end = load_expression(L, at, text) + 1;
    bool known = lua_pcall(L, 0, 1, 0) == LUA_OK &&
                 (lua_isstring(L, -1) || lua_isboolean(L, -1)); // lua_isstring is true for numbers,
                                                                // too
    if (known)
        luaL_tolstring(L, -1, NULL);
    else
        push_blank(L, s, text - strlen("${"), end);
    lua_replace(L, top + 1);
    lua_settop(L, top + 1);
    return end;
}

int template_sketch(lua_State *L, const char *text, enum template_blank blank)
{
    struct sketch s = {.start = text, .blank = blank};
    walk(L, text, &(struct place){"template", 1}, put_sketch, &s);
    return s.blanks;
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
