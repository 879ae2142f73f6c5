// SPDX-License-Identifier: MIT
#include "script/kernel/cells/values/lastvalue.h"

#include "base/buf.h"
#include "base/mem.h"

#include <ctype.h>
#include <lauxlib.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>

enum { TAIL_LINES_MAX = 100 };
#define VALUES "_values_" // the local variable for the last expressions
#define RETURN "return"

struct source {
    const char *text;
    size_t n;
    int skipped; // lines before its first one
    const char *chunk;
    enum { NOT_ASKED, PROGRAM, NO_PROGRAM } whole; // does it compile as it is?
};

// Does not raise, so variables that must be freed may be live.
static int load(lua_State *L, const buf *text, const char *chunk)
{
    return luaL_loadbufferx(L, buf_cstr(text), text->len, chunk, "t");
}

static void add_lines(buf *text, int n)
{
    for (int i = 0; i < n; i++)
        buf_char(text, '\n');
}

static int load_whole(lua_State *L, const struct source *s)
{
    AUTO_BUF text = {0};
    add_lines(&text, s->skipped);
    buf_add(&text, s->text, s->n);
    return load(L, &text, s->chunk);
}

static bool is_program(lua_State *L, struct source *s)
{
    if (s->whole == NOT_ASKED) {
        s->whole = load_whole(L, s) == LUA_OK ? PROGRAM : NO_PROGRAM;
        lua_pop(L, 1);
    }
    return s->whole == PROGRAM;
}

static bool is_list_of_expressions(lua_State *L, const char *text)
{
    AUTO_BUF whole = {0};
    buf_str(&whole, RETURN " ");
    buf_str(&whole, text);
    bool is = load(L, &whole, "=?") == LUA_OK;
    lua_pop(L, 1);
    return is;
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

// May this tail continue the statement before it? A tail that starts with a name cannot, after a
// complete statement. One that starts with "(" or "-" can; it is then a tail only if the source as
// a whole does not compile, or nothing precedes it.
static bool may_start(lua_State *L, struct source *s, size_t start)
{
    const char *tail = s->text + start;
    while (isspace((unsigned char)*tail))
        tail++;
    return isalpha((unsigned char)*tail) || *tail == '_' || strspn(s->text, " \t\r\n") >= start ||
           !is_program(L, s);
}

// The length of "return" and the space around it if a tail starts with that; else 0.
static size_t return_at(const char *tail)
{
    size_t space = strspn(tail, " \t"), n = space + strlen(RETURN);
    if (strncmp(tail + space, RETURN, strlen(RETURN)) != 0)
        return 0;
    return isalnum((unsigned char)tail[n]) || tail[n] == '_' ? 0 : n;
}

static bool in_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static const char *after_blanks(const char *s)
{
    return s + strspn(s, " \t\r\n");
}

// Returns the end of a name such as a, a.b or a.b.c; NULL: there is no name.
static const char *after_name(const char *s)
{
    if (!isalpha((unsigned char)*s) && *s != '_')
        return NULL;
    while (in_name(*s) || (*s == '.' && in_name(s[1])))
        s++;
    return s;
}

// Returns the end of a string in quotes; NULL: it does not end, or is not simple.
static const char *after_string(const char *s)
{
    char quote = *s++;
    while (*s && *s != quote && *s != '\n')
        s += *s == '\\' && s[1] ? 2 : 1;
    return *s == quote ? s + 1 : NULL;
}

// Returns the end of a call's arguments, if they call nothing themselves: strings, numbers, names
// and tables of these. Otherwise NULL.
static const char *after_arguments(const char *s)
{
    if (*s == '"' || *s == '\'')
        return after_string(s);
    if (*s != '(' && *s != '{')
        return NULL;
    int depth = 0;
    bool after_a_name = false; // a string or a table after it would be a call
    do {
        bool is_string = *s == '"' || *s == '\'', opens = *s == '(' || *s == '{';
        if ((after_a_name && (is_string || opens)) || (depth > 0 && *s == '('))
            return NULL;
        if (opens || *s == ')' || *s == '}')
            depth += opens ? 1 : -1;
        const char *name = after_name(s);
        after_a_name = name != NULL;
        if (name)
            s = name;
        else if (is_string)
            s = after_string(s);
        else if (*s && strchr("(){}=,.0123456789", *s))
            s++;
        else
            return NULL;
        s = s ? after_blanks(s) : NULL;
    } while (s && depth > 0);
    return s;
}

// Is a tail only one call of a named function?
static bool is_one_call(const char *tail)
{
    const char *s = after_name(after_blanks(tail));
    s = s ? after_arguments(after_blanks(s)) : NULL;
    if (!s)
        return false;
    s = after_blanks(s);
    s = after_blanks(*s == ';' ? s + 1 : s);
    for (size_t n; *s; s = after_blanks(s + n)) {
        n = strcspn(s, "\n");
        if (!is_blank(s, n))
            return false;
    }
    return true;
}

// Is the tail certainly not an expression? It is not if it begins with a statement's keyword, or
// assigns to a name. The compiler would find out, too, but takes longer.
static bool is_statement(const char *tail)
{
    static const char *const words[] = {"break", "do", "else", "elseif", "end", "for", "goto", "if",
        "in", "local", "repeat", "then", "until", "while"};
    const char *s = after_blanks(tail), *end = after_name(s);
    if (!end)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strlen(words[i]) == (size_t)(end - s) && strncmp(words[i], s, (size_t)(end - s)) == 0)
            return true;
    end = after_blanks(end);
    return *end == '=' && end[1] != '=';
}

// Loads the source so that it keeps the values of its tail. To keep anything but a list of
// expressions after complete lines from compiling, the tail stands in a table of its own after a
// ";", and a `return` closes everything. A plain call has balanced brackets; other tails are first
// compiled alone.
static int load_with_values(lua_State *L, const struct source *s, size_t tail)
{
    const char *last = s->text + tail + return_at(s->text + tail);
    bool one_call = is_one_call(last);
    if (!one_call && !is_list_of_expressions(L, last))
        return LUA_ERRSYNTAX;
    AUTO_BUF text = {0};
    add_lines(&text, s->skipped);
    buf_str(&text, "local " VALUES "; ");
    buf_add(&text, s->text, tail);
    buf_fmt(&text, "; %s" VALUES " = {" VALUES " = 0, %s\n} return " VALUES,
        one_call ? VALUES " = true " : "", last);
    int status = load(L, &text, s->chunk);
    if (status != LUA_OK)
        lua_pop(L, 1);
    return status;
}

static struct source source_of(const char *text, int skipped, const char *chunk)
{
    return (struct source){.text = text, .n = strlen(text), .skipped = skipped, .chunk = chunk};
}

// Loads the source with the values of the shortest tail that has some; else as it is.
static int load_best(lua_State *L, struct source *s)
{
    size_t end = s->n;
    for (int lines = 0; end > 0 && lines < TAIL_LINES_MAX; lines++) {
        size_t start = line_start(s->text, end - 1);
        if (!is_blank(s->text + start, end - start) && !is_statement(s->text + start) &&
            may_start(L, s, start) && load_with_values(L, s, start) == LUA_OK)
            return LUA_OK;
        end = start;
    }
    return load_whole(L, s);
}

int lastvalue_check(lua_State *L, const char *source, int skipped, const char *chunk)
{
    struct source s = source_of(source, skipped, chunk);
    if (load_whole(L, &s) == LUA_OK)
        return LUA_OK;
    lua_pop(L, 1);
    s.whole = NO_PROGRAM;
    return load_best(L, &s);
}

int lastvalue_load(lua_State *L, const char *source, int skipped, const char *chunk)
{
    struct source s = source_of(source, skipped, chunk);
    return load_best(L, &s);
}

bool lastvalue_is_shown(lua_State *L, int level)
{
    lua_Debug ar;
    if (!lua_getstack(L, level, &ar) || !lua_getinfo(L, "S", &ar) || *ar.what != 'm')
        return false;
    bool is = false;
    const char *name;
    for (int i = 1; !is && (name = lua_getlocal(L, &ar, i)); i++) {
        is = strcmp(name, VALUES) == 0 && lua_isboolean(L, -1);
        lua_pop(L, 1);
    }
    return is;
}

// The largest index in the list on top of the stack; its length (#) may end before a nil.
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
