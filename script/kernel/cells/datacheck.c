// SPDX-License-Identifier: MIT
#include "script/kernel/cells/datacheck.h"

#include "base/mem.h"
#include "base/str.h"
#include "script/kernel/cells/filecheck.h"
#include "script/kernel/cells/luajson.h"
#include "script/kernel/cells/template.h"
#include "script/notebook/params.h"

#include <lauxlib.h>
#include <lualib.h>
#include <string.h>

// Expressions are evaluated in a state of its own, with bounds.
enum { STEPS_MAX = 1000000 };
static const size_t MEMORY_MAX = 64 << 20;

struct datacheck {
    lua_State *L;
    size_t used;
};

static void *allocate(void *d, void *old, size_t was, size_t n)
{
    size_t *used = &((datacheck *)d)->used, before = old ? was : 0;
    if (n == 0) {
        *used -= before;
        free(old);
        return NULL;
    }
    if (n > before && n - before > MEMORY_MAX - *used)
        return NULL;
    void *new = realloc(old, n);
    if (new)
        *used = *used - before + n;
    return new;
}

static void stop(lua_State *L, lua_Debug *ar)
{
    luaL_error(L, "it takes too long");
}

// Stack: the values as JSON. Functions that only compute, and a variable for each parameter.
static int set_up(lua_State *L)
{
    static const luaL_Reg libraries[] = {{LUA_GNAME, luaopen_base},
        {LUA_STRLIBNAME, luaopen_string}, {LUA_TABLIBNAME, luaopen_table},
        {LUA_MATHLIBNAME, luaopen_math}, {LUA_UTF8LIBNAME, luaopen_utf8}};
    static const char *const others[] = {"dofile", "loadfile", "load", "print", "warn"};
    for (size_t i = 0; i < ARRAY_LEN(libraries); i++)
        luaL_requiref(L, libraries[i].name, libraries[i].func, 1);
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        lua_pushnil(L);
        lua_setglobal(L, others[i]);
    }
    const cJSON *values = lua_touserdata(L, 1);
    for (const cJSON *v = values->child; v; v = v->next) {
        if (cJSON_IsNull(v))
            continue;
        luajson_push(L, v);
        lua_setglobal(L, v->string);
    }
    return 0;
}

datacheck *datacheck_new(const notebook *nb)
{
    datacheck *d = mem_alloc(sizeof *d);
    struct params params;
    params_find(nb, &params, NULL);
    AUTO_JSON *values = params_values(&params);
    params_done(&params);
    d->L = lua_newstate(allocate, d);
    if (d->L) {
        lua_pushcfunction(d->L, set_up);
        lua_pushlightuserdata(d->L, values);
    }
    if (d->L && lua_pcall(d->L, 1, 0, 0) == LUA_OK)
        return d;
    datacheck_free(d);
    return NULL;
}

void datacheck_free(datacheck *d)
{
    if (d && d->L)
        lua_close(d->L);
    free(d);
}

struct sketching {
    const char *text;
    enum template_blank blank;
    int blanks;
};

static int sketch(lua_State *L)
{
    struct sketching *s = lua_touserdata(L, 1);
    s->blanks = template_sketch(L, s->text, s->blank);
    return 1;
}

static size_t count_lines(const char *text, size_t n)
{
    size_t lines = 0;
    for (size_t i = 0; i < n; i++)
        lines += text[i] == '\n';
    return lines;
}

static bool has_expression(const char *text, int line)
{
    while (--line > 0 && *text)
        text += strcspn(text, "\n") + (text[strcspn(text, "\n")] == '\n');
    AUTO_FREE char *one = mem_strndup(text, strcspn(text, "\n"));
    return strstr(one, "${") != NULL;
}

// The place in the cell for a place in the filled-in text.
static void settle(const struct plan *p, const char *filled, size_t n, int *line, err *e)
{
    if (count_lines(filled, n) != count_lines(p->text, strlen(p->text))) {
        err why = *e;
        err_set(e, why.code, "line %d of the filled-in text, %s", *line, why.text);
        *line = 0;
    } else if (has_expression(p->text, *line) && str_starts(e->text, "column ")) {
        err why = *e; // it is another column there
        err_set(e, why.code, "%s", why.text + strcspn(why.text, ":") + strlen(": "));
    }
}

// Fills in one kind of blanks: 1 when the text parses or cannot be made, 0 when there were no
// blanks, so that others would change nothing; -1.
static int try_blank(
    lua_State *L, const struct plan *p, const char *name, struct sketching *s, int *line, err *e)
{
    lua_sethook(L, stop, LUA_MASKCOUNT, STEPS_MAX);
    lua_pushcfunction(L, sketch);
    lua_pushlightuserdata(L, s);
    int result = 1;
    if (lua_pcall(L, 1, 1, 0) == LUA_OK) {
        size_t n;
        const char *filled = lua_tolstring(L, -1, &n);
        result = filecheck_data(name, filled, n, line, e) == 0 ? 1 : s->blanks ? -1 : 0;
        if (result <= 0 && *line)
            settle(p, filled, n, line, e);
    }
    lua_settop(L, 0);
    return result;
}

// It is wrong when no kind of blanks makes it right; the first one's error is told.
static int check_template(lua_State *L, const struct plan *p, const char *name, int *line, err *e)
{
    for (int blank = 0; blank < BLANKS; blank++) {
        struct sketching s = {p->text, (enum template_blank)blank, 0};
        err why = {0};
        int at = 0;
        int result = try_blank(L, p, name, &s, &at, &why);
        if (result == 1)
            return 0;
        if (blank == 0) {
            *e = why;
            *line = at;
        }
        if (result == 0)
            break;
    }
    return -1;
}

// The name by which the form is known; NULL: it is none of ours.
static const char *form(const struct plan *p)
{
    const char *dot = p->path ? strrchr(p->path, '.') : NULL;
    if (dot && (str_eq(dot, ".json") || str_eq(dot, ".yaml") || str_eq(dot, ".yml")))
        return p->path;
    return str_eq(p->language, "json") ? "x.json" : str_eq(p->language, "yaml") ? "x.yaml" : NULL;
}

int datacheck_cell(const datacheck *d, const struct plan *p, int *line, err *e)
{
    const char *name = form(p);
    int result = 0;
    *line = 0;
    if (!name || p->append)
        return 0;
    if (p->kind == PLAN_FILE)
        result = filecheck_data(name, p->text, strlen(p->text), line, e);
    else if (p->kind == PLAN_TEMPLATE && d && !strstr(p->text, "{{"))
        result = check_template(d->L, p, name, line, e);
    if (*line)
        *line += p->skipped;
    return result;
}
