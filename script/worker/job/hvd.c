// SPDX-License-Identifier: MIT
// The C part of the module `hvd`: the place in the job, collective operations, and run. Errors and
// names are Horovod's (horovod/common/basics.py, controller.cc).
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/pack/pack.h"
#include "script/worker/core/fields.h"
#include "script/worker/core/state.h"
#include "script/worker/model/model.h"
#include "script/worker/ranks/collective.h"
#include "script/worker/ranks/elastic.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static worker *initialized(lua_State *L)
{
    worker *w = worker_of(L);
    if (!w->comm)
        luaL_error(L, "Horovod has not been initialized; use hvd.init().");
    return w;
}

static const struct comm_ops *open_comm(worker *w, err *e)
{
    if (w->place.size <= 1)
        return comm_single();
    const struct comm_ops *ops = w->place.shares ? comm_shared(rank_shared(w->link), w->place.rank)
                                                 : comm_load(w->options.plugin, e);
    if (!ops)
        return NULL;
    // The start waits for all ranks; in MPI's nobody can be called.
    collective_enter(w, STALL_START, "hvd.init");
    collective_slow(w, 0);
    int result = ops->init(e);
    collective_enter(w, STALL_START, NULL);
    w->bereft = result && ops->failed && ops->failed();
    if (result)
        return NULL;
    ops->watch(CLOCK_SEC, collective_slow, w);
    if (ops->rank() == w->place.rank && ops->size() == w->place.size)
        return ops;
    err_set(e, ERR_INVALID,
        "%s says rank %d of %d where the driver said %d of %d: the MPI library of the plug-in does "
        "not speak PMI-1",
        ops->name, ops->rank(), ops->size(), w->place.rank, w->place.size);
    return NULL;
}

static int hvd_init(lua_State *L)
{
    err e;
    worker *w = worker_of(L);
    if (!w->comm && !(w->comm = open_comm(w, &e)))
        raise_err(L, &e);
    const char *path = w->options.timeline;
    if (path && w->place.rank == 0 && !w->timeline &&
        !(w->timeline = timeline_open(path, clock_mono(), &e)))
        raise_err(L, &e);
    return 0;
}

static int hvd_shutdown(lua_State *L)
{
    worker_of(L)->comm = NULL; // MPI ends with the rank, since it cannot be started twice
    return 0;
}

static int hvd_is_initialized(lua_State *L)
{
    lua_pushboolean(L, worker_of(L)->comm != NULL);
    return 1;
}

#define PLACES(X) X(rank) X(size) X(local_rank) X(local_size) X(cross_rank) X(cross_size)
#define X(field)                                                                                   \
    static int hvd_##field(lua_State *L)                                                           \
    {                                                                                              \
        lua_pushinteger(L, initialized(L)->place.field);                                           \
        return 1;                                                                                  \
    }
PLACES(X)
#undef X

int worker_allreduce(void *ctx, float *values, size_t n, const char *name, err *e)
{
    worker *w = ctx;
    struct collective op = collective_of_values(COLLECTIVE_ALLREDUCE, name, n, 0);
    if (!w->compares)
        collective_begin_gradients(w, &op);
    else if (collective_begin(w, &op, NULL, e))
        return -1;
    if (w->compares ? w->comm->allreduce(values, n, COMM_F32, COMM_AVERAGE, e)
                    : w->comm->average_gradients(values, n, e))
        return -1;
    collective_end(w, &op);
    return 0;
}

static int share_update(void *ctx, float *gradients, float *weights, size_t n, size_t block,
    void (*update)(void *ctx, size_t from, size_t to), void *update_ctx, err *e)
{
    worker *w = ctx;
    struct collective op = collective_of_values(COLLECTIVE_ALLREDUCE, "gradients", n, 0);
    if (w->compares) // a rank that has joined takes part in averages
        return 1;
    collective_begin_gradients(w, &op);
    if (w->comm->update_shares(gradients, weights, n, block, update, update_ctx, e))
        return -1;
    collective_end(w, &op);
    return 0;
}

static int gather_shares(void *ctx, float *values, size_t n, err *e)
{
    worker *w = ctx;
    struct collective op = collective_of_values(COLLECTIVE_ALLGATHER, "optimizer", n, 0);
    collective_begin_gradients(w, &op);
    if (w->comm->gather_shares(values, n, e))
        return -1;
    collective_end(w, &op);
    return 0;
}

static float *lend(void *ctx, size_t n)
{
    worker *w = ctx;
    return w->comm->lend(n);
}

static void take_back(void *ctx)
{
    worker *w = ctx;
    w->comm->take_back();
}

const share_ops *worker_shares(const worker *w)
{
    static const share_ops ops = {
        .update = share_update, .gather = gather_shares, .lend = lend, .take_back = take_back};
    return w->comm && w->comm->update_shares ? &ops : NULL;
}

// The operation's frame is around the wait for it: until then this rank holds nobody up. Horovod
// names each tensor in its timeline; here it is each bucket, by its number in the step.
static int begin_average(void *ctx, float *values, size_t n, err *e)
{
    worker *w = ctx;
    if (w->compares) // a rank that has joined begins none
        return 1;
    if (w->comm->begin_average(values, n, e))
        return -1;
    w->buckets = mem_resize(w->buckets, w->bucket_n + 1, sizeof *w->buckets);
    w->buckets[w->bucket_n++] = collective_of_values(COLLECTIVE_ALLREDUCE, NULL, n, 0);
    return 0;
}

static int progress_average(void *ctx, err *e)
{
    worker *w = ctx;
    return w->comm->progress_average(e);
}

static int finish_average(void *ctx, err *e)
{
    worker *w = ctx;
    size_t n = w->bucket_n;
    struct collective all = collective_of_values(COLLECTIVE_ALLREDUCE, "gradients", 0, 0);
    w->bucket_n = 0;
    if (n == 0) // nothing is trained
        return 0;
    collective_begin_gradients(w, &all);
    if (w->comm->finish_average(e))
        return -1;
    for (size_t i = 0; i < n; i++) {
        AUTO_FREE char *name = n == 1 ? mem_strdup("gradients") : str_fmt("gradients.%zu", i);
        w->buckets[i].name = name;
        collective_end(w, &w->buckets[i]);
    }
    return 0;
}

const overlap_ops *worker_overlap(const worker *w)
{
    static const overlap_ops ops = {
        .begin = begin_average, .progress = progress_average, .finish = finish_average};
    return w->comm && w->comm->begin_average ? &ops : NULL;
}

int worker_allsum(void *ctx, double *values, size_t n, const char *name, err *e)
{
    worker *w = ctx;
    struct collective op = collective_of_numbers(name, n, OP_SUM);
    if (!w->comm)
        return err_set(e, ERR_USAGE,
            "Horovod has not been initialized, whose ranks %s asks; use hvd.init().", name);
    if (!w->compares)
        collective_begin_gradients(w, &op);
    else if (collective_begin(w, &op, NULL, e))
        return -1;
    if (w->comm->allreduce(values, n, COMM_F64, COMM_SUM, e))
        return -1;
    collective_end(w, &op);
    return 0;
}

int worker_allgather(
    void *ctx, const void *mine, void *all, const size_t *counts, const char *name, err *e)
{
    worker *w = ctx;
    struct collective op = collective_of_values(COLLECTIVE_ALLGATHER, name, 0, 0);
    if (w->compares) // a rank that has joined has no rows
        return 1;
    collective_begin_gradients(w, &op);
    if (w->comm->allgather(mine, all, counts, e))
        return -1;
    collective_end(w, &op);
    return 0;
}

// A contiguous copy in a type that can be sent: F32, or I64 for integers.
static tensor *travelling(const tensor *t, err *e)
{
    if (!tensor_is_integer(t))
        return tensor_to_f32(t, e);
    tensor *copy = tensor_new(TENSOR_I64, t->dims, t->shape, e);
    for (size_t i = 0; copy && i < tensor_count(t); i++)
        ((int64_t *)copy->data)[i] = tensor_integer_at(t, i);
    return copy;
}

static int read_op(lua_State *L, int arg)
{
    lua_Integer op = OP_AVERAGE;
    if (lua_istable(L, arg)) {
        take_options(L, arg, "hvd.allreduce", "", "op name");
        op = opt_int_field(L, arg, "hvd.allreduce", "op", OP_AVERAGE);
    } else {
        op = luaL_optinteger(L, arg, OP_AVERAGE);
    }
    luaL_argcheck(L, op >= 0 && op <= OP_PRODUCT && op != 2, arg,
        "op must be hvd.Average, Sum, Min, Max or Product");
    return (int)op;
}

// The name of a tensor in the timeline; borrowed from the table.
static const char *read_name(lua_State *L, int arg)
{
    return lua_istable(L, arg) ? opt_string_field(L, arg, "hvd.allreduce", "name") : NULL;
}

// A number as ranks reduce it: all of them as the same type.
struct number {
    comm_type type;
    double f;
    int64_t i;
};

static int reduce_number(worker *w, struct collective *c, struct number *v, err *e)
{
    AUTO_FREE struct plan *plans = mem_array((size_t)w->place.size, sizeof *plans);
    if (collective_begin(w, c, plans, e))
        return -1;
    v->type = collective_number_type(plans, w->place.size);
    void *value = v->type == COMM_I64 ? (void *)&v->i : (void *)&v->f;
    if (w->comm->allreduce(value, 1, v->type, collective_reduction(c->plan.op, v->type), e))
        return -1;
    collective_end(w, c);
    return 0;
}

static int allreduce_number(lua_State *L, worker *w, int op)
{
    err e;
    struct number v = {.f = luaL_checknumber(L, 1)};
    struct collective c = collective_of(COLLECTIVE_ALLREDUCE, NULL, op, 0, read_name(L, 2));
    if ((c.plan.integer = lua_isinteger(L, 1)))
        v.i = lua_tointeger(L, 1);
    if (reduce_number(w, &c, &v, &e))
        raise_err(L, &e);
    if (v.type == COMM_I64)
        lua_pushinteger(L, v.i);
    else
        push_double(L, op == OP_AVERAGE ? v.f / w->place.size : v.f);
    return 1;
}

// Pushes a list of copies of the tensors, with the names of the given list.
static size_t push_list(lua_State *L, int op)
{
    err e;
    size_t n = (size_t)luaL_len(L, 1);
    lua_createtable(L, (int)n, 1);
    for (size_t i = 1; i <= n; i++) {
        lua_geti(L, 1, (lua_Integer)i);
        const tensor *given = test_tensor(L, -1);
        if (!given)
            luaL_error(L, "hvd.allreduce: item %d of the list is a %s, not a tensor", (int)i,
                luaL_typename(L, -1));
        if (op == OP_AVERAGE && tensor_is_integer(given))
            luaL_error(
                L, "hvd.allreduce: item %d: integers have no average: use op = hvd.Sum", (int)i);
        push_tensor(L, travelling(given, &e), &e);
        lua_rawseti(L, -3, (lua_Integer)i);
        lua_pop(L, 1);
    }
    lua_getfield(L, 1, "names");
    lua_setfield(L, -2, "names");
    return n;
}

static tensor *list_item(lua_State *L, int list, size_t i)
{
    lua_rawgeti(L, list, (lua_Integer)i);
    tensor *t = check_tensor(L, -1);
    lua_pop(L, 1); // the list holds it
    return t;
}

// All tensors of a list that have this type travel as one run.
static void reduce_run(lua_State *L, worker *w, int list, size_t n, tensor_type type, int op)
{
    err e;
    size_t total = 0, tensors = 0, at = 0, size = tensor_type_size(type);
    comm_type values = type == TENSOR_F32 ? COMM_F32 : COMM_I64;
    uint64_t shapes = 0xcbf29ce484222325u; // FNV-1a
    for (size_t i = 1; i <= n; i++) {
        const tensor *t = list_item(L, list, i);
        if (t->type != type)
            continue;
        for (int d = 0; d <= t->dims; d++)
            shapes = (shapes ^ (d < t->dims ? t->shape[d] : UINT64_MAX)) * 0x100000001b3u;
        total += tensor_count(t);
        tensors++;
    }
    if (!tensors)
        return;
    push_tensor(L, tensor_new(type, 1, &total, &e), &e);
    tensor *all = check_tensor(L, -1);
    for (size_t i = 1; i <= n; i++) {
        const tensor *t = list_item(L, list, i);
        if (t->type == type && tensor_count(t)) {
            memcpy((char *)all->data + at, t->data, tensor_count(t) * size);
            at += tensor_count(t) * size;
        }
    }
    const char *name = read_name(L, 2);
    struct collective c = collective_of(COLLECTIVE_ALLREDUCE, all, op, 0, name);
    collective_of_list(&c, tensors, shapes);
    if (collective_begin(w, &c, NULL, &e) ||
        w->comm->allreduce(all->data, total, values, collective_reduction(op, values), &e))
        raise_err(L, &e);
    collective_end(w, &c);
    at = 0;
    for (size_t i = 1; i <= n; i++) {
        const tensor *t = list_item(L, list, i);
        if (t->type == type && tensor_count(t)) {
            memcpy(t->data, (char *)all->data + at, tensor_count(t) * size);
            at += tensor_count(t) * size;
        }
    }
    lua_pop(L, 1);
}

static int allreduce_list(lua_State *L, worker *w, int op)
{
    size_t n = push_list(L, op);
    int list = lua_gettop(L);
    reduce_run(L, w, list, n, TENSOR_F32, op);
    reduce_run(L, w, list, n, TENSOR_I64, op);
    return 1;
}

// hvd.allreduce(number, tensor or list of tensors, {op = hvd.Average})
static int hvd_allreduce(lua_State *L)
{
    err e;
    worker *w = initialized(L);
    int op = read_op(L, 2);
    if (lua_istable(L, 1))
        return allreduce_list(L, w, op);
    const tensor *given = test_tensor(L, 1);
    if (!given)
        return allreduce_number(L, w, op);
    push_tensor(L, travelling(given, &e), &e);
    tensor *t = check_tensor(L, -1);
    struct collective c = collective_of(COLLECTIVE_ALLREDUCE, t, op, 0, read_name(L, 2));
    size_t n = tensor_count(t);
    bool floats = t->type == TENSOR_F32;
    comm_type type = floats ? COMM_F32 : COMM_I64;
    luaL_argcheck(L, floats || op != OP_AVERAGE, 1, "integers have no average: use op = hvd.Sum");
    if (collective_begin(w, &c, NULL, &e) ||
        w->comm->allreduce(t->data, n, type, collective_reduction(op, type), &e))
        raise_err(L, &e);
    collective_end(w, &c);
    return 1;
}

static int read_root(lua_State *L, const worker *w, int arg)
{
    lua_Integer root = luaL_optinteger(L, arg, 0);
    luaL_argcheck(L, root >= 0 && root < w->place.size, arg, "no such rank");
    return (int)root;
}

// Packs at the root, broadcasts, and unpacks on the other ranks; pushes the value. Nothing here
// raises.
static int broadcast_object(lua_State *L, worker *w, int index, int root, err *e)
{
    buf bytes = {0};
    bool mine = w->place.rank == root;
    int result = mine ? pack_values(L, index, 1, PACK_DATA, NULL, &bytes, e) : 0;
    int64_t n = result ? -1 : (int64_t)bytes.len; // the others must learn of a failure
    if (w->comm->broadcast(&n, sizeof n, root, e))
        result = -1;
    else if (n < 0 && !mine)
        result = err_set(e, ERR_FAILED, "rank %d could not send its value", root);
    if (result == 0 && !mine) {
        buf_reserve(&bytes, (size_t)n);
        bytes.len = (size_t)n;
    }
    if (result == 0)
        result = w->comm->broadcast(bytes.data, (size_t)n, root, e);
    if (result == 0 && mine)
        lua_pushvalue(L, index);
    else if (result == 0)
        result = unpack_values(L, bytes.data, bytes.len, PACK_DATA, e) < 0 ? -1 : 0;
    buf_done(&bytes);
    return result;
}

static int hvd_broadcast_object(lua_State *L)
{
    err e;
    worker *w = initialized(L);
    luaL_checkany(L, 1);
    int root = read_root(L, w, 2);
    struct collective c = collective_of(COLLECTIVE_OBJECT, NULL, 0, root, NULL);
    if (collective_begin(w, &c, NULL, &e) || broadcast_object(L, w, 1, root, &e))
        raise_err(L, &e);
    collective_end(w, &c);
    return 1;
}

// hvd.broadcast(number or tensor, root_rank)
static int hvd_broadcast(lua_State *L)
{
    err e;
    worker *w = initialized(L);
    int root = read_root(L, w, 2);
    const tensor *given = test_tensor(L, 1);
    if (!given) {
        luaL_checknumber(L, 1);
        struct collective c = collective_of(COLLECTIVE_BROADCAST, NULL, 0, root, NULL);
        if (collective_begin(w, &c, NULL, &e) || broadcast_object(L, w, 1, root, &e))
            raise_err(L, &e);
        collective_end(w, &c);
        return 1;
    }
    push_tensor(L, travelling(given, &e), &e);
    tensor *t = check_tensor(L, -1);
    struct collective c = collective_of(COLLECTIVE_BROADCAST, t, 0, root, NULL);
    if (collective_begin(w, &c, NULL, &e) ||
        w->comm->broadcast(t->data, tensor_count(t) * tensor_type_size(t->type), root, &e))
        raise_err(L, &e);
    collective_end(w, &c);
    return 1;
}

// The tensors of all ranks, one after another along the first dimension.
static tensor *gather(worker *w, const tensor *t, err *e)
{
    struct collective c = collective_of(COLLECTIVE_ALLGATHER, t, 0, 0, NULL);
    size_t size = (size_t)w->place.size, shape[TENSOR_MAX_DIMS] = {0};
    struct plan *plans = mem_array(size, sizeof *plans);
    size_t *counts = mem_array(size, sizeof *counts);
    tensor *all = NULL;
    if (collective_begin(w, &c, plans, e) == 0) {
        memcpy(shape, t->shape, sizeof shape);
        shape[0] = 0;
        for (size_t r = 0; r < size; r++) {
            shape[0] += (size_t)plans[r].shape[0];
            counts[r] = (size_t)plans[r].shape[0] * tensor_row_size(t) * tensor_type_size(t->type);
        }
        all = tensor_new(t->type, t->dims, shape, e);
        if (all && w->comm->allgather(t->data, all->data, counts, e)) {
            tensor_free(all);
            all = NULL;
        }
        collective_end(w, &c);
    }
    free(counts);
    free(plans);
    return all;
}

// hvd.allgather(tensor or number): a number counts as a tensor of one.
static int hvd_allgather(lua_State *L)
{
    err e;
    worker *w = initialized(L);
    const tensor *given = test_tensor(L, 1);
    if (given) {
        luaL_argcheck(L, given->dims > 0, 1, "a tensor without dimensions cannot be gathered");
        push_tensor(L, travelling(given, &e), &e);
    } else {
        bool integer = lua_isinteger(L, 1);
        float f = (float)luaL_checknumber(L, 1);
        int64_t i = integer ? lua_tointeger(L, 1) : 0;
        push_tensor(L,
            tensor_from(integer ? TENSOR_I64 : TENSOR_F32, 1, &(size_t){1},
                integer ? (void *)&i : (void *)&f, &e),
            &e);
    }
    push_tensor(L, gather(w, check_tensor(L, -1), &e), &e);
    return 1;
}

// hvd.allgather_object(value) → a list with every rank's value, by rank
static int hvd_allgather_object(lua_State *L)
{
    err e;
    worker *w = initialized(L);
    luaL_checkany(L, 1);
    struct collective c = collective_of(COLLECTIVE_OBJECTS, NULL, 0, 0, NULL);
    if (collective_begin(w, &c, NULL, &e))
        raise_err(L, &e);
    lua_createtable(L, w->place.size, 0);
    for (int r = 0; r < w->place.size; r++) {
        if (broadcast_object(L, w, 1, r, &e))
            raise_err(L, &e);
        lua_rawseti(L, -2, r + 1);
    }
    collective_end(w, &c);
    return 1;
}

static int hvd_barrier(lua_State *L)
{
    err e;
    worker *w = initialized(L);
    struct collective c = collective_of(COLLECTIVE_BARRIER, NULL, 0, 0, NULL);
    if (collective_begin(w, &c, NULL, &e) || w->comm->barrier(&e))
        raise_err(L, &e);
    collective_end(w, &c);
    return 0;
}

// hvd.join() → the rank that joined last
static int hvd_join(lua_State *L)
{
    err e;
    int last = collective_join(initialized(L), &e);
    if (last < 0)
        raise_err(L, &e);
    lua_pushinteger(L, last);
    return 1;
}

// hvd.broadcast_model(model, root_rank): weights, then the optimizer's state.
static int hvd_broadcast_model(lua_State *L)
{
    err e;
    size_t n, slot_n;
    worker *w = initialized(L);
    model *m = check_model(L, 1);
    int root = read_root(L, w, 2);
    if (model_gather(m, &e))
        raise_err(L, &e);
    float *weights = model_weight_values(m, &n);
    float *slots = model_slot_values(m, &slot_n);
    struct collective c = collective_of_values(COLLECTIVE_BROADCAST, "variables", n + slot_n, root);
    int result = collective_begin(w, &c, NULL, &e);
    if (result == 0)
        result = w->comm->broadcast(weights, n * sizeof *weights, root, &e);
    if (result == 0 && slots)
        result = w->comm->broadcast(slots, slot_n * sizeof *slots, root, &e);
    int64_t counts[] = {model_steps(m), model_epochs(m)};
    if (result == 0)
        result = w->comm->broadcast(counts, sizeof counts, root, &e);
    if (result)
        raise_err(L, &e);
    collective_end(w, &c);
    model_set_steps(m, counts[0]);
    model_set_epochs(m, counts[1]);
    model_written(m);
    return 0;
}

int open_hvd(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"init", hvd_init},
        {"shutdown", hvd_shutdown},
        {"is_initialized", hvd_is_initialized},
#define X(field) {#field, hvd_##field},
        PLACES(X)
#undef X
            {"allreduce", hvd_allreduce},
        {"broadcast", hvd_broadcast},
        {"broadcast_object", hvd_broadcast_object},
        {"broadcast_model", hvd_broadcast_model},
        {"allgather", hvd_allgather},
        {"allgather_object", hvd_allgather_object},
        {"barrier", hvd_barrier},
        {"join", hvd_join},
        {"looks_not", mark_looks_not}, // hvd.lua takes it
        {NULL, NULL},
    };
    luaL_newlib(L, functions);
    lua_newtable(L); // the class of run's results; hvd.lua adds the methods
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, "Results");
    lua_pushcclosure(L, hvd_run, 1);
    lua_setfield(L, -2, "run");
    open_elastic(L); // elastic.lua makes hvd.elastic of it
    lua_setfield(L, -2, "elastic");
    return 1;
}
