// SPDX-License-Identifier: MIT
// The Lua thread: one Lua state with everything that cells see, running one execution after
// another. The kernel owns it; all functions but those marked belong to the loop's thread.
#pragma once
#include "script/kernel/cells/interrupt.h"
#include "script/kernel/session/state.h"

#include <lua.h>
#include <pthread.h>

struct interp {
    interrupt interrupt; // first: a Lua state knows its interrupt, and so its interpreter
    kernel *kernel;
    pthread_t thread;

    pthread_mutex_t lock; // the next four
    pthread_cond_t wake;
    execution *job;
    struct interp_question *question;
    bool quit;

    // The Lua thread:
    lua_State *L;
    execution *running;
    size_t used, cap; // bytes of the heap
    bool over_cap;    // the last failure to allocate was the cap's
    cJSON *held;      // a result that is being pushed: freed by the next call if pushing raises
    err raised;       // what the last failed call said, and
    enum failure raised_as;
    err broken; // the library could not be opened
    // The loop's thread:
    loop_timer *insist;
    int64_t insisting; // since, mono ns
};

// Starts the thread. memory: cap of the Lua heap in bytes.
interp *interp_new(kernel *k, size_t memory, err *e);
// Runs x; it comes back through kernel_executed. One at a time.
void interp_execute(interp *in, execution *x);
// Stops what runs: insists until it comes back. After 5 s kernel_wedged is called, once.
void interp_stop_running(interp *in);
// It came back.
void interp_is_back(interp *in);
// Asks a Lua function of script/lib, when no cell runs: `reply` borrows its JSON
// result, or NULL, on the loop's thread.
struct interp_question {
    const char *function; // name of a hook: "complete", "inspect"
    cJSON *args;          // its argument, taken
    void (*reply)(void *arg, cJSON *result);
    void *arg;
};
// false, and nothing is taken, while another one is being answered. One that takes long is
// interrupted.
bool interp_ask(interp *in, struct interp_question question);
// Closes the state and ends the thread; false when a finalizer keeps it: then it goes with the
// process, and all that it may use stays. NULL is fine.
bool interp_end(interp *in);
void interp_free(interp *in); // after it has ended

// The Lua thread, for the files that make up the state:

// Functions of script/lib that C calls, a table in the registry.
#define INTERP_HOOKS "firesteel.hooks"
interp *interp_of(lua_State *L);
// Raises in->raised as an error at the place in the user's code. Does not return.
int interp_raise(lua_State *L, enum failure as);
// "Deploy:3: " of the innermost frame that is not ours; pushes "" if there is none.
void interp_push_place(lua_State *L);
bool interp_is_user_frame(const lua_Debug *ar);
// Adds the C functions of `firesteel`, and runs script/lib.
void library_open(lua_State *L);
// Runs a cell by its plan, in a protected call: its execution is a light userdata on the stack.
int cells_run(lua_State *L);
