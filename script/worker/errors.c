// SPDX-License-Identifier: MIT
#include "script/worker/errors.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/worker/worker.h"

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

int lua_nearest(lua_State *L)
{
    const char *word = luaL_checkstring(L, 1);
    luaL_checktype(L, 2, LUA_TTABLE);
    const char **names = names_of(L, 2);
    lua_pushstring(L, str_nearest(word, names));
    free(names);
    return 1;
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
