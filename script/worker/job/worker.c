// SPDX-License-Identifier: MIT
#include "script/worker/core/worker.h"

#include "base/mem.h"
#include "base/os/path.h"
#include "script/embed.h"
#include "script/pack/errortext.h"
#include "script/pack/pack.h"
#include "script/worker/core/state.h"
#include "script/worker/ranks/elastic.h"
#include "script/worker/tensor/travel.h"
#include "trainer/cpu/ops.h"
#include "trainer/dnn/dnn.h"

#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int traceback(lua_State *L)
{
    if (elastic_is_interrupt(L, 1)) // no failure: worker_run_rank knows it
        return 1;
    place_error(L);
    luaL_traceback(L, L, error_push(L, 1), 1);
    return 1;
}

void worker_event(worker *w, cJSON *event)
{
    AUTO_BUF text = {0};
    if (worker_listened(w)) {
        json_print(&text, event);
        if (w->link)
            rank_send(w->link, MESSAGE_EVENT, text.data, text.len, NULL);
        else
            w->options.event(w->options.event_ctx, text.data, text.len);
    }
    cJSON_Delete(event);
}

void worker_tell_versions(worker *w)
{
    cJSON *event = cJSON_CreateObject();
    const cpu_ops *cpu = cpu_choose(NULL, NULL);
    json_set_str(event, "event", "worker");
    json_set_str(event, "version", FIRESTEEL_VERSION);
    json_set_str(event, "kernels", cpu ? cpu->name : NULL);
    json_set_str(event, "dnn", w->dnn ? w->dnn->library() : NULL);
    json_set_str(event, "bf16", worker_half(w));
    json_set_str(event, "deterministic", "for any number of threads"); // see doc/trainer.md
    json_set_int(event, "ranks", w->comm ? w->comm->size() : 1);
    json_set_str(event, "mpi", w->comm && w->comm->library ? w->comm->library() : NULL);
    worker_event(w, event);
}

// For require "nn": the C part, then the Lua parts on top of it: each gets what the one before it
// returned. Upvalue: the module's index.
static const struct module {
    const char *name;
    lua_CFunction open;    // NULL: the module is all Lua
    const char *source[7]; // the Lua parts, NULL at the end
    const char *table[7];  // its fields that are tables of names, too, and tables in these
} modules[] = {
    {"args", NULL, {"args"}, {NULL}},
    {"data", open_data, {"data", "tables"}, {NULL}},
    {"hvd", open_hvd, {"hvd", "elastic"}, {"elastic"}},
    {"nn", open_nn, {"nn", "metrics", "gradient", "callbacks", "applications"},
        {"applications", "initializers", "ops", "optimizers.schedules", "optimizers",
            "regularizers"}},
};

// __index of a module: a name that it does not have is an error that lists those it has. Upvalue:
// what it is called.
static int no_such_field(lua_State *L)
{
    const char *what = lua_tostring(L, lua_upvalueindex(1));
    no_such_name(L, what, what, luaL_tolstring(L, 2, NULL), 1);
}

// Watches reads of the table below the top, which is called as the text on top, and is popped.
static void watch_names(lua_State *L)
{
    lua_createtable(L, 0, 1);
    lua_insert(L, -2);
    lua_pushcclosure(L, no_such_field, 1);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
}

static void watch_module(lua_State *L, const struct module *m)
{
    for (size_t i = 0; i < ARRAY_LEN(m->table) && m->table[i]; i++) {
        int module = lua_gettop(L);
        const char *inner = strchr(m->table[i], '.'), *name = m->table[i];
        if (inner) {
            lua_pushlstring(L, name, (size_t)(inner - name));
            lua_gettable(L, module);
        }
        lua_getfield(L, -1, inner ? inner + 1 : name);
        lua_pushfstring(L, "%s.%s", m->name, name);
        watch_names(L);
        lua_settop(L, module);
    }
    lua_pushstring(L, m->name);
    watch_names(L);
}

static const struct lua_source *source_of(const char *name)
{
    const struct lua_source *source = worker_sources;
    while (strcmp(source->name, name) != 0)
        source++;
    return source;
}

void push_source(lua_State *L, const char *name)
{
    const struct lua_source *source = source_of(name);
    lua_pushlstring(L, source->text, source->n);
}

// Calls a Lua part with all values on the stack; they are replaced by what it returns.
static void run_source(lua_State *L, const char *name)
{
    const struct lua_source *source = source_of(name);
    int given = lua_gettop(L);
    lua_pushfstring(L, "=%s", name);
    if (luaL_loadbuffer(L, source->text, source->n, lua_tostring(L, -1)) != LUA_OK)
        lua_error(L);
    lua_remove(L, -2);
    lua_insert(L, 1);
    lua_call(L, given, LUA_MULTRET);
}

static int load_module(lua_State *L)
{
    const struct module *m = lua_touserdata(L, lua_upvalueindex(1));
    lua_settop(L, 0);
    if (m->open)
        m->open(L);
    for (size_t i = 0; m->source[i]; i++)
        run_source(L, m->source[i]);
    lua_settop(L, 1);
    if (lua_istable(L, 1))
        watch_module(L, m);
    return 1;
}

static void preload_modules(lua_State *L)
{
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
    for (size_t i = 0; i < ARRAY_LEN(modules); i++) {
        lua_pushlightuserdata(L, (void *)&modules[i]);
        lua_pushcclosure(L, load_module, 1);
        lua_setfield(L, -2, modules[i].name);
    }
    lua_pop(L, 1);
}

void worker_end(worker *w, int code)
{
    fflush(NULL);
    if (w->link) {
        uint8_t body[4];
        put_u32(body, (uint32_t)code);
        rank_send(w->link, MESSAGE_EXIT, body, sizeof body, NULL);
        rank_wait_for_end(w->link);
    }
    driver_close(w->driver);
    w->driver = NULL;
    w->options.exit(code);
    __builtin_unreachable();
}

int worker_exit(lua_State *L)
{
    int code = lua_isboolean(L, 1) ? !lua_toboolean(L, 1) : (int)luaL_optinteger(L, 1, 0);
    worker_end(worker_of(L), code);
}

void worker_seed(worker *w)
{
    lua_State *L = w->L;
    lua_getglobal(L, LUA_MATHLIBNAME);
    lua_getfield(L, -1, "randomseed");
    lua_pushinteger(L, MODEL_SEED);
    lua_pushinteger(L, w->place.rank);
    lua_call(L, 2, 0);
    lua_pop(L, 1);
}

static int set_up(lua_State *L)
{
    luaL_openlibs(L);
    open_errors(L);
    worker_seed(worker_of(L));
    open_tensor(L);
    preload_modules(L);
    // Tensors and models must be known before a script requires their module: results contain them.
    open_nn(L);
    lua_settop(L, 0);
    lua_getglobal(L, "os");
    lua_pushcfunction(L, worker_exit);
    lua_setfield(L, -2, "exit");
    lua_newtable(L);
    lua_setglobal(L, "arg");
    travel_open(L);
    pack_remember_globals(L);
    return 0;
}

driver *worker_driver(worker *w, err *e)
{
    if (!w->driver)
        w->driver = driver_open(&w->options.driver, e);
    return w->driver;
}

worker *worker_new(const struct worker_options *options, err *e)
{
    worker *w = mem_alloc(sizeof *w);
    *w = (worker){.options = *options, .place = place_of(0, 1, 0, 0), .L = luaL_newstate()};
    if (!w->L)
        mem_out(0);
    *(worker **)lua_getextraspace(w->L) = w;
    lua_pushcfunction(w->L, set_up);
    if (lua_pcall(w->L, 0, 0, 0) != LUA_OK) {
        error_take(w->L, ERR_FAILED, e);
        err_wrap(e, "cannot start Lua");
        worker_free(w);
        return NULL;
    }
    // Executors call at any time, so the driver must listen from the start.
    if (options->driver.executors && !worker_driver(w, e)) {
        worker_free(w);
        return NULL;
    }
    return w;
}

void worker_close(worker *w)
{
    w->closing = true;
    if (w->L)
        lua_close(w->L);
    free(w->buckets);
    w->buckets = NULL;
    timeline_close(w->timeline);
    reading_free(w->reading);
    w->reading = NULL;
    w->L = NULL;
    w->timeline = NULL;
}

void worker_free(worker *w)
{
    if (!w)
        return;
    worker_close(w);
    driver_close(w->driver);
    free(w);
}

static void stop_hook(lua_State *L, lua_Debug *where)
{
    luaL_error(L, "interrupted");
}

// The hook stays set, so that a pcall in the script cannot go on.
void worker_interrupt(worker *w)
{
    lua_sethook(w->L, stop_hook, LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT, 1);
}

// Lets the script require modules beside it, wherever it was started.
static void add_script_folder(lua_State *L, const char *folder)
{
    lua_getglobal(L, "package");
    lua_pushfstring(L, "%s/?.lua;%s/?/init.lua;", folder, folder);
    lua_getfield(L, -2, "path");
    lua_concat(L, 2);
    lua_setfield(L, -2, "path");
    lua_pop(L, 1);
}

static void set_arg(lua_State *L, const char *script, char *const *args)
{
    lua_newtable(L);
    lua_pushstring(L, script);
    lua_rawseti(L, -2, 0);
    for (int i = 0; args[i]; i++) {
        lua_pushstring(L, args[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setglobal(L, "arg");
}

int worker_run(worker *w, const char *script, char *const *args, buf *failure, err *e)
{
    lua_State *L = w->L;
    char *folder = path_dirname(script);
    add_script_folder(L, folder);
    free(folder);
    set_arg(L, script, args);
    lua_pushcfunction(L, traceback);
    int status = luaL_loadfile(L, script);
    int n = 0;
    for (; status == LUA_OK && args[n]; n++)
        lua_pushstring(L, args[n]);
    if (status == LUA_OK)
        status = lua_pcall(L, n, 0, 1);
    fflush(stdout);
    if (status == LUA_OK)
        return 0;
    error_text(L, -1, failure);
    return err_set(e, ERR_FAILED, "%s failed", script);
}
