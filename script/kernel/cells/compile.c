// SPDX-License-Identifier: MIT
#include "script/kernel/cells/compile.h"

#include "base/mem.h"
#include "base/str.h"
#include "script/kernel/cells/datacheck.h"
#include "script/kernel/cells/filecheck.h"
#include "script/kernel/cells/lastvalue.h"
#include "script/kernel/cells/template.h"
#include "script/notebook/plan.h"

#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#define CHUNK "=cell" // what messages begin with: "cell:3: …"

struct compiling {
    const notebook *nb;
    struct faults *out;
    const datacheck *data;
    size_t i; // the cell
    struct plan plan;
};

static bool is_lua_file(const struct plan *p)
{
    bool lua = !p->language || str_eq(p->language, "lua");
    return p->kind == PLAN_FILE && lua && !p->append && str_ends(p->path, ".lua");
}

// Stack: the plan. Leaves a message, or raises it, when it does not compile.
static int compile(lua_State *L)
{
    const struct plan *p = lua_touserdata(L, 1);
    int status = LUA_OK;
    if (p->kind == PLAN_LUA)
        status = lastvalue_check(L, p->text, p->skipped, CHUNK);
    else if (p->kind == PLAN_TEMPLATE)
        template_check(L, p->text, p->skipped, &CHUNK[1]);
    else if (is_lua_file(p))
        status = filecheck_load(L, p->text, strlen(p->text), CHUNK);
    return status == LUA_OK ? 0 : lua_error(L);
}

// The end of a text is where its last line is.
static int bounded(int line, const char *source)
{
    int lines = 1;
    for (const char *s = source; *s; s++)
        lines += *s == '\n' && s[1];
    return line < lines ? line : lines;
}

static void report(lua_State *L, const struct compiling *c)
{
    int line = 0, n = 0;
    const char *message = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "out of memory";
    if (sscanf(message, "cell:%d: %n", &line, &n) == 1 && n > 0)
        message += n;
    if (line > 0 && c->plan.kind == PLAN_FILE) // the others are loaded with what was skipped
        line += c->plan.skipped;
    line = bounded(line, notebook_cell(c->nb, c->i)->source);
    faults_add(c->out, (long)c->i, line, message);
}

static void check_data(const struct compiling *c)
{
    err e = {0};
    int line;
    if (datacheck_cell(c->data, &c->plan, &line, &e) == 0)
        return;
    line = bounded(line, notebook_cell(c->nb, c->i)->source);
    faults_add(c->out, (long)c->i, line, e.text);
}

static void check_when(lua_State *L, const struct compiling *c)
{
    const char *when = notebook_cell(c->nb, c->i)->options.when;
    AUTO_FREE char *text = when ? str_fmt("return %s", when) : NULL;
    if (!when || luaL_loadbufferx(L, text, strlen(text), "=when", "t") == LUA_OK)
        return;
    AUTO_FREE char *message =
        str_fmt("option when: neither \"always\" nor \"failed\" nor a Lua expression: %s",
            lua_tostring(L, -1));
    faults_add(c->out, (long)c->i, 0, message);
}

static void check_cell(lua_State *L, struct compiling *c)
{
    check_when(L, c);
    lua_settop(L, 0);
    const struct cell *of = notebook_cell(c->nb, c->i);
    if (of->options.unclear || plan_text(of, &c->plan, NULL) < 0)
        return;
    lua_pushcfunction(L, compile);
    lua_pushlightuserdata(L, &c->plan);
    if (lua_pcall(L, 1, 0, 0) != LUA_OK)
        report(L, c);
    else
        check_data(c);
    lua_settop(L, 0);
    plan_done(&c->plan);
}

void compile_check(const notebook *nb, struct faults *out)
{
    faults_find(nb, out);
    lua_State *L = notebook_language(nb) ? NULL : luaL_newstate();
    datacheck *data = L ? datacheck_new(nb) : NULL;
    struct compiling c = {.nb = nb, .data = data, .out = out};
    for (c.i = 0; L && c.i < notebook_count(nb); c.i++)
        check_cell(L, &c);
    if (L)
        lua_close(L);
    datacheck_free(data);
    faults_sort(out);
}
