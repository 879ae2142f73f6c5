// SPDX-License-Identifier: MIT
// A function that a notebook's cell has packed: it runs on ranks, and the cell gets what they
// returned, as events:
//
//   {"event": "driver", "np": 4}   at its start
//   {"event": "result", "part": 1, "of": 3, "data": BASE64} …, the last one with "sha256" of all
//
// Together the parts are one packed list: for each rank {n =, …}. Cells have no tensors and no
// models, so they get nested lists of numbers, and the bytes of a checkpoint (for nn.load).
#include "base/data/digest.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/pack/errortext.h"
#include "script/pack/pack.h"
#include "script/worker/job/job.h"
#include "trainer/files/checkpoint.h"

#include <stdio.h>
#include <string.h>

// A part stands in one line of a pod's log. Logs are cut by their size (10 MiB is usual).
enum { PART = 6000, RESULT_MOST = 4 << 20 };

struct request {
    worker *worker;
    buf packed, result;
    bool here; // the function runs in this process
};

static void push_plain(lua_State *L, int seen, int index, int depth);

static void push_checkpoint(lua_State *L, const model *m)
{
    err e;
    buf bytes = {0};
    int result = checkpoint_encode(m, (checkpoint_options){.optimizer = true}, &bytes, &e);
    if (result == 0)
        lua_pushlstring(L, bytes.data, bytes.len);
    buf_done(&bytes);
    if (result)
        raise_err(L, &e);
}

static void push_plain_table(lua_State *L, int seen, int index, int depth)
{
    lua_newtable(L);
    int copy = lua_gettop(L);
    lua_pushvalue(L, index);
    lua_pushvalue(L, copy);
    lua_rawset(L, seen);
    for (lua_pushnil(L); lua_next(L, index); lua_settop(L, copy + 1)) {
        lua_pushvalue(L, copy + 1);
        push_plain(L, seen, copy + 2, depth + 1);
        lua_rawset(L, copy);
    }
}

// Pushes a copy of the value without tensors and models. What is shared stays shared.
static void push_plain(lua_State *L, int seen, int index, int depth)
{
    if (depth > PACK_DEPTH_MAX)
        luaL_error(L, "what the function returned is nested more than %d deep", PACK_DEPTH_MAX);
    luaL_checkstack(L, 12, "too many values");
    lua_pushvalue(L, index);
    int type = lua_type(L, index);
    if (type != LUA_TTABLE && type != LUA_TUSERDATA)
        return;
    if (lua_rawget(L, seen) != LUA_TNIL)
        return;
    lua_pop(L, 1);
    if (type == LUA_TTABLE) {
        push_plain_table(L, seen, index, depth);
    } else if (test_tensor(L, index)) {
        lua_getfield(L, index, "totable");
        lua_pushvalue(L, index);
        lua_call(L, 1, 1);
    } else if (test_model(L, index)) {
        push_checkpoint(L, test_model(L, index));
    } else {
        lua_pushvalue(L, index);
    }
}

static void run_here(lua_State *L, worker *w, const buf *packed)
{
    err e;
    if (unpack_values(L, packed->data, packed->len, PACK_FUNCTIONS, &e) != 4)
        luaL_error(L, "cannot read the cell's function: %s", e.text);
    lua_pushvalue(L, -2);
    lua_setglobal(L, "arg");
    int fn = lua_gettop(L) - 3;
    job_run_here(L, w, fn, fn + 1);
}

// The kernel's start timeout ends here: from now on the driver has its own.
static void tell_start(worker *w, int np)
{
    cJSON *event = cJSON_CreateObject();
    json_set_str(event, "event", "driver");
    json_set_int(event, "np", np);
    worker_event(w, event);
}

static int run(lua_State *L)
{
    err e;
    struct request *r = lua_touserdata(L, 1);
    worker *w = r->worker;
    driver *d = worker_driver(w, &e);
    if (!d)
        raise_err(L, &e);
    int np = w->options.np > 0 ? w->options.np : driver_default_np(d);
    tell_start(w, np);
    lua_newtable(L);
    struct elastic_options options;
    const struct elastic_options *elastic = job_elastic(L, w, lua_gettop(L), np, &options);
    r->here = np == 1 && !elastic;
    if (r->here)
        run_here(L, w, &r->packed);
    else
        job_run_ranks(L, w, np, &r->packed, w->options.start_timeout, elastic);
    r->here = false;
    int all = lua_gettop(L);
    lua_newtable(L);
    push_plain(L, all + 1, all, 0);
    static const char *const names[] = {"what the function returned"};
    if (pack_values(L, -1, 1, PACK_DATA, names, &r->result, &e))
        raise_err(L, &e);
    if (r->result.len > RESULT_MOST)
        luaL_error(L,
            "what the ranks returned has %d KiB, and a cell takes %d: write it to a file, and "
            "return its name",
            (int)(r->result.len >> 10), RESULT_MOST >> 10);
    return 0;
}

// As the driver says it of ranks that it has started; their messages have tracebacks already.
static int explain(lua_State *L)
{
    const struct request *r = lua_touserdata(L, lua_upvalueindex(1));
    if (!r->here)
        return 1;
    traceback(L);
    lua_pushliteral(L, "rank 0 failed: ");
    lua_insert(L, -2);
    lua_concat(L, 2);
    return 1;
}

static void tell_result(worker *w, const buf *result)
{
    char hex[SHA256_HEX];
    sha256_hex(result->data, result->len, hex);
    int parts = (int)((result->len + PART - 1) / PART);
    for (int i = 0; i < parts; i++) {
        size_t at = (size_t)i * PART, n = result->len - at < PART ? result->len - at : PART;
        AUTO_BUF text = {0};
        base64_encode(&text, result->data + at, n);
        cJSON *event = cJSON_CreateObject();
        json_set_str(event, "event", "result");
        json_set_int(event, "part", i + 1);
        json_set_int(event, "of", parts);
        json_set_str(event, "data", buf_cstr(&text));
        json_set_str(event, "sha256", i + 1 == parts ? hex : NULL);
        worker_event(w, event);
    }
}

int worker_run_function(worker *w, const void *packed, size_t n, buf *failure, err *e)
{
    lua_State *L = w->L;
    struct request r = {.worker = w};
    buf_add(&r.packed, packed, n);
    lua_pushlightuserdata(L, &r);
    lua_pushcclosure(L, explain, 1);
    lua_pushcfunction(L, run);
    lua_pushlightuserdata(L, &r);
    int status = lua_pcall(L, 1, 0, -3);
    fflush(stdout);
    if (status == LUA_OK) {
        tell_result(w, &r.result);
    } else {
        error_text(L, -1, failure);
        err_set(e, ERR_FAILED, "the function failed");
    }
    buf_done(&r.packed);
    buf_done(&r.result);
    return status == LUA_OK ? 0 : -1;
}
