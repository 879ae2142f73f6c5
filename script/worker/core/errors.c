// SPDX-License-Identifier: MIT
#include "script/worker/core/errors.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/worker/core/worker.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

// The length of the name of one of our own chunks at the start of `text`; 0: it is none.
static size_t own_name(const char *text)
{
    for (const struct lua_source *s = worker_sources; s->name; s++)
        if (strncmp(text, s->name, strlen(s->name)) == 0)
            return strlen(s->name);
    return 0;
}

static bool is_own(const char *source)
{
    return source[0] == '=' && own_name(source + 1) && !source[1 + own_name(source + 1)];
}

// Pushes "trainer.lua:3: ", the line of the file that has called us, from this level on; or "".
static void push_line(lua_State *L, int level)
{
    lua_Debug ar;
    for (; lua_getstack(L, level, &ar); level++) {
        lua_getinfo(L, "Sl", &ar);
        if (ar.currentline > 0 && !is_own(ar.source)) {
            lua_pushfstring(L, "%s:%d: ", ar.short_src, ar.currentline);
            return;
        }
    }
    lua_pushliteral(L, "");
}

void raise_err(lua_State *L, const err *e)
{
    lua_Debug ar;
    if (lua_getstack(L, 1, &ar) && lua_getinfo(L, "S", &ar) && *ar.what != 'C')
        push_line(L, 1);
    else
        lua_pushliteral(L, ""); // of a pcall, which adds the place
    lua_pushstring(L, e->text);
    lua_concat(L, 2);
    lua_error(L);
    __builtin_unreachable();
}

void name_line(lua_State *L, int at)
{
    const char *text = lua_type(L, at) == LUA_TSTRING ? lua_tostring(L, at) : "";
    size_t n = own_name(text);
    const char *line = text + n + 1, *rest = line;
    if (!n || text[n] != ':')
        return;
    while (isdigit((unsigned char)*rest))
        rest++;
    if (rest == line || rest[0] != ':' || rest[1] != ' ')
        return;
    push_line(L, 1);
    lua_pushstring(L, rest + 2);
    lua_concat(L, 2);
    lua_replace(L, at);
}

// "trainer.lua:3: " at the beginning?
static bool has_place(const char *text)
{
    const char *colon = strchr(text, ':');
    while (colon && !isdigit((unsigned char)colon[1]))
        colon = strchr(colon + 1, ':');
    const char *end = colon ? colon + 1 + strspn(colon + 1, "0123456789") : NULL;
    return end && end[0] == ':' && end[1] == ' ' && !memchr(text, ' ', (size_t)(colon - text));
}

static const char raisers[] = "firesteel.raisers"; // Lua's own functions that raise what they get

// Did we raise the error, rather than a file's error or assert? The handler runs at level 0.
static bool is_ours(lua_State *L)
{
    lua_Debug ar;
    if (!lua_getstack(L, 1, &ar) || !lua_getinfo(L, "Sf", &ar))
        return false;
    luaL_getsubtable(L, LUA_REGISTRYINDEX, raisers);
    lua_insert(L, -2);
    bool raises = lua_rawget(L, -2) != LUA_TNIL;
    lua_pop(L, 2);
    if (*ar.what == 'C' && !raises)
        return true;
    for (int level = 1; lua_getstack(L, level, &ar) && lua_getinfo(L, "S", &ar); level++)
        if (*ar.what != 'C')
            return is_own(ar.source);
    return false;
}

int place_error(lua_State *L)
{
    if (lua_type(L, 1) != LUA_TSTRING)
        return 1;
    name_line(L, 1);
    if (!has_place(lua_tostring(L, 1)) && is_ours(L)) {
        push_line(L, 1);
        lua_pushvalue(L, 1);
        lua_concat(L, 2);
        lua_replace(L, 1);
    }
    lua_settop(L, 1);
    return 1;
}

// After a call in protected mode: `extra` values lie below its results.
static int finish_call(lua_State *L, int status, lua_KContext extra)
{
    if (status == LUA_OK || status == LUA_YIELD)
        return lua_gettop(L) - (int)extra;
    lua_pushboolean(L, false);
    lua_pushvalue(L, -2);
    return 2;
}

// pcall(f, …)
static int call_protected(lua_State *L)
{
    luaL_checkany(L, 1);
    int n = lua_gettop(L) - 1;
    lua_pushcfunction(L, place_error);
    lua_pushboolean(L, true); // the first result
    lua_rotate(L, 1, 2);
    return finish_call(L, lua_pcallk(L, n, LUA_MULTRET, 1, 1, finish_call), 1);
}

// Upvalue: the file's own handler.
static int place_and_handle(lua_State *L)
{
    place_error(L);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, 1, LUA_MULTRET);
    return lua_gettop(L);
}

// xpcall(f, handler, …)
static int call_handled(lua_State *L)
{
    luaL_checktype(L, 2, LUA_TFUNCTION);
    int n = lua_gettop(L) - 2;
    lua_pushvalue(L, 2);
    lua_pushcclosure(L, place_and_handle, 1);
    lua_replace(L, 2);
    lua_pushboolean(L, true);
    lua_pushvalue(L, 1);
    lua_rotate(L, 3, 2);
    return finish_call(L, lua_pcallk(L, n, LUA_MULTRET, 2, 2, finish_call), 2);
}

void open_errors(lua_State *L)
{
    static const char *const names[] = {"error", "assert"};
    luaL_getsubtable(L, LUA_REGISTRYINDEX, raisers);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        lua_getglobal(L, names[i]);
        lua_pushboolean(L, true);
        lua_rawset(L, -3);
    }
    lua_pop(L, 1);
    lua_register(L, "pcall", call_protected);
    lua_register(L, "xpcall", call_handled);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// The table's names, sorted, NULL at the end; the caller frees the list.
static const char **names_of(lua_State *L, int table)
{
    const char **names = mem_array(1, sizeof *names);
    size_t n = 0;
    table = lua_absindex(L, table);
    for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TSTRING)
            continue;
        names[n++] = lua_tostring(L, -2);
        names = mem_resize(names, n + 1, sizeof *names);
    }
    names[n] = NULL;
    qsort(names, n, sizeof *names, by_name);
    return names;
}

const char *push_nearest(lua_State *L, const char *word, int table)
{
    const char **names = names_of(L, table), *near = str_nearest(word, names);
    free(names); // Lua holds what they point at
    return lua_pushstring(L, near);
}

int lua_nearest(lua_State *L)
{
    luaL_checktype(L, 2, LUA_TTABLE);
    push_nearest(L, luaL_checkstring(L, 1), 2);
    return 1;
}

void add_names(lua_State *L, int table, const char *const *names)
{
    table = lua_absindex(L, table);
    lua_newtable(L);
    for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) {
        lua_pushvalue(L, -2);
        lua_pushboolean(L, true);
        lua_rawset(L, -5);
    }
    for (; *names; names++) {
        lua_pushboolean(L, true);
        lua_setfield(L, -2, *names);
    }
}

// Pushes the function that keras.lua returns, which is loaded when it is first needed.
static void push_hints(lua_State *L)
{
    static const char key[] = "firesteel.hints";
    if (lua_getfield(L, LUA_REGISTRYINDEX, key) == LUA_TFUNCTION)
        return;
    lua_pop(L, 1);
    const struct lua_source *source = worker_sources;
    while (strcmp(source->name, "keras") != 0)
        source++;
    if (luaL_loadbuffer(L, source->text, source->n, "=keras") != LUA_OK)
        lua_error(L);
    lua_call(L, 0, 1);
    lua_pushvalue(L, -1);
    lua_setfield(L, LUA_REGISTRYINDEX, key);
}

void push_hint(lua_State *L, const char *key, const char *name, int table)
{
    table = lua_absindex(L, table);
    push_hints(L);
    lua_pushstring(L, key);
    lua_pushstring(L, name);
    lua_pushvalue(L, table);
    lua_call(L, 3, 1);
}

int lua_is_asked_by_file(lua_State *L)
{
    lua_Debug ar;
    bool asked = lua_getstack(L, 2, &ar) && lua_getinfo(L, "S", &ar) && *ar.what != 'C' &&
                 !is_own(ar.source);
    lua_pushboolean(L, asked);
    return 1;
}

int lua_hint(lua_State *L)
{
    push_hint(L, luaL_checkstring(L, 1), luaL_checkstring(L, 2), 3);
    return 1;
}

void no_such_name(lua_State *L, const char *what, const char *key, const char *name, int table)
{
    enum { LIST_MOST = 600 }; // characters
    luaL_checkstack(L, LUA_MINSTACK, NULL);
    table = lua_absindex(L, table);
    push_hint(L, key, name, table);
    if (!lua_isnil(L, -1))
        luaL_error(L, "%s has no '%s': %s", what, name, lua_tostring(L, -1));
    const char *near = push_nearest(L, name, table);
    const char *known = push_known(L, table);
    if (!near)
        luaL_error(L, "%s has no '%s'; it has %s", what, name, known);
    if (strlen(known) > LIST_MOST)
        luaL_error(L, "%s has no '%s'; did you mean %s?", what, name, near);
    luaL_error(L, "%s has no '%s'; did you mean %s? It has %s", what, name, near, known);
    __builtin_unreachable();
}

int lua_no_such_name(lua_State *L)
{
    no_such_name(L, luaL_checkstring(L, 1), luaL_checkstring(L, 2), luaL_tolstring(L, 3, NULL), 4);
}

const char *push_known(lua_State *L, int table)
{
    const char **names = names_of(L, table);
    buf text = {0};
    for (size_t i = 0; names[i]; i++)
        buf_fmt(&text, "%s%s", i ? ", " : "", names[i]);
    free(names);
    lua_pushlstring(L, buf_cstr(&text), text.len);
    buf_done(&text);
    return lua_tostring(L, -1);
}
