// SPDX-License-Identifier: MIT
// What the Lua sources of script/lib stand on: the table `core`, which they get as their argument
// and cells do not see. Values that must be freed are never live across a call that raises (see
// interp.h's `held`).
#include "base/clock.h"
#include "base/env.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/embed.h"
#include "script/kernel/cells/interp.h"
#include "script/kernel/cells/luajson.h"
#include "script/kernel/effects/call.h"
#include "script/kernel/port/display.h"

#include <lauxlib.h>
#include <lualib.h>
#include <string.h>

// Raises in->raised; the kinds that `run` has an exit code for are told by the error's code.
static int raise_call(lua_State *L)
{
    interp *in = interp_of(L);
    const execution *x = in->running;
    bool late = x && x->timeout_ns && clock_mono() >= x->started + x->timeout_ns;
    if (in->raised.code == ERR_TIMEOUT && late)
        return interp_raise(L, FAILURE_TIMEOUT);
    return interp_raise(L, in->raised.code == ERR_REFUSED ? FAILURE_REFUSED : FAILURE_ERROR);
}

static int push_held(lua_State *L, cJSON *tree)
{
    interp *in = interp_of(L);
    cJSON_Delete(in->held);
    in->held = tree;
    luajson_push(L, tree);
    cJSON_Delete(STEAL(in->held));
    return 1;
}

// call(name, args): a binding.
static int core_call(lua_State *L)
{
    interp *in = interp_of(L);
    const char *name = luaL_checkstring(L, 1);
    luaL_argcheck(
        L, lua_gettop(L) < 2 || lua_istable(L, 2) || lua_isnil(L, 2), 2, "table expected");
    if (!in->running)
        return luaL_error(L, "bindings are called from cells");
    in->raised = (err){0};
    cJSON *args = lua_istable(L, 2) ? luajson_read(L, 2, &in->raised) : cJSON_CreateObject();
    if (!args) {
        err_wrap(&in->raised, "%s", name);
        return interp_raise(L, FAILURE_ERROR);
    }
    cJSON *result = NULL;
    int done = call_binding(in->kernel, in->running, name, args, &result, &in->raised);
    cJSON_Delete(args);
    return done < 0 ? raise_call(L) : push_held(L, result);
}

// fail(kind, message): an error of ours at the place in the user's code.
static int core_fail(lua_State *L)
{
    interp *in = interp_of(L);
    static const char *const kinds[] = {"error", "assertion", "refused", NULL};
    static const enum failure failures[] = {FAILURE_ERROR, FAILURE_ASSERTION, FAILURE_REFUSED};
    int kind = luaL_checkoption(L, 1, "error", kinds);
    err_set(&in->raised, ERR_FAILED, "%s", luaL_checkstring(L, 2));
    return interp_raise(L, failures[kind]);
}

static const char *running_cell(const interp *in)
{
    return in->running ? in->running->cell : "";
}

// output(stream, text)
static int core_output(lua_State *L)
{
    interp *in = interp_of(L);
    static const char *const streams[] = {"stdout", "stderr", NULL};
    const char *name = streams[luaL_checkoption(L, 1, NULL, streams)];
    size_t n;
    const char *text = luaL_checklstring(L, 2, &n);
    outbox_text(in->kernel->outbox, running_cell(in), name, text, n);
    return 0;
}

static int core_print(lua_State *L)
{
    int n = lua_gettop(L);
    luaL_Buffer line;
    luaL_buffinit(L, &line);
    for (int i = 1; i <= n; i++) {
        if (i > 1)
            luaL_addchar(&line, '\t');
        luaL_tolstring(L, i, NULL);
        luaL_addvalue(&line);
    }
    luaL_addchar(&line, '\n');
    luaL_pushresult(&line);
    size_t length;
    const char *text = lua_tolstring(L, -1, &length);
    interp *in = interp_of(L);
    outbox_text(in->kernel->outbox, running_cell(in), "stdout", text, length);
    return 0;
}

// gate(what): raises unless effects on this machine are granted.
static int core_gate(lua_State *L)
{
    interp *in = interp_of(L);
    const char *what = luaL_checkstring(L, 1);
    if (in->running && call_local_gate(in->kernel, in->running, what, &in->raised) < 0)
        return raise_call(L);
    return 0;
}

// setenv(name, value or nil), getenv(name), environ() for children and os.getenv.
static int core_setenv(lua_State *L)
{
    kernel *k = interp_of(L)->kernel;
    const char *name = luaL_checkstring(L, 1), *value = luaL_optstring(L, 2, NULL);
    luaL_argcheck(L, *name && !strchr(name, '='), 1, "not the name of a variable");
    k->env = env_set(k->env, name, value);
    if (value && mask_env_name(name))
        mask_add(k->mask, value, strlen(value));
    return 0;
}

static int core_getenv(lua_State *L)
{
    kernel *k = interp_of(L)->kernel;
    lua_pushstring(L, env_get((const char *const *)k->env, luaL_checkstring(L, 1)));
    return 1;
}

static int core_environ(lua_State *L)
{
    kernel *k = interp_of(L)->kernel;
    lua_newtable(L);
    for (char **v = k->env; v && *v; v++) {
        const char *equals = strchr(*v, '=');
        if (!equals)
            continue;
        lua_pushlstring(L, *v, (size_t)(equals - *v));
        lua_pushstring(L, equals + 1);
        lua_rawset(L, -3);
    }
    return 1;
}

static int core_array(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    luajson_mark_array(L);
    return 1;
}

// json(value) → text; parse(text) → value.
static int core_json(lua_State *L)
{
    interp *in = interp_of(L);
    luaL_checkany(L, 1);
    cJSON *tree = luajson_read(L, 1, &in->raised);
    if (!tree)
        return interp_raise(L, FAILURE_ERROR);
    char *text = json_to_str(tree);
    cJSON_Delete(tree);
    lua_pushstring(L, text);
    free(text);
    return 1;
}

static int core_parse(lua_State *L)
{
    interp *in = interp_of(L);
    size_t n;
    const char *text = luaL_checklstring(L, 1, &n);
    cJSON *tree = json_parse(text, n, &in->raised);
    return tree ? push_held(L, tree) : interp_raise(L, FAILURE_ERROR);
}

// Reads a MIME bundle at a stack index; raises unless it has text/plain.
static cJSON *check_bundle(lua_State *L, int index)
{
    interp *in = interp_of(L);
    cJSON *data = luajson_read(L, index, &in->raised);
    if (data && !json_str(data, "text/plain")) {
        cJSON_Delete(data);
        data = NULL;
        err_set(&in->raised, ERR_USAGE, "a display needs \"text/plain\"");
    }
    if (!data)
        interp_raise(L, FAILURE_ERROR);
    return data;
}

// display(bundle, live) → number of a live one; result(bundle); update(number, bundle or nil,
// close).
static int core_display(lua_State *L)
{
    interp *in = interp_of(L);
    int64_t id = display_new(in->kernel, running_cell(in), check_bundle(L, 1), lua_toboolean(L, 2));
    if (!id)
        return 0;
    lua_pushinteger(L, id);
    return 1;
}

static int core_result(lua_State *L)
{
    interp *in = interp_of(L);
    display_result(in->kernel, running_cell(in), check_bundle(L, 1));
    return 0;
}

static int core_update(lua_State *L)
{
    lua_Integer id = luaL_checkinteger(L, 1);
    cJSON *data = lua_isnoneornil(L, 2) ? NULL : check_bundle(L, 2);
    display_update(interp_of(L)->kernel, id, data, lua_toboolean(L, 3));
    return 0;
}

// ask(question, secret) → text; raises when nobody can be asked.
static int core_ask(lua_State *L)
{
    interp *in = interp_of(L);
    const char *question = luaL_checkstring(L, 1);
    struct question q = {.text = question, .secret = lua_toboolean(L, 2)};
    char *answer = kernel_ask(in->kernel, &q, &in->raised);
    if (!answer)
        return raise_call(L);
    if (lua_toboolean(L, 2))
        mask_add(in->kernel->mask, answer, strlen(answer));
    lua_pushstring(L, answer);
    free(answer);
    return 1;
}

static int core_mask(lua_State *L)
{
    size_t n;
    const char *secret = luaL_checklstring(L, 1, &n);
    mask_add(interp_of(L)->kernel->mask, secret, n);
    return 0;
}

// duration("10m") → seconds; a number stays one.
static int core_duration(lua_State *L)
{
    interp *in = interp_of(L);
    if (lua_type(L, 1) == LUA_TNUMBER) {
        lua_settop(L, 1);
        return 1;
    }
    int64_t ns;
    if (duration_parse(luaL_checkstring(L, 1), &ns, &in->raised) < 0)
        return interp_raise(L, FAILURE_ERROR);
    lua_pushnumber(L, (double)ns / CLOCK_SEC);
    return 1;
}

extern const struct lua_source lib_sources[]; // script/lib, in the order it runs in

static int core_sleep(lua_State *L)
{
    interp *in = interp_of(L);
    int64_t ns = (int64_t)(luaL_checknumber(L, 1) * CLOCK_SEC);
    if (canceller_sleep(in->kernel->waits, ns, &in->raised) < 0)
        return raise_call(L);
    return 0;
}

static int core_now(lua_State *L)
{
    lua_pushnumber(L, (double)clock_mono() / CLOCK_SEC);
    return 1;
}

// source(name) → the text of a file of script/lib, or nil.
static int core_source(lua_State *L)
{
    const char *name = luaL_optstring(L, 1, "");
    for (const struct lua_source *s = lib_sources; s->name; s++)
        if (str_eq(s->name, name)) {
            lua_pushlstring(L, s->text, s->n);
            return 1;
        }
    return 0;
}

static const luaL_Reg core_functions[] = {
    {"call", core_call},
    {"fail", core_fail},
    {"output", core_output},
    {"print", core_print},
    {"gate", core_gate},
    {"setenv", core_setenv},
    {"getenv", core_getenv},
    {"environ", core_environ},
    {"array", core_array},
    {"json", core_json},
    {"parse", core_parse},
    {"display", core_display},
    {"result", core_result},
    {"update", core_update},
    {"ask", core_ask},
    {"mask", core_mask},
    {"duration", core_duration},
    {"sleep", core_sleep},
    {"now", core_now},
    {"source", core_source},
    {0},
};

static void set_field(lua_State *L, const char *name, const char *value)
{
    lua_pushstring(L, value);
    lua_setfield(L, -2, name);
}

static void push_core(lua_State *L)
{
    const kernel *k = interp_of(L)->kernel;
    luaL_newlib(L, core_functions);
    lua_pushlightuserdata(L, NULL);
    lua_setfield(L, -2, "null");
    set_field(L, "version", FIRESTEEL_VERSION);
    set_field(L, "lua", LUA_RELEASE);
    set_field(L, "cjson", cJSON_Version());
    set_field(L, "cwd", k->options->cwd);
    set_field(L, "run", k->run);
    set_field(L, "notebook_dir", k->notebook_dir);
    set_field(L, "worker", k->paths.worker);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_setfield(L, LUA_REGISTRYINDEX, INTERP_HOOKS);
    lua_setfield(L, -2, "hooks");
    // What completion knows of the API's functions: names of their options, methods of what they
    // return.
    lua_newtable(L);
    lua_setfield(L, -2, "options");
    lua_newtable(L);
    lua_setfield(L, -2, "returns");
}

void library_open(lua_State *L)
{
    push_core(L);
    for (const struct lua_source *s = lib_sources; s->name; s++) {
        lua_pushfstring(L, "@firesteel/%s.lua", s->name);
        if (luaL_loadbufferx(L, s->text, s->n, lua_tostring(L, -1), "t") != LUA_OK)
            lua_error(L);
        lua_pushvalue(L, 1);
        lua_call(L, 1, 0);
        lua_settop(L, 1);
    }
}
