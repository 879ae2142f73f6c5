// SPDX-License-Identifier: MIT
// Runs one cell by its plan: Lua, a file, a template, a script. All of it runs in interp.c's
// protected call and may raise. So everything that must be freed is in a Lua string or in the
// execution.
#include "base/mem.h"
#include "base/str.h"
#include "script/kernel/cells/filecheck.h"
#include "script/kernel/cells/state.h"
#include "script/kernel/cells/values/lastvalue.h"
#include "script/kernel/cells/values/luajson.h"
#include "script/kernel/cells/values/template.h"

#include <lauxlib.h>
#include <string.h>

static void get_hook(lua_State *L, const char *name)
{
    lua_getfield(L, LUA_REGISTRYINDEX, INTERP_HOOKS);
    lua_getfield(L, -1, name);
    lua_remove(L, -2);
}

static void run_lua(lua_State *L, execution *x)
{
    const struct plan *p = &x->plan;
    lua_pushfstring(L, "=%s", x->chunk);
    const char *chunk = lua_tostring(L, -1);
    if (lastvalue_load(L, p->text, p->skipped, chunk) != LUA_OK) {
        x->failure = FAILURE_SYNTAX;
        lua_error(L);
    }
    int n = lastvalue_call(L);
    if (n == 0 || (n == 1 && lua_isnil(L, -1)))
        return;
    get_hook(L, "result");
    lua_insert(L, -n - 1);
    lua_call(L, n, 0);
}

// Pushes the path of the file that a file or template cell writes.
static void push_path(lua_State *L, execution *x)
{
    const struct plan *p = &x->plan;
    if (!p->path_lua) {
        lua_pushstring(L, p->path);
        return;
    }
    lua_pushfstring(L, "return %s", p->path_lua);
    lua_pushfstring(L, "=%s", x->chunk);
    if (luaL_loadbuffer(L, lua_tostring(L, -2), lua_rawlen(L, -2), lua_tostring(L, -1)) != LUA_OK) {
        x->failure = FAILURE_SYNTAX;
        lua_error(L);
    }
    lua_call(L, 0, 1);
    luaL_tolstring(L, -1, NULL);
}

// Writes the text on top of the stack.
static void write_file(lua_State *L, execution *x)
{
    int text = lua_gettop(L);
    get_hook(L, "write");
    push_path(L, x);
    if (!x->plan.append)
        filecheck(L, x, lua_tostring(L, -1), text);
    lua_insert(L, text + 2);
    lua_settop(L, text + 2);
    lua_pushvalue(L, text);
    lua_pushboolean(L, x->plan.append);
    lua_call(L, 3, 0);
}

// Pushes a list, or nil where there is none.
static void push_words(lua_State *L, char *const *words)
{
    if (!words) {
        lua_pushnil(L);
        return;
    }
    lua_newtable(L);
    for (lua_Integer i = 0; words[i]; i++) {
        lua_pushstring(L, words[i]);
        lua_rawseti(L, -2, i + 1);
    }
}

static void run_plan(lua_State *L, execution *x)
{
    const struct plan *p = &x->plan;
    switch (p->kind) {
    case PLAN_NOTHING:
        break;
    case PLAN_LUA:
        run_lua(L, x);
        break;
    case PLAN_FILE:
        lua_pushstring(L, p->text);
        write_file(L, x);
        break;
    case PLAN_TEMPLATE:
        template_fill(L, p->text, p->skipped, x->chunk);
        write_file(L, x);
        break;
    case PLAN_KERNEL:
        interp_of(L)->reads_unknown = true; // that language's names are not Lua's
        get_hook(L, "kernel");
        lua_pushstring(L, p->text);
        lua_pushstring(L, p->language);
        lua_pushstring(L, p->kernel);
        lua_pushboolean(L, p->wish);
        lua_call(L, 4, 0);
        break;
    case PLAN_BASH:
        get_hook(L, "bash");
        lua_pushstring(L, p->text);
        push_words(L, p->inputs);
        push_words(L, p->outputs);
        lua_call(L, 3, 0);
        break;
    }
}

static void run_preflight(lua_State *L, execution *x)
{
    get_hook(L, "preflight");
    luajson_push_whole(L, x->preflight); // a parameter that is nil is known, too
    lua_call(L, 1, 0);
    cJSON_Delete(STEAL(x->preflight));
}

// Is the expression of when= true? It sees `failed` beside the globals.
static bool is_wanted(lua_State *L, execution *x)
{
    lua_pushfstring(L, "local failed = ...; return %s", x->when);
    lua_pushfstring(L, "=%s, when", x->chunk);
    const char *text = lua_tostring(L, -2);
    if (luaL_loadbufferx(L, text, strlen(text), lua_tostring(L, -1), "t") != LUA_OK) {
        x->failure = FAILURE_SYNTAX;
        lua_error(L);
    }
    lua_pushboolean(L, x->earlier != NULL);
    lua_call(L, 1, 1);
    return lua_toboolean(L, -1);
}

int cells_run(lua_State *L)
{
    execution *x = lua_touserdata(L, 1);
    if (x->preflight)
        run_preflight(L, x);
    x->skipped = x->when && !is_wanted(L, x);
    if (x->skipped)
        return 0;
    run_plan(L, x);
    branches_finish(L);
    return 0;
}
