// SPDX-License-Identifier: MIT
#include "script/kernel/cells/compile.h"

#include "base/mem.h"
#include "base/str.h"
#include "script/kernel/cells/datacheck.h"
#include "script/kernel/cells/filecheck.h"
#include "script/kernel/cells/values/lastvalue.h"
#include "script/kernel/cells/values/template.h"
#include "script/notebook/plan.h"

#include <lauxlib.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define CHUNK "=cell" // what messages begin with: "cell:3: …"

enum { APART = 200 }; // fewer cells are not worth a thread

// Checks the cells from i to end. The two halves share only the notebook, which neither changes.
struct compiling {
    const notebook *nb;
    struct faults found;
    datacheck *data;
    size_t i, end;
    struct plan plan;
};

static bool is_lua_file(const struct plan *p)
{
    bool lua = !p->language || str_eq(p->language, "lua");
    return p->kind == PLAN_FILE && lua && !p->append && str_ends(p->path, ".lua");
}

// Stack: the plan. Leaves or raises a message if the cell does not compile.
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

static void report(lua_State *L, struct compiling *c)
{
    int line = 0, n = 0;
    const char *message = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "out of memory";
    if (sscanf(message, "cell:%d: %n", &line, &n) == 1 && n > 0)
        message += n;
    if (line > 0 && c->plan.kind == PLAN_FILE) // other kinds were loaded with the skipped lines
                                               // counted
        line += c->plan.skipped;
    line = bounded(line, notebook_cell(c->nb, c->i)->source);
    faults_add(&c->found, (long)c->i, line, message);
}

static void check_data(struct compiling *c)
{
    err e = {0};
    int line;
    if (datacheck_cell(c->data, &c->plan, &line, &e) == 0)
        return;
    line = bounded(line, notebook_cell(c->nb, c->i)->source);
    faults_add(&c->found, (long)c->i, line, e.text);
}

static void check_when(lua_State *L, struct compiling *c)
{
    const char *when = notebook_cell(c->nb, c->i)->options.when;
    AUTO_FREE char *text = when ? str_fmt("return %s", when) : NULL;
    if (!when || luaL_loadbufferx(L, text, strlen(text), "=when", "t") == LUA_OK)
        return;
    AUTO_FREE char *message =
        str_fmt("option when: neither \"always\" nor \"failed\" nor a Lua expression: %s",
            lua_tostring(L, -1));
    faults_add(&c->found, (long)c->i, 0, message);
}

static void check_cell(lua_State *L, struct compiling *c)
{
    check_when(L, c);
    lua_settop(L, 0);
    const struct cell *of = notebook_cell(c->nb, c->i);
    if (of->options.unclear || plan_text(c->nb, of, &c->plan, NULL) < 0)
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

static void *check_cells(void *arg)
{
    struct compiling *c = arg;
    lua_State *L = c->i < c->end ? luaL_newstate() : NULL;
    c->data = L ? datacheck_new(c->nb) : NULL;
    for (; L && c->i < c->end; c->i++)
        check_cell(L, c);
    if (L)
        lua_close(L);
    datacheck_free(c->data);
    return NULL;
}

void compile_check(const notebook *nb, struct faults *out)
{
    size_t n = notebook_count(nb), half = n < APART ? n : n / 2;
    struct compiling first = {.nb = nb, .end = half}, second = {.nb = nb, .i = half, .end = n};
    pthread_t thread;
    bool apart = half < n && pthread_create(&thread, NULL, check_cells, &second) == 0;
    faults_find(nb, out);
    check_cells(&first);
    if (apart)
        pthread_join(thread, NULL);
    else
        check_cells(&second);
    faults_take(out, &first.found);
    faults_take(out, &second.found);
    faults_sort(out);
}

// Is this the first cell that needs this kernel? Adds the kernel to `seen`.
static bool is_new(char ***seen, const struct plan *p)
{
    AUTO_FREE char *key = str_fmt("%s\n%s", p->kernel ? p->kernel : "", p->language);
    for (char **one = *seen; one && *one; one++)
        if (str_eq(*one, key))
            return false;
    *seen = strv_add(*seen, key);
    return true;
}

void compile_check_kernels(const notebook *nb, kernel_find *find, void *arg, struct faults *out)
{
    char **seen = mem_array(1, sizeof *seen);
    for (size_t i = 0; i < notebook_count(nb); i++) {
        struct plan p = {0};
        err e = {0};
        if (plan_cell(nb, notebook_cell(nb, i), &p, NULL) < 0)
            continue;
        const struct kernel_wanted w = {p.kernel, p.wish, p.language};
        if (p.kind == PLAN_KERNEL && is_new(&seen, &p) && find(arg, &w, &e) < 0)
            faults_add(out, (long)i, 0, e.text);
        plan_done(&p);
    }
    strv_free(seen);
    faults_sort(out);
}
