// SPDX-License-Identifier: MIT
#include "script/kernel/cells/lastvalue.h"

#include "base/buf.h"

#include <ctype.h>
#include <lauxlib.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>

enum { TAIL_LINES_MAX = 100 };
#define VALUES "_values_" // the local variable for the last expressions
#define RETURN "return"

// Has no to-be-freed variables across calls that raise: loading does not raise.
static int load(lua_State *L, const buf *text, const char *chunk)
{
    return luaL_loadbufferx(L, buf_cstr(text), text->len, chunk, "t");
}

static bool compiles(lua_State *L, const char *before, const char *text, size_t n)
{
    AUTO_BUF whole = {0};
    buf_str(&whole, before);
    buf_add(&whole, text, n);
    bool good = load(L, &whole, "=?") == LUA_OK;
    lua_pop(L, 1);
    return good;
}

static size_t line_start(const char *source, size_t end)
{
    while (end > 0 && source[end - 1] != '\n')
        end--;
    return end;
}

static bool is_blank(const char *line, size_t n)
{
    while (n > 0 && isspace((unsigned char)*line)) {
        line++;
        n--;
    }
    return n == 0 || (n >= 2 && line[0] == '-' && line[1] == '-');
}

// If a tail starts with a name, it cannot continue a statement that is complete before it. If it
// starts with "(" or "-", it can; it is then taken only when the source as a whole is no program,
// or nothing precedes it.
static bool may_start(const char *source, size_t start, bool program)
{
    const char *tail = source + start;
    while (isspace((unsigned char)*tail))
        tail++;
    return !program || isalpha((unsigned char)*tail) || *tail == '_' ||
           strspn(source, " \t\r\n") >= start;
}

// The length of "return" with the space around it, where a tail starts with that; else 0.
static size_t return_at(const char *tail)
{
    size_t space = strspn(tail, " \t"), n = space + strlen(RETURN);
    if (strncmp(tail + space, RETURN, strlen(RETURN)) != 0)
        return 0;
    return isalnum((unsigned char)tail[n]) || tail[n] == '_' ? 0 : n;
}

// The place where the last expression or `return` starts; the source's length when there is none.
static size_t find_tail(lua_State *L, const char *source, bool program)
{
    size_t n = strlen(source), end = n;
    for (int lines = 0; end > 0 && lines < TAIL_LINES_MAX; lines++) {
        size_t start = line_start(source, end - 1);
        if (!is_blank(source + start, end - start) && may_start(source, start, program) &&
            compiles(L, return_at(source + start) ? "" : RETURN " ", source + start, n - start) &&
            compiles(L, "", source, start))
            return start;
        end = start;
    }
    return n;
}

int lastvalue_load(lua_State *L, const char *source, int skipped, const char *chunk)
{
    AUTO_BUF text = {0};
    for (int i = 0; i < skipped; i++)
        buf_char(&text, '\n');
    size_t head = text.len;
    buf_str(&text, source);
    int status = load(L, &text, chunk);
    size_t tail = find_tail(L, source, status == LUA_OK);
    if (tail == strlen(source))
        return status;
    buf_clear(&text);
    for (size_t i = 0; i < head; i++)
        buf_char(&text, '\n');
    buf_str(&text, "local " VALUES "; ");
    buf_add(&text, source, tail);
    buf_fmt(&text, VALUES " = {" VALUES " = 0, %s\n} return " VALUES,
        source + tail + return_at(source + tail));
    if (load(L, &text, chunk) == LUA_OK) {
        lua_remove(L, -2);
        return LUA_OK;
    }
    lua_pop(L, 1); // a label or an attribute does not allow it: load the text as it was
    return status;
}

// The largest index in the list on top of the stack; its length may be that of its part before a
// nil.
static lua_Integer last_index(lua_State *L)
{
    lua_Integer last = 0;
    lua_pushnil(L);
    while (lua_next(L, -2)) {
        lua_Integer i = lua_isinteger(L, -2) ? lua_tointeger(L, -2) : 0;
        last = i > last ? i : last;
        lua_pop(L, 1);
    }
    return last;
}

static bool is_list(lua_State *L, int at)
{
    if (lua_gettop(L) != at || !lua_istable(L, at))
        return false;
    lua_pushliteral(L, VALUES);
    bool is = lua_rawget(L, at) != LUA_TNIL;
    lua_pop(L, 1);
    return is;
}

int lastvalue_call(lua_State *L)
{
    int at = lua_gettop(L);
    lua_call(L, 0, LUA_MULTRET);
    if (is_list(L, at)) {
        lua_Integer n = last_index(L);
        luaL_checkstack(L, (int)(n < INT_MAX ? n : INT_MAX), "too many values");
        for (lua_Integer i = 1; i <= n; i++)
            lua_rawgeti(L, at, i);
        lua_remove(L, at);
    }
    return lua_gettop(L) - at + 1;
}
