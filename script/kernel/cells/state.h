// SPDX-License-Identifier: MIT
// The inside of the interpreter, for the files that make up the Lua state. Each part says which
// thread it belongs to.
#pragma once
#include "script/kernel/cells/inputs.h"
#include "script/kernel/cells/interp.h"
#include "script/kernel/cells/interrupt.h"

#include <lua.h>
#include <pthread.h>

struct lookup { // it is a turn, too
    turn turn;
    struct interp_question question;
    cJSON *result; // the Lua thread's until the lookup is back
    interp *interp;
    int64_t asked, asked_used; // when it was asked, and what the Lua thread had used by then, ns
};

struct interp {
    interrupt interrupt; // first: so a Lua state's interrupt leads to its interpreter
    const struct interp_options *options;
    const struct interp_ops *ops;
    void *arg;
    pthread_t thread;

    pthread_mutex_t lock; // for the next five
    pthread_cond_t wake;
    execution *next_execution;
    struct lookup *next_lookup;
    const turn *current; // the turn of the Lua thread
    bool quit;

    // The Lua thread:
    lua_State *L;
    turn *turn;         // the running turn; NULL between turns
    execution *running; // the same, if it is a cell's
    size_t used, cap;   // bytes of the heap
    bool over_cap;      // the last failure to allocate was due to the cap
    cJSON *held;        // a result being pushed; if pushing raises, the next one frees it
    err raised;         // the error of the last failed call, and its kind
    enum failure raised_as;
    inputs *inputs;
    err broken; // why the library could not be opened
    // The loop's thread:
    execution *execution;  // running, or waiting for a lookup to end
    struct lookup *lookup; // running, or waiting
    loop_timer *insist, *patience;
    bool told_wedged;
};

// Functions of script/lib that C calls, a table in the registry.
#define INTERP_HOOKS "firesteel.hooks"
interp *interp_of(lua_State *L);
// Raises in->raised as an error at the place in the user's code. It does not return.
int interp_raise(lua_State *L, enum failure as);
// Pushes the value of a tree, and takes the tree.
int interp_push_json(lua_State *L, cJSON *tree);
// Pushes the place of the innermost frame that is not ours, "Deploy:3: ", or "" if there is none.
void interp_push_place(lua_State *L);
bool interp_is_user_frame(const lua_Debug *ar);
// Adds the C functions of `firesteel` and runs script/lib.
void library_open(lua_State *L);
// Runs a cell by its plan, in a protected call. The stack has its execution as a light userdata.
int cells_run(lua_State *L);
