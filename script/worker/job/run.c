// SPDX-License-Identifier: MIT
// hvd.run, both ends: the driver packs a function and starts ranks; a rank unpacks and calls it.
//
//   packed job     fn, args, arg, names of the script's own globals, what the driver has read
//                  (reading.c; not of a function that a cell has packed)
//   packed result  what fn returned
//
// hvd.run returns a list that has for each rank a table {n =, …} of fn's results; hvd.lua wraps it.
#include "base/clock.h"
#include "base/mem.h"
#include "script/pack/errortext.h"
#include "script/pack/pack.h"
#include "script/worker/core/fields.h"
#include "script/worker/job/job.h"
#include "script/worker/ranks/collective.h"
#include "script/worker/ranks/elastic.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

// Turns the values above `before` into a table {n = count, …}.
static void pack_results(lua_State *L, int before)
{
    int n = lua_gettop(L) - before;
    lua_createtable(L, n, 1);
    lua_insert(L, before + 1);
    for (int i = n; i >= 1; i--)
        lua_rawseti(L, before + 1, i);
    lua_pushinteger(L, n);
    lua_setfield(L, before + 1, "n");
}

enum { ARGS_MOST = 1000000 }; // LUAI_MAXSTACK

static void check_number(lua_State *L, lua_Integer n)
{
    if (n < 0 || n >= ARGS_MOST || !lua_checkstack(L, (int)n + 1)) {
        lua_pushfstring(L, "hvd.run: args has n = %I, which is no number of arguments", n);
        lua_error(L);
    }
}

// Replaces the list of arguments on top by one that tells their number, n, as table.pack's does:
// where a list with nils ends, nobody could tell once it has travelled. Raises: the list may have a
// metatable.
static void count_args(lua_State *L)
{
    int list = lua_gettop(L);
    if (lua_getfield(L, list, "n") != LUA_TNIL)
        return lua_settop(L, list);
    lua_Integer n = luaL_len(L, list);
    for (lua_settop(L, list), lua_pushnil(L); lua_next(L, list); lua_pop(L, 1)) {
        if (!lua_isinteger(L, -2) || lua_tointeger(L, -2) < 1)
            luaL_error(L, "hvd.run: args is a list of arguments, so it cannot have the key '%s'",
                luaL_tolstring(L, -2, NULL));
        n = lua_tointeger(L, -2) > n ? lua_tointeger(L, -2) : n;
    }
    check_number(L, n);
    lua_createtable(L, (int)n, 1);
    for (lua_Integer i = 1; i <= n; i++) {
        lua_geti(L, list, i);
        lua_rawseti(L, -2, i);
    }
    lua_pushinteger(L, n);
    lua_setfield(L, -2, "n");
    lua_replace(L, list);
}

// Pushes the arguments and returns their number. Raises, too.
static int push_args(lua_State *L, int list)
{
    lua_Integer n = 0;
    if (lua_istable(L, list)) {
        lua_getfield(L, list, "n");
        n = lua_isinteger(L, -1) ? lua_tointeger(L, -1) : luaL_len(L, list);
        lua_pop(L, 1);
    }
    check_number(L, n);
    for (lua_Integer i = 1; i <= n; i++)
        lua_geti(L, list, i);
    return (int)n;
}

// Restores this process's state from before hvd.run, when run ends in any way.
static int restore_comm(lua_State *L)
{
    worker_of(L)->comm = *(const struct comm_ops **)lua_touserdata(L, 1);
    return 0;
}

static void keep_comm(lua_State *L, worker *w)
{
    const struct comm_ops **kept = lua_newuserdatauv(L, sizeof *kept, 0);
    *kept = w->comm;
    if (luaL_newmetatable(L, "hvd.comm")) {
        lua_pushcfunction(L, restore_comm);
        lua_setfield(L, -2, "__close");
    }
    lua_setmetatable(L, -2);
    lua_toclose(L, -1);
    w->comm = NULL;
}

void job_run_here(lua_State *L, worker *w, int fn, int args)
{
    keep_comm(L, w);
    int kept = lua_gettop(L);
    lua_createtable(L, 1, 0);
    int before = lua_gettop(L);
    lua_pushvalue(L, fn);
    lua_call(L, push_args(L, args), LUA_MULTRET);
    pack_results(L, before);
    lua_rawseti(L, before, 1);
    lua_closeslot(L, kept);
}

static void show_text(void *ctx, int stream, const char *bytes, size_t n)
{
    fwrite(bytes, 1, n, stream == 1 ? stdout : stderr);
}

static void pass_event(void *ctx, int rank, const char *json, size_t n)
{
    const worker *w = ctx;
    if (rank == 0 && w->options.event)
        w->options.event(w->options.event_ctx, json, n);
}

static void push_reading(lua_State *L, worker *w)
{
    AUTO_BUF list = {0};
    reading_list(w, w->options.driver.executors == 0, &list);
    lua_pushlstring(L, list.data, list.len);
}

static int pack_job(lua_State *L, int args, buf *out, err *e)
{
    int first = lua_gettop(L) + 1;
    lua_pushvalue(L, 1);
    lua_pushvalue(L, args);
    lua_getglobal(L, "arg");
    pack_push_own_globals(L);
    push_reading(L, worker_of(L));
    static const char *const names[] = {"hvd.run", "args", "arg", "globals", "reading"};
    int result = pack_values(L, first, ARRAY_LEN(names), PACK_FUNCTIONS, names, out, e);
    lua_settop(L, first - 1);
    return result;
}

static int push_results(lua_State *L, const struct job_result *r, err *e)
{
    lua_createtable(L, r->np, 0);
    for (int rank = 0; rank < r->np; rank++) {
        int before = lua_gettop(L);
        if (unpack_values(L, r->results[rank].data, r->results[rank].len, PACK_DATA, e) < 0)
            return err_wrap(e, "the result of rank %d", rank);
        pack_results(L, before);
        lua_rawseti(L, -2, rank + 1);
    }
    return 0;
}

// Raises the whole message of a failed rank, with the place where hvd.run was called.
static _Noreturn void raise_failure(lua_State *L, const struct job_result *r, const err *e)
{
    luaL_where(L, 1);
    if (r->failed_rank >= 0) {
        lua_pushfstring(L, "rank %d failed: ", r->failed_rank);
        lua_pushlstring(L, buf_cstr(&r->failure), r->failure.len);
        lua_concat(L, 3);
    } else {
        lua_pushstring(L, e->text);
        lua_concat(L, 2);
    }
    lua_error(L);
    __builtin_unreachable();
}

// Frees a result together with the Lua value around it, whatever raises meanwhile.
static int close_result(lua_State *L)
{
    job_result_done(lua_touserdata(L, 1));
    return 0;
}

static struct job_result *new_result(lua_State *L)
{
    struct job_result *r = lua_newuserdatauv(L, sizeof *r, 0);
    *r = (struct job_result){.failed_rank = -1, .exit_code = -1};
    if (luaL_newmetatable(L, "hvd.job_result")) {
        lua_pushcfunction(L, close_result);
        lua_setfield(L, -2, "__gc");
    }
    lua_setmetatable(L, -2);
    return r;
}

void job_run_ranks(lua_State *L, worker *w, int np, buf *packed, int64_t start_timeout,
    const struct elastic_options *elastic)
{
    err e;
    struct job_result *result = new_result(L);
    driver *d = worker_driver(w, &e);
    struct job job = {
        .np = np,
        .function = packed->data,
        .function_n = packed->len,
        .start_timeout = start_timeout,
        .elastic = elastic,
        .sink = {.ctx = w, .text = show_text, .event = pass_event},
    };
    fflush(stdout); // so that earlier output comes before the ranks' output
    int code = d ? driver_run(d, &job, result, &e) : -1;
    buf_done(packed);
    if (result->exit_code >= 0 && code)
        worker_end(w, result->exit_code);
    if (code)
        raise_failure(L, result, &e);
    if (push_results(L, result, &e))
        raise_err(L, &e);
}

const struct elastic_options *job_elastic(
    lua_State *L, const worker *w, int table, int np, struct elastic_options *o)
{
    enum { LEAST = 10, MOST = 100, TIMEOUT = 600 };
    static const char what[] = "hvd.run";
    bool said = w->options.cooldown_range[1] > 0;
    double least = said ? w->options.cooldown_range[0] : LEAST;
    double most = said ? w->options.cooldown_range[1] : MOST;
    int min_np = opt_int32_field(L, table, what, "min_np", w->options.min_np);
    int max_np = opt_int32_field(L, table, what, "max_np", w->options.max_np);
    int limit = opt_int32_field(L, table, what, "reset_limit", -1);
    double timeout = opt_number_field(L, table, what, "elastic_timeout", TIMEOUT);
    if (lua_getfield(L, table, "cooldown_range") == LUA_TTABLE) {
        lua_geti(L, -1, 1);
        lua_geti(L, -2, 2);
        least = lua_tonumber(L, -2);
        most = lua_tonumber(L, -1);
        lua_pop(L, 2);
    } else if (!lua_isnil(L, -1)) {
        luaL_error(L, "hvd.run: cooldown_range must be { least, most } seconds");
    }
    lua_pop(L, 1);
    bool is_elastic = min_np || max_np;
    luaL_argcheck(
        L, !min_np || (min_np >= 1 && min_np <= np), table, "min_np must be from 1 to np");
    luaL_argcheck(
        L, !max_np || (max_np >= np && max_np <= 4096), table, "max_np must be from np to 4096");
    luaL_argcheck(L, least >= 0 && most >= least && most < 1e9, table,
        "cooldown_range must be { least, most } seconds");
    luaL_argcheck(L, timeout > 0 && timeout < 1e9, table, "elastic_timeout must be positive");
    luaL_argcheck(L, limit >= -1, table, "reset_limit must be 0 or more");
    *o = (struct elastic_options){.min_np = min_np ? min_np : np,
        .max_np = max_np ? max_np : np,
        .reset_limit = limit,
        .timeout = clock_of_seconds(timeout),
        .cooldown = clock_of_seconds(least),
        .cooldown_most = clock_of_seconds(most)};
    return is_elastic ? o : NULL;
}

static void run_ranks(lua_State *L, worker *w, int np, int args, int64_t start_timeout,
    const struct elastic_options *elastic)
{
    err e;
    buf packed = {0};
    if (pack_job(L, args, &packed, &e)) {
        buf_done(&packed);
        raise_err(L, &e);
    }
    job_run_ranks(L, w, np, &packed, start_timeout, elastic);
}

// Turns the list on top into hvd.Results (upvalue 1).
static int wrap_results(lua_State *L)
{
    int all = lua_gettop(L);
    lua_Integer n = luaL_len(L, all);
    lua_createtable(L, (int)n, 1);
    for (lua_Integer i = 1; i <= n; i++) {
        lua_geti(L, all, i);
        lua_geti(L, -1, 1);
        lua_rawseti(L, all + 1, i);
        lua_pop(L, 1);
    }
    lua_pushvalue(L, all);
    lua_setfield(L, -2, "all");
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_setmetatable(L, -2);
    return 1;
}

int hvd_run(lua_State *L)
{
    err e;
    worker *w = worker_of(L);
    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_settop(L, 2);
    if (w->link)
        return luaL_error(
            L, "hvd.run: this is rank %d already; only the driver starts ranks", w->place.rank);
    take_options(L, 2, "hvd.run", "",
        "args cooldown_range elastic_timeout max_np min_np np reset_limit start_timeout");
    driver *d = worker_driver(w, &e);
    if (!d)
        raise_err(L, &e);
    int np = w->options.np > 0 ? w->options.np : driver_default_np(d);
    np = opt_int32_field(L, 2, "hvd.run", "np", np);
    luaL_argcheck(L, np >= 1 && np <= 4096, 2, "np must be from 1 to 4096");
    double seconds = opt_number_field(
        L, 2, "hvd.run", "start_timeout", (double)w->options.start_timeout / (double)CLOCK_SEC);
    luaL_argcheck(L, seconds > 0 && seconds < 1e9, 2, "start_timeout must be positive");
    int type = lua_getfield(L, 2, "args");
    luaL_argcheck(L, type == LUA_TTABLE || type == LUA_TNIL, 2, "args must be a list");
    if (type == LUA_TTABLE)
        count_args(L);
    struct elastic_options options;
    const struct elastic_options *elastic = job_elastic(L, w, 2, np, &options);
    if (np == 1 && !elastic)
        job_run_here(L, w, 1, 3);
    else
        run_ranks(L, w, np, 3, clock_of_seconds(seconds), elastic);
    return wrap_results(L);
}

// (set of names): raises when a global is read that only the script had set.
static int missing_global(lua_State *L)
{
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(1)) == LUA_TNIL)
        return 1;
    return luaL_error(L,
        "global '%s' was set by the script, and is not there in rank %d: make it local, so that it "
        "travels with the function, or pass it in args",
        lua_tostring(L, 2), worker_of(L)->place.rank);
}

// Makes reading of the globals listed at `list` an error.
static void watch_globals(lua_State *L, int list)
{
    lua_Integer n = luaL_len(L, list);
    lua_pushglobaltable(L);
    lua_createtable(L, 0, 1);
    lua_createtable(L, 0, (int)n);
    for (lua_Integer i = 1; i <= n; i++) {
        lua_geti(L, list, i);
        lua_pushboolean(L, 1);
        lua_rawset(L, -3);
    }
    lua_pushcclosure(L, missing_global, 1);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
    lua_pop(L, 1);
}

// fn, list → what fn(list…) returns.
static int call_with(lua_State *L)
{
    lua_pushvalue(L, 1);
    lua_call(L, push_args(L, 2), LUA_MULTRET);
    return lua_gettop(L) - 2;
}

// Calls the function. Its results are above the bottom of the stack; -1: a message is on top.
static int call_function(lua_State *L, const void *function, size_t n)
{
    err e;
    lua_settop(L, 0);
    int values = unpack_values(L, function, n, PACK_FUNCTIONS, &e);
    if (values < 4) {
        lua_pushstring(L, values < 0 ? e.text : "the driver sent no job");
        return -1;
    }
    if (values > 4) {
        size_t bytes;
        const char *list = lua_tolstring(L, 5, &bytes);
        reading_take(worker_of(L), list, list ? bytes : 0);
    }
    watch_globals(L, 4);
    lua_settop(L, 3);
    lua_setglobal(L, "arg");
    lua_pushcfunction(L, traceback);
    lua_insert(L, 1); // traceback, fn, args
    lua_pushcfunction(L, call_with);
    lua_pushvalue(L, 2);
    lua_pushvalue(L, 3);
    if (lua_pcall(L, 2, LUA_MULTRET, 1) != LUA_OK)
        return -1;
    return lua_gettop(L) - 3;
}

static int send_failure(worker *w, const char *text, size_t n, err *e)
{
    enum { LIMIT = 1 << 20 };
    bool bereft = w->bereft || (w->comm && w->comm->failed && w->comm->failed());
    return rank_send(
        w->link, bereft ? MESSAGE_BEREFT : MESSAGE_FAILURE, text, n < LIMIT ? n : LIMIT, e);
}

// Packs the function's results: 1. If they cannot be packed, sends the reason and returns what that
// returned.
static int pack_result(worker *w, int count, buf *result, err *e)
{
    ERR_GUARD(e);
    if (count >= 0 && pack_values(w->L, 4, count, PACK_DATA, NULL, result, e) == 0)
        return 1;
    AUTO_BUF text = {0};
    if (count >= 0)
        buf_fmt(&text, "what the function returned: %s", e->text);
    else
        error_text(w->L, -1, &text);
    fflush(NULL);
    return send_failure(w, buf_cstr(&text), text.len, e);
}

int worker_run_rank(worker *w, rank_link *link, err *e)
{
    ERR_GUARD(e);
    const void *function;
    size_t n;
    w->link = link;
    if (rank_job(link, &w->place, &function, &n, e) || rank_watch(link, e))
        return -1;
    worker_seed(w);
    buf result = {0};
    int count = call_function(w->L, function, n);
    bool resets = count < 0 && elastic_is_interrupt(w->L, -1);
    int code = resets ? 0 : pack_result(w, count, &result, e);
    if (resets) {
        worker_close(w);
        fflush(NULL);
        code = rank_send(link, MESSAGE_RESET, NULL, 0, e);
    }
    if (code == 1) {
        worker_close(w); // runs finalizers and closes files while there is time
        fflush(NULL);
        code = collective_tell_counts(w, e);
        code = code ? code : rank_send(link, MESSAGE_RESULT, result.data, result.len, e);
        if (code && e->code == ERR_LIMIT)
            code = send_failure(w, e->text, strlen(e->text), e);
    }
    buf_done(&result);
    if (code == 0)
        rank_wait_for_end(link);
    return -1;
}
