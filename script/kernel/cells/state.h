// SPDX-License-Identifier: MIT
// The inside of the interpreter, for the files that make up the Lua state. Each part says which
// thread it belongs to.
#pragma once
#include "script/kernel/cells/branches.h"
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

    pthread_mutex_t lock; // for the next six
    pthread_cond_t wake;
    execution *next_execution;
    execution *followers; // by `next`: begun when those before have ended well
    struct lookup *next_lookup;
    const turn *current; // the turn of the Lua thread
    bool quit;

    // The Lua thread:
    lua_State *L;
    branches *branches;
    struct branch *branch; // the running one; NULL: none
    turn *turn;            // the running turn, a branch's where one runs; NULL between turns
    execution *running;    // if it is a cell's
    size_t used, cap;      // bytes of the heap
    bool over_cap;         // the last failure to allocate was due to the cap
    cJSON *held;           // a result being pushed; if pushing raises, the next one frees it
    err raised;            // the error of the last failed call, and its kind
    enum failure raised_as;
    err raised_last; // the error of that kind: `raised` is empty after a call that succeeded
    inputs *inputs;
    int64_t owed;                     // ns for what the running cell owes (deeds.h); 0: nothing
    bool has_owed;                    // since deeds_forget something was owed
    bool reads_unknown, reads_random; // of the execution (reads.h)
    bool globals_known;               // some cell has the table of globals, and may have kept it
    lua_CFunction lua_random;         // Lua's own math.random
    unsigned parts;                   // bits: those of the library that are loaded (parts.h)
    err broken;                       // why the library could not be opened
    struct { // a branch's error that was raised where somebody waited for it
        char *message;
        cJSON *trace; // NULL: none
        int line;
    } thrown;
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
int interp_push_whole(lua_State *L, cJSON *tree); // with null members
// Pushes the place of the innermost frame that is not ours, "Deploy:3: ", or "" if there is none.
void interp_push_place(lua_State *L);
// Pushes the text of what was raised (script/pack/errortext.h); a table without a text of its own
// is shown with what is in it, not with its address, so that equal runs say the same.
void interp_push_raised(lua_State *L, int index);
bool interp_is_user_frame(const lua_Debug *ar);
bool interp_is_in_cell(const interp *in, const lua_Debug *ar); // is it the running cell's chunk?
cJSON *interp_frame_text(const lua_Debug *ar);                 // of a traceback; new
// Raises in->raised; its code decides the kind for which `run` has an exit code.
int interp_raise_call(lua_State *L);
// The kind of an error with this message (NULL: it is no text).
enum failure interp_classify(const interp *in, int status, const char *message);
// An error of a branch is about to be raised with this message: its traceback (taken), and its
// line. Below: takes the traceback if the error with this message is that one, else NULL.
void interp_throw_trace(
    interp *in, const char *message, cJSON *trace, int line, enum failure failure);
cJSON *interp_take_trace(interp *in, const char *message, int *line);
// effects.serve, for the Lua thread: arg is the interpreter.
int interp_serve(void *arg, const char *hook, const cJSON *args, cJSON **result, err *e);
// Adds the C functions of `firesteel` and runs script/lib.
void library_open(lua_State *L);
// Runs a cell by its plan, in a protected call. The stack has its execution as a light userdata.
int cells_run(lua_State *L);
