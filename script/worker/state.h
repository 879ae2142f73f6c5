// SPDX-License-Identifier: MIT
// What the worker's Lua modules share: the worker behind a Lua state, tensors and errors as Lua has
// them. Private to script/worker.
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "script/worker/worker.h"
#include "trainer/dist/comm.h"
#include "trainer/dist/driver.h"
#include "trainer/dist/rank.h"
#include "trainer/dist/timeline.h"
#include "trainer/fit.h"
#include "trainer/tensor/tensor.h"

#include <lauxlib.h>
#include <lua.h>

struct worker {
    struct worker_options options;
    lua_State *L;
    driver *driver;              // made when it is first needed; NULL in a rank
    rank_link *link;             // in a rank
    struct place place;          // this process's in its job
    const struct comm_ops *comm; // NULL before hvd.init
    timeline *timeline;          // in rank 0, when there is to be one
    size_t tensor_bytes;         // made since Lua last looked for garbage
};

static inline worker *worker_of(lua_State *L)
{
    return *(worker **)lua_getextraspace(L);
}

// Raises e's text with the place in the Lua code.
_Noreturn void raise_err(lua_State *L, const err *e);
// A message handler: message and traceback.
int traceback(lua_State *L);
// Sends an event to who started this worker; takes it. Ranks but the first are silent.
void worker_event(worker *w, cJSON *event);

// Modules: each pushes its table.
int open_tensor(lua_State *L); // the metatable, nothing pushed
int open_nn(lua_State *L);
int open_hvd(lua_State *L);
int open_data(lua_State *L);

// Tensors. push takes the tensor (NULL raises e).
void push_tensor(lua_State *L, tensor *t, const err *e);
tensor *check_tensor(lua_State *L, int arg);
tensor *test_tensor(lua_State *L, int arg); // NULL when it is something else

// hvd.run(fn, {np =, args =, start_timeout =}) (run.c).
int hvd_run(lua_State *L);
// The driver, made when it is first needed.
driver *worker_driver(worker *w, err *e);
// Ends Lua, with its finalizers, and the timeline.
void worker_close(worker *w);
// os.exit: tells ranks and executors, then ends this process.
int worker_exit(lua_State *L);
_Noreturn void worker_end(worker *w, int code);

// Models.
model *test_model(lua_State *L, int arg);
model *check_model(lua_State *L, int arg);
void push_model(lua_State *L, model *m, const err *e); // takes it

// The hook that averages gradients over the ranks; ctx is the worker.
int worker_allreduce(void *ctx, float *values, size_t n, const char *name, err *e);
