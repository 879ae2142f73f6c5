// SPDX-License-Identifier: MIT
// C functions for the Lua sources of script/api: the table `core`, which they get as their argument
// and which cells do not see. No value that must be freed is live across a call that raises (see
// `held` in state.h).
#include "base/clock.h"
#include "base/json/secret.h"
#include "base/mem.h"
#include "base/os/env.h"
#include "base/str.h"
#include "script/api/sources.h"
#include "script/journal/html_plain.h"
#include "script/kernel/cells/bounded.h"
#include "script/kernel/cells/core/children.h"
#include "script/kernel/cells/core/formats.h"
#include "script/kernel/cells/core/pastruns.h"
#include "script/kernel/cells/deeds.h"
#include "script/kernel/cells/packing.h"
#include "script/kernel/cells/parts.h"
#include "script/kernel/cells/reads.h"
#include "script/kernel/cells/state.h"
#include "script/kernel/cells/values/lastvalue.h"
#include "script/kernel/cells/values/luajson.h"
#include "script/kernel/effects/call.h"
#include "script/kernel/port/secrets.h"
#include "script/protocol/message.h"

#include <lauxlib.h>
#include <lualib.h>
#include <math.h>
#include <string.h>

int interp_raise_call(lua_State *L)
{
    interp *in = interp_of(L);
    const turn *t = in->turn;
    bool late = t && t->deadline && clock_mono() >= t->deadline;
    if (in->raised.code == ERR_TIMEOUT && late)
        return interp_raise(L, FAILURE_TIMEOUT);
    return interp_raise(L, in->raised.code == ERR_REFUSED ? FAILURE_REFUSED : FAILURE_ERROR);
}

// call(name, args): calls a binding.
static int core_call(lua_State *L)
{
    interp *in = interp_of(L);
    const char *name = luaL_checkstring(L, 1);
    luaL_argcheck(
        L, lua_gettop(L) < 2 || lua_istable(L, 2) || lua_isnil(L, 2), 2, "table expected");
    if (!in->running)
        return luaL_error(L, "only cells can call bindings");
    in->raised = (err){0};
    cJSON *args = lua_istable(L, 2) ? luajson_read(L, 2, &in->raised) : cJSON_CreateObject();
    if (!args) {
        err_wrap(&in->raised, "%s", name);
        return interp_raise(L, FAILURE_ERROR);
    }
    if (branches_can_wait(L))
        return branches_call(L, name, args);
    cJSON *result = NULL;
    effects *fx = in->options->effects;
    int done = call_binding(fx, in->turn, NULL, name, args, &result, &in->raised);
    cJSON_Delete(args);
    return done < 0 ? interp_raise_call(L) : interp_push_json(L, result);
}

// fail(kind, message): raises an error of ours at the place in the user's code.
static int core_fail(lua_State *L)
{
    interp *in = interp_of(L);
    static const char *const kinds[] = {"error", "assertion", "refused", "timeout", NULL};
    static const enum failure failures[] = {
        FAILURE_ERROR, FAILURE_ASSERTION, FAILURE_REFUSED, FAILURE_TIMEOUT};
    int kind = luaL_checkoption(L, 1, "error", kinds);
    err_set(&in->raised, ERR_FAILED, "%s", luaL_checkstring(L, 2));
    return interp_raise(L, failures[kind]);
}

// raised(message) → the kind of a caught error: "refused", "assertion", …; "error" for all others.
static int core_raised(lua_State *L)
{
    const interp *in = interp_of(L);
    lua_pushstring(L, failure_name(interp_classify(in, LUA_ERRRUN, luaL_checkstring(L, 1))));
    return 1;
}

// secret_name(name) → whether it is the name of a secret
static int core_secret_name(lua_State *L)
{
    lua_pushboolean(L, secret_name(luaL_checkstring(L, 1)));
    return 1;
}

static port *port_of(const interp *in)
{
    return in->options->effects->spec.port;
}

static displays *displays_of(const interp *in)
{
    return in->options->effects->spec.displays;
}

static const char *running_cell(const interp *in)
{
    return in->turn ? in->turn->cell : "";
}

static const char *running_branch(const interp *in)
{
    return in->turn ? in->turn->name : NULL;
}

// output(stream, text)
static int core_output(lua_State *L)
{
    interp *in = interp_of(L);
    static const char *const streams[] = {"stdout", "stderr", NULL};
    const char *name = streams[luaL_checkoption(L, 1, NULL, streams)];
    size_t n;
    const char *text = luaL_checklstring(L, 2, &n);
    port_text(port_of(in), running_cell(in), running_branch(in), name, text, n);
    return 0;
}

enum { LARGE = 1 << 20 };

// A text of this size is printed without first joining it with its newline, which would copy it.
static bool print_large(lua_State *L)
{
    interp *in = interp_of(L);
    size_t n;
    const char *text =
        lua_gettop(L) == 1 && lua_type(L, 1) == LUA_TSTRING ? lua_tolstring(L, 1, &n) : NULL;
    if (!text || n < LARGE)
        return false;
    port_text(port_of(in), running_cell(in), running_branch(in), "stdout", text, n);
    port_text(port_of(in), running_cell(in), running_branch(in), "stdout", "\n", 1);
    return true;
}

static int core_print(lua_State *L)
{
    int n = lua_gettop(L);
    if (print_large(L))
        return 0;
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
    port_text(port_of(in), running_cell(in), running_branch(in), "stdout", text, length);
    return 0;
}

// gate(what): raises unless effects on this machine were granted.
static int core_gate(lua_State *L)
{
    interp *in = interp_of(L);
    const char *what = luaL_checkstring(L, 1);
    if (in->running && call_local_gate(in->options->effects, in->turn, what, &in->raised) < 0)
        return interp_raise_call(L);
    return 0;
}

struct recorded {
    const char *kind, *name, *branch; // branch NULL: none
    const int64_t *step;              // NULL: none
};

// Takes the value.
static void emit_recorded(const interp *in, const struct recorded *r, cJSON *value)
{
    cJSON *event = message_new(MESSAGE_recorded);
    json_set_str(event, "cell", running_cell(in));
    json_set_str(event, "branch", r->branch);
    json_set_str(event, "kind", r->kind);
    json_set_str(event, "name", r->name);
    json_set(event, "value", value);
    if (r->step)
        json_set_int(event, "step", *r->step);
    port_emit(port_of(in), event);
}

// setenv(name, value or nil), getenv(name), environ(): for children and os.getenv.
static int core_setenv(lua_State *L)
{
    effects *fx = interp_of(L)->options->effects;
    const char *name = luaL_checkstring(L, 1), *value = luaL_optstring(L, 2, NULL);
    luaL_argcheck(L, *name && !strchr(name, '='), 1, "not the name of a variable");
    pthread_mutex_lock(&fx->env_lock); // calls of branches read the environment
    fx->env = env_set(fx->env, name, value);
    pthread_mutex_unlock(&fx->env_lock);
    if (value)
        mask_add_named(port_mask(fx->spec.port), name, value);
    AUTO_FREE char *digest =
        value ? secrets_digest(port_mask(fx->spec.port), name, value) : mem_strdup("unset");
    const interp *in = interp_of(L);
    if (in->turn)
        emit_recorded(in, &(struct recorded){"environment", name, running_branch(in)},
            cJSON_CreateString(digest));
    return 0;
}

static int core_getenv(lua_State *L)
{
    effects *fx = interp_of(L)->options->effects;
    lua_pushstring(L, env_get((const char *const *)fx->env, luaL_checkstring(L, 1)));
    return 1;
}

// readenv(name): like getenv, for a cell's own reads, which the run records.
static int core_readenv(lua_State *L)
{
    const interp *in = interp_of(L);
    effects *fx = in->options->effects;
    const char *name = luaL_checkstring(L, 1);
    const char *value = env_get((const char *const *)fx->env, name);
    if (in->running && inputs_variable(in->inputs, name)) {
        AUTO_FREE char *digest =
            value ? secrets_digest(port_mask(fx->spec.port), name, value) : mem_strdup("unset");
        emit_recorded(in, &(struct recorded){"variable", name, running_branch(in)},
            cJSON_CreateString(digest));
    }
    return core_getenv(L);
}

static int core_environ(lua_State *L)
{
    effects *fx = interp_of(L)->options->effects;
    lua_newtable(L);
    for (char **v = fx->env; v && *v; v++) {
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

// known(parameters, text) → the text of a template, filled in as far as the parameters determine
// it, with TEMPLATE_WORD for the rest; or nil. known(parameters, nil, expression) → the
// expression's value if the parameters determine it.
static int core_known(lua_State *L)
{
    interp *in = interp_of(L);
    const char *text = luaL_optstring(L, 2, NULL), *expression = luaL_optstring(L, 3, "nil");
    char **filled = luajson_box(L);
    cJSON *values = luajson_read(L, 1, &in->raised), *value = NULL;
    if (!values)
        return interp_raise(L, FAILURE_ERROR);
    int blanks;
    bounded *state = bounded_new(values);
    cJSON_Delete(values);
    if (text)
        *filled = bounded_sketch(state, text, BLANK_WORD, &blanks);
    else
        value = bounded_value(state, expression);
    bounded_free(state);
    if (value)
        return interp_push_json(L, value);
    lua_pushstring(L, *filled);
    return 1;
}

// nearest(word, names) → the name that `word` may be a slip for, or nil.
static int core_nearest(lua_State *L)
{
    const char *word = luaL_checkstring(L, 1);
    luaL_checktype(L, 2, LUA_TTABLE);
    size_t n = lua_rawlen(L, 2);
    const char **names = lua_newuserdatauv(L, (n + 1) * sizeof *names, 0);
    for (size_t i = 0; i < n; i++) {
        lua_rawgeti(L, 2, (lua_Integer)i + 1);
        names[i] = lua_tostring(L, -1); // the list keeps it
        lua_pop(L, 1);
    }
    names[n] = NULL;
    lua_pushstring(L, str_nearest(word, names));
    return 1;
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

// display(bundle, live) → its number, if live; result(bundle); update(number, bundle or nil, close
// now, close when an execution ends).
static int core_display(lua_State *L)
{
    interp *in = interp_of(L);
    int64_t id = displays_add(displays_of(in), running_cell(in), running_branch(in),
        check_bundle(L, 1), lua_toboolean(L, 2));
    if (!id)
        return 0;
    lua_pushinteger(L, id);
    return 1;
}

static int core_result(lua_State *L)
{
    interp *in = interp_of(L);
    displays_add_result(displays_of(in), running_cell(in), running_branch(in), check_bundle(L, 1));
    return 0;
}

static int core_update(lua_State *L)
{
    lua_Integer id = luaL_checkinteger(L, 1);
    cJSON *data = lua_isnoneornil(L, 2) ? NULL : check_bundle(L, 2);
    displays_update(displays_of(interp_of(L)), id, data,
        lua_toboolean(L, 3)   ? DISPLAY_CLOSES
        : lua_toboolean(L, 4) ? DISPLAY_COMPLETE
                              : DISPLAY_GOES_ON);
    return 0;
}

// record(kind, name, value, step, branch): records an event of the run; branch: if it is not the
// running one.
static int core_record(lua_State *L)
{
    interp *in = interp_of(L);
    const char *kind = luaL_checkstring(L, 1), *name = luaL_checkstring(L, 2);
    int64_t step = luaL_optinteger(L, 4, 0);
    const char *branch = luaL_optstring(L, 5, running_branch(in));
    cJSON *value = luajson_read(L, 3, &in->raised);
    if (!value)
        return interp_raise(L, FAILURE_ERROR);
    struct recorded r = {kind, name, branch, lua_isnoneornil(L, 4) ? NULL : &step};
    emit_recorded(in, &r, value);
    return 0;
}

// input(path): records a file that is about to be read.
static int core_input(lua_State *L)
{
    interp *in = interp_of(L);
    const char *path = luaL_checkstring(L, 1);
    // a lookup has no cell
    cJSON *input = in->running ? inputs_take(in->inputs, path) : NULL;
    if (input)
        emit_recorded(in, &(struct recorded){"input", path, running_branch(in)}, input);
    return 0;
}

static bool is_below(const char *folder, const char *path)
{
    size_t n = strlen(folder);
    return str_starts(path, folder) && (path[n] == '/' || str_ends(folder, "/"));
}

// Is the file in a folder for temporary files? Such files are not results.
static bool is_temporary(const interp *in, const char *path)
{
    const struct effects *fx = in->options->effects;
    const char *temp = env_get((const char *const *)fx->env, "TMPDIR");
    return is_below(temp && *temp ? temp : "/tmp", path) && !is_below(fx->spec.cwd, path);
}

// opened(path): notes the state of a file before the cell may write it. The first result is nil if
// it is not a regular file, and true if it was changed so recently that its date may not change
// when the cell writes it. The second result is whether the file was never seen in this state.
static int core_opened(lua_State *L)
{
    const interp *in = interp_of(L);
    bool fresh, other;
    if (!inputs_opened(in->inputs, luaL_checkstring(L, 1), &fresh, &other))
        return 0;
    lua_pushboolean(L, fresh);
    lua_pushboolean(L, other);
    return 2;
}

// left(path, sure): records a file that the cell has written, or may have written.
static int core_left(lua_State *L)
{
    interp *in = interp_of(L);
    const char *path = luaL_checkstring(L, 1);
    bool sure = lua_toboolean(L, 2), kept = in->running && !is_temporary(in, path);
    cJSON *left = kept ? inputs_left(in->inputs, path, sure) : NULL;
    if (left)
        emit_recorded(in, &(struct recorded){"output", path}, left);
    return 0;
}

// ask(question, secret) → text; raises if there is nobody to ask.
static int core_ask(lua_State *L)
{
    interp *in = interp_of(L);
    const char *question = luaL_checkstring(L, 1);
    struct question q = {.text = question, .cell = running_cell(in), .secret = lua_toboolean(L, 2)};
    if (!in->turn)
        return luaL_error(L, "only cells can ask questions");
    if (branches_can_wait(L))
        return branches_ask(L, question, q.secret);
    char **answer = luajson_box(L);
    *answer = asks_person(in->options->effects->spec.asks, in->turn->waits, &q, &in->raised);
    if (!*answer)
        return interp_raise_call(L);
    if (q.secret)
        mask_add(port_mask(port_of(in)), *answer, strlen(*answer));
    lua_pushstring(L, *answer);
    return 1;
}

static int core_mask(lua_State *L)
{
    size_t n;
    const char *secret = luaL_checklstring(L, 1, &n);
    mask_add(port_mask(port_of(interp_of(L))), secret, n);
    return 0;
}

// has_secret(text): does the text contain a known secret, in any spelling?
static int core_has_secret(lua_State *L)
{
    size_t n;
    const char *text = luaL_checklstring(L, 1, &n);
    AUTO_BUF masked = {0};
    lua_pushboolean(L, mask_text(port_mask(port_of(interp_of(L))), text, n, &masked));
    return 1;
}

// Pushes the argument, masked; the argument may contain a secret in any spelling.
static const char *push_masked(lua_State *L, int index, size_t *n)
{
    const char *text = luaL_checklstring(L, index, n);
    char **box = luajson_box(L); // pushing may run out of memory
    buf masked = {0};
    if (mask_text(port_mask(port_of(interp_of(L))), text, *n, &masked)) {
        *n = masked.len;
        *box = buf_take(&masked);
        lua_pushlstring(L, *box, *n);
    } else {
        buf_done(&masked);
        lua_pushvalue(L, index);
    }
    return lua_tolstring(L, -1, n);
}

// masked(text): for a text that will be cut or changed: masking must come first.
static int core_masked(lua_State *L)
{
    size_t n;
    push_masked(L, 1, &n);
    return 1;
}

// html_text(html) → its text for a terminal. Masks before it removes tags, which might cut a
// secret.
static int core_html_text(lua_State *L)
{
    size_t n;
    const char *html = push_masked(L, 1, &n);
    char **box = luajson_box(L);
    buf text = {0};
    html_plain(html, &text);
    *box = mem_strdup(buf_cstr(&text));
    buf_done(&text);
    lua_pushstring(L, *box);
    return 1;
}

// short(text, most) → the masked text; if it has more characters, the first ones and "…".
static int core_short(lua_State *L)
{
    size_t n, at = 0, before = 0;
    lua_Integer most = luaL_checkinteger(L, 2);
    const char *text = push_masked(L, 1, &n);
    for (; at < n && most > 0; most--) {
        size_t length = utf8_len(text + at, n - at);
        before = at;
        at += length ? length : 1;
    }
    if (at < n) {
        lua_pushlstring(L, text, before);
        lua_pushliteral(L, STR_CUT);
        lua_concat(L, 2);
    }
    return 1;
}

// duration("10m") → seconds; a number stays as it is.
static int core_duration(lua_State *L)
{
    interp *in = interp_of(L);
    int64_t ns;
    if (lua_type(L, 1) == LUA_TNUMBER) {
        if (lua_tonumber(L, 1) >= 0) { // nor NaN
            lua_settop(L, 1);
            return 1;
        }
        if (isnan(lua_tonumber(L, 1)))
            err_set(&in->raised, ERR_USAGE,
                "a duration is 0 or more; the result of this calculation is no number (nan)");
        else
            err_set(&in->raised, ERR_USAGE, "a duration is 0 or more, not %s",
                luaL_tolstring(L, 1, NULL));
        return interp_raise(L, FAILURE_ERROR);
    }
    if (lua_type(L, 1) != LUA_TSTRING) {
        err_set(&in->raised, ERR_USAGE,
            "a duration is a number of seconds, or a text as \"30s\" or \"10m\", not a %s",
            luaL_typename(L, 1));
        return interp_raise(L, FAILURE_ERROR);
    }
    if (duration_parse(lua_tostring(L, 1), &ns, &in->raised) < 0)
        return interp_raise(L, FAILURE_ERROR);
    lua_pushnumber(L, (double)ns / CLOCK_SEC);
    return 1;
}

// shown() → is the library function that calls this the last expression of a cell, so that its
// value is only shown?
static int core_shown(lua_State *L)
{
    lua_pushboolean(L, lastvalue_is_shown(L, 2));
    return 1;
}

static int core_sleep(lua_State *L)
{
    interp *in = interp_of(L);
    int64_t ns = clock_of_seconds(luaL_checknumber(L, 1));
    if (!in->turn)
        return luaL_error(L, "only cells can wait");
    if (branches_can_wait(L))
        return branches_sleep(L, ns);
    if (canceller_sleep(in->turn->waits, ns, &in->raised) < 0)
        return interp_raise_call(L);
    return 0;
}

// error_text(value that was raised) → its text.
static int core_error_text(lua_State *L)
{
    lua_settop(L, 1);
    interp_push_raised(L, 1);
    return 1;
}

static int core_now(lua_State *L)
{
    lua_pushnumber(L, (double)clock_mono() / CLOCK_SEC);
    return 1;
}

// source(name) → the text of a file of script/api, or nil.
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

// failure() → {cell, name, message} of the failure before this cell, or nil.
static int core_failure(lua_State *L)
{
    const interp *in = interp_of(L);
    if (in->running && in->running->earlier)
        luajson_push(L, in->running->earlier);
    else
        lua_pushnil(L);
    return 1;
}

static const luaL_Reg core_functions[] = {
    {"failure", core_failure},
    {"call", core_call},
    {"fail", core_fail},
    {"raised", core_raised},
    {"error_text", core_error_text},
    {"secret_name", core_secret_name},
    {"output", core_output},
    {"print", core_print},
    {"gate", core_gate},
    {"setenv", core_setenv},
    {"getenv", core_getenv},
    {"readenv", core_readenv},
    {"environ", core_environ},
    {"array", core_array},
    {"nearest", core_nearest},
    {"known", core_known},
    {"display", core_display},
    {"result", core_result},
    {"update", core_update},
    {"record", core_record},
    {"input", core_input},
    {"opened", core_opened},
    {"left", core_left},
    {"runs", pastruns},
    {"lineage", pastruns_own},
    {"ask", core_ask},
    {"mask", core_mask},
    {"has_secret", core_has_secret},
    {"masked", core_masked},
    {"html_text", core_html_text},
    {"short", core_short},
    {"duration", core_duration},
    {"shown", core_shown},
    {"sleep", core_sleep},
    {"now", core_now},
    {"source", core_source},
    {"library", reads_library},
    {"more", parts_more},
    {"everything", parts_everything},
    {0},
};

static void set_field(lua_State *L, const char *name, const char *value)
{
    lua_pushstring(L, value);
    lua_setfield(L, -2, name);
}

static void push_core(lua_State *L)
{
    const struct interp_options *o = interp_of(L)->options;
    luaL_newlib(L, core_functions);
    luaL_setfuncs(L, formats_functions, 0);
    luaL_setfuncs(L, packing_functions, 0);
    lua_pushlightuserdata(L, NULL);
    lua_setfield(L, -2, "null");
    set_field(L, "version", FIRESTEEL_VERSION);
    set_field(L, "lua", LUA_RELEASE);
    set_field(L, "cjson", cJSON_Version());
    set_field(L, "cwd", o->effects->spec.cwd);
    set_field(L, "run", o->effects->run);
    set_field(L, "notebook_dir", o->notebook_dir);
    set_field(L, "worker", o->effects->spec.paths.worker);
    set_field(L, "data", o->effects->spec.paths.data);
    set_field(L, "share", o->effects->spec.paths.share);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_setfield(L, LUA_REGISTRYINDEX, INTERP_HOOKS);
    lua_setfield(L, -2, "hooks");
    branches_open(L);
    children_open(L);
    deeds_open(L);
}

void library_open(lua_State *L)
{
    push_core(L);
    parts_open(L);
}
