// SPDX-License-Identifier: MIT
// The inside of the interpreter, for the files that make up the Lua state. What is marked so
// belongs to the Lua thread.
#pragma once
#include "script/kernel/cells/interp.h"
#include "script/kernel/cells/interrupt.h"

#include <lua.h>
#include <pthread.h>

struct lookup { // a turn, too
    turn turn;
    struct interp_question question;
    cJSON *result; // the Lua thread's until it is back
    interp *interp;
};

struct interp {
    interrupt interrupt; // first: a Lua state knows its interrupt, and so its interpreter
    const struct interp_options *options;
    const struct interp_ops *ops;
    void *arg;
    pthread_t thread;

    pthread_mutex_t lock; // the next five
    pthread_cond_t wake;
    execution *next_execution;
    struct lookup *next_lookup;
    const turn *current; // the one that the Lua thread is at
    bool quit;

    // The Lua thread:
    lua_State *L;
    turn *turn;         // that runs; NULL between turns
    execution *running; // the same, when it is a cell's
    size_t used, cap;   // bytes of the heap
    bool over_cap;      // the last failure to allocate was the cap's
    cJSON *held;        // a result that is being pushed: freed by the next one if pushing raises
    err raised;         // what the last failed call said, and
    enum failure raised_as;
    err broken; // the library could not be opened
    // The loop's thread:
    execution *execution;  // that is under way, or waits for a lookup
    struct lookup *lookup; // the same
    loop_timer *insist, *patience;
    bool told_wedged;
};

// Functions of script/lib that C calls, a table in the registry.
#define INTERP_HOOKS "firesteel.hooks"
interp *interp_of(lua_State *L);
// Raises in->raised as an error at the place in the user's code. Does not return.
int interp_raise(lua_State *L, enum failure as);
// Pushes a value, and takes it.
int interp_push_json(lua_State *L, cJSON *tree);
// "Deploy:3: " of the innermost frame that is not ours; pushes "" if there is none.
void interp_push_place(lua_State *L);
bool interp_is_user_frame(const lua_Debug *ar);
// Adds the C functions of `firesteel`, and runs script/lib.
void library_open(lua_State *L);
// Runs a cell by its plan, in a protected call: its execution is a light userdata on the stack.
int cells_run(lua_State *L);
