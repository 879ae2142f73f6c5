// SPDX-License-Identifier: MIT
// Shared by the worker's Lua modules: the worker behind a Lua state, and tensors in Lua.
// Private to script/worker.
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/json/json.h"
#include "script/worker/core/errors.h"
#include "script/worker/core/reading.h"
#include "script/worker/core/worker.h"
#include "trainer/dist/comm.h"
#include "trainer/dist/job/driver.h"
#include "trainer/dist/job/rank.h"
#include "trainer/dist/stall.h"
#include "trainer/dist/timeline.h"
#include "trainer/fit.h"
#include "trainer/tensor/tensor.h"

#include <lauxlib.h>
#include <lua.h>
#include <math.h>

struct collective; // collective.h

struct worker {
    struct worker_options options;
    lua_State *L;
    driver *driver;              // made at its first use; NULL in a rank
    rank_link *link;             // NULL except in a rank
    struct place place;          // this process's place in its job
    const struct comm_ops *comm; // NULL before hvd.init
    const struct dnn_ops *dnn;   // NULL before the first model with convolutions
    bool dnn_failed;             // it cannot be loaded, which was told
    bool half;                   // a model wants mixed_bfloat16
    bool half_reported;          // that there is no bf16
    // The collective operation under way; the driver is told of it when it takes long.
    struct {
        enum stall_channel channel;
        char operation[STALL_OPERATION];
        bool told;
        uint32_t begun[STALL_CHANNELS]; // operations of each channel
    } doing;
    bool closing;  // Lua's last finalizers run
    bool bereft;   // what has failed here may follow from what another rank did
    bool compares; // gradients are compared before they are averaged
    // The averages of gradients under way.
    struct collective *buckets;
    size_t bucket_n;
    timeline *timeline;      // only in rank 0, if one was requested
    struct reading *reading; // NULL: nothing yet
    size_t tensor_bytes;     // allocated since Lua's garbage collector was told
};

static inline worker *worker_of(lua_State *L)
{
    return *(worker **)lua_getextraspace(L);
}

// Pushes a number; one that is not has no sign, since printf would show it: "-nan".
static inline void push_double(lua_State *L, double value)
{
    lua_pushnumber(L, value == value ? value : (double)NAN);
}

// A message handler: returns message and traceback.
int traceback(lua_State *L);
// Sends an event to the starter of this worker; takes it. Only the first rank sends any.
void worker_event(worker *w, cJSON *event);

// Sends what a training's numbers depend on, beside its file: {event = "worker", version, kernels
// (of this CPU), dnn, bf16, deterministic, ranks, mpi}.
void worker_tell_versions(worker *w);

void dnn_tell_missing(const err *e); // on stderr
// Loads oneDNN if the model has use for it; says once where that fails.
void worker_give_dnn(worker *w, model *m);
// How this CPU computes what wants mixed_bfloat16; NULL: no model does.
const char *worker_half(const worker *w);

// Opens the modules; each function pushes its module's table.
int open_tensor(lua_State *L); // only the metatable; pushes nothing
int open_nn(lua_State *L);
// Pushes the text of a Lua part.
void push_source(lua_State *L, const char *name);
int open_hvd(lua_State *L);
int open_data(lua_State *L);

// Tensors. push_tensor takes the tensor (NULL raises e).
void push_tensor(lua_State *L, tensor *t, const err *e);
tensor *check_tensor(lua_State *L, int arg);
tensor *test_tensor(lua_State *L, int arg); // NULL when it is something else
// Pictures that are decoded when they are needed (tensor.h: later); NULL when it is something else.
const tensor *test_pictures(lua_State *L, int arg);

// hvd.run(fn, {np =, args =, start_timeout =}) (run.c).
int hvd_run(lua_State *L);
// The driver; it is made at its first use.
driver *worker_driver(worker *w, err *e);
// Seeds math.random: the same in each run, as models' seeds are, another one in each rank.
void worker_seed(worker *w);
// Closes Lua, with its finalizers, and the timeline.
void worker_close(worker *w);
// os.exit: tells ranks and executors, then ends this process.
int worker_exit(lua_State *L);
_Noreturn void worker_end(worker *w, int code);

// Models.
model *test_model(lua_State *L, int arg);
model *check_model(lua_State *L, int arg);
void push_model(lua_State *L, model *m, const err *e); // takes it

// What averages gradients over the ranks, and shares updates with them; ctx is the worker. NULL: an
// update cannot be shared.
const share_ops *worker_shares(const worker *w);
// The same while backward goes on; NULL: what carries the gradients gains nothing by it.
const overlap_ops *worker_overlap(const worker *w);
int worker_allreduce(void *ctx, float *values, size_t n, const char *name, err *e);
// Collects every rank's bytes (trainer/nn/graph/model.h: allgather_fn).
int worker_allgather(
    void *ctx, const void *mine, void *all, const size_t *counts, const char *name, err *e);
// Adds up numbers over the ranks (allsum_fn).
int worker_allsum(void *ctx, double *values, size_t n, const char *name, err *e);
