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
    const bool *wanted; // NULL: all cells
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

static const char *line_of(const char *source, int line)
{
    while (--line > 0 && *source) {
        source += strcspn(source, "\n");
        source += *source == '\n';
    }
    return source;
}

// Lua says "near 'TOKEN'": its range, where the line has it once.
static void find_near(const char *source, const char *message, struct fault *f)
{
    const char *near = strstr(message, " near '");
    const char *token = near ? near + strlen(" near '") : NULL;
    const char *end = token ? strrchr(token, '\'') : NULL;
    if (!end || end == token || f->line < 1)
        return;
    const char *line = line_of(source, f->line);
    AUTO_FREE char *words = mem_strndup(line, strcspn(line, "\n"));
    AUTO_FREE char *name = mem_strndup(token, (size_t)(end - token));
    const char *at = strstr(words, name);
    if (!at || strstr(at + 1, name))
        return;
    f->from = (size_t)(at - words);
    f->to = f->from + strlen(name);
}

// "column 7: …": from there on.
static void find_column(const char *source, struct fault *f)
{
    int column = 0;
    if (f->line < 1 || sscanf(f->text, "column %d:", &column) != 1 || column < 1)
        return;
    const char *line = line_of(source, f->line);
    size_t n = strcspn(line, "\n"), at = 0;
    while (--column > 0 && at < n)
        do
            at++;
        while (at < n && ((unsigned char)line[at] & 0xc0) == 0x80);
    f->from = at < n ? at : 0;
    f->to = at < n ? n : 0;
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
    const char *source = notebook_cell(c->nb, c->i)->source;
    struct fault f = {.cell = (long)c->i,
        .line = bounded(line, source),
        .text = (char *)message,
        .source = "lua"};
    find_near(source, message, &f);
    faults_note(&c->found, &f);
}

static void check_data(struct compiling *c)
{
    err e = {0};
    int line;
    if (datacheck_cell(c->data, &c->plan, &line, &e) == 0)
        return;
    const char *source = notebook_cell(c->nb, c->i)->source;
    bool json =
        str_eq(c->plan.language, "json") || (c->plan.path && str_ends(c->plan.path, ".json"));
    struct fault f = {.cell = (long)c->i,
        .line = bounded(line, source),
        .text = e.text,
        .source = json ? "json" : "yaml"};
    find_column(source, &f);
    faults_note(&c->found, &f);
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
        if (!c->wanted || c->wanted[c->i])
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

void compile_check_some(const notebook *nb, const bool *wanted, struct faults *out)
{
    struct compiling c = {.nb = nb, .wanted = wanted, .end = notebook_count(nb)};
    CLEANUP(faults_done) struct faults all = {0};
    faults_find(nb, &all);
    for (size_t i = 0; i < all.n; i++)
        if (all.list[i].cell >= 0 && wanted[all.list[i].cell])
            faults_note(out, &all.list[i]);
    check_cells(&c);
    faults_take(out, &c.found);
    faults_sort(out);
}

// The language of a text that is written to a file, or run, and whose form somebody knows.
static const char *text_language(const struct plan *p)
{
    const char *slash = p->path ? strrchr(p->path, '/') : NULL;
    const char *name = slash ? slash + 1 : p->path ? p->path : "";
    if (p->kind == PLAN_BASH)
        return "bash";
    if (p->kind == PLAN_KERNEL)
        return p->language;
    if ((p->kind != PLAN_FILE && p->kind != PLAN_TEMPLATE) || p->append)
        return NULL;
    if (str_ends(name, ".yaml") || str_ends(name, ".yml"))
        return "yaml";
    if (str_ends(name, ".py"))
        return "python";
    if (str_ends(name, ".sh") || str_ends(name, ".bash"))
        return "bash";
    if (str_starts(name, "Dockerfile") || str_ends(name, ".dockerfile") ||
        str_starts(name, "Containerfile"))
        return "dockerfile";
    return p->language;
}

static void add_text(const notebook *nb, size_t i, cJSON *all)
{
    struct plan p = {0};
    const cell *of = notebook_cell(nb, i);
    if (of->kind != CELL_CODE || of->options.unclear || plan_text(nb, of, &p, NULL) < 0)
        return;
    const char *language = text_language(&p);
    if (language && p.text && *p.text && !str_eq(language, "lua")) {
        cJSON *one = cJSON_CreateObject();
        json_set_str(one, "cell", of->id);
        json_set_str(one, "language", language);
        json_set_str(one, "text", p.text);
        json_set_int(one, "skipped", p.skipped);
        // YAML that another program fills in has ${…}, too.
        json_set_bool(one, "fills", p.kind == PLAN_TEMPLATE || str_eq(language, "yaml"));
        json_set_bool(one, "magics", p.kind == PLAN_KERNEL);
        cJSON_AddItemToArray(all, one);
    }
    plan_done(&p);
}

cJSON *compile_texts(const notebook *nb, const bool *wanted)
{
    cJSON *all = cJSON_CreateArray();
    for (size_t i = 0; i < notebook_count(nb); i++)
        if (!wanted || wanted[i])
            add_text(nb, i, all);
    return all;
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

bool compile_is_yaml(const notebook *nb, size_t i)
{
    struct plan p = {0};
    const cell *of = notebook_cell(nb, i);
    if (of->kind != CELL_CODE || of->options.unclear || plan_text(nb, of, &p, NULL) < 0)
        return false;
    bool yaml = str_eq(text_language(&p), "yaml");
    plan_done(&p);
    return yaml;
}
