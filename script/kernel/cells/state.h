// SPDX-License-Identifier: MIT
// The inside of the interpreter, shared by the files that make up the Lua state. Each part says
// which thread it belongs to.
#pragma once
#include "script/kernel/cells/branches.h"
#include "script/kernel/cells/inputs.h"
#include "script/kernel/cells/interp.h"
#include "script/kernel/cells/wait/interrupt.h"

#include <lua.h>
#include <pthread.h>

struct lookup { // also a turn
    turn turn;
    struct interp_question question;
    cJSON *result; // the Lua thread owns it until the lookup is back
    interp *interp;
    int64_t asked, asked_used; // when it was asked, and the processor time of the Lua thread then,
                               // ns
};

struct interp {
    interrupt interrupt; // first: a Lua state's interrupt is thus also its interpreter
    const struct interp_options *options;
    const struct interp_ops *ops;
    void *arg;
    pthread_t thread;

    pthread_mutex_t lock; // for the next six
    pthread_cond_t wake;
    execution *next_execution;
    execution *followers; // executions to follow, by `next`: each begins if those before have ended
                          // well
    struct lookup *next_lookup;
    const turn *current; // the turn of the Lua thread
    bool quit;

    // The Lua thread:
    lua_State *L;
    branches *branches;
    struct branch *branch; // the running execution; NULL: none
    turn *turn;            // the running turn, or the running branch's; NULL between turns
    execution *running;    // set if it is a cell's
    size_t used, cap;      // bytes of the heap
    bool over_cap;         // the last failure to allocate was due to the cap
    cJSON *held;           // a result being pushed; freed by the next push if this one raises
    err raised;            // the error of the last failed call, and its kind
    enum failure raised_as;
    err raised_last; // the error that has that kind; `raised` is empty after a successful call
    inputs *inputs;
    int64_t owed;                     // ns for the running cell's deferred functions (deeds.h); 0:
                                      // none
    bool has_owed;                    // some function was deferred since deeds_forget
    bool reads_unknown, reads_random; // of the execution (reads.h)
    bool globals_known;               // some cell has taken the table of globals, and may have kept
                                      // it
    lua_CFunction lua_random;         // Lua's own math.random
    unsigned parts;                   // bits: the library's parts that are loaded (parts.h)
    err broken;                       // why the library could not be opened
    struct {                          // a branch's error that was raised in code that waited for it
        char *message;
        cJSON *trace; // NULL: none
        int line;
    } thrown;
    // The loop's thread:
    execution *execution;  // running, or waiting for a lookup to end
    struct lookup *lookup; // running, or waiting
    loop_timer *insist, *patience;
    bool wedge_reported;
};

// Functions of script/api that C calls, a table in the registry.
#define INTERP_HOOKS "firesteel.hooks"
interp *interp_of(lua_State *L);
// Raises in->raised as an error at the place in the user's code. It does not return.
int interp_raise(lua_State *L, enum failure as);
// Pushes the value of a tree, and takes the tree.
int interp_push_json(lua_State *L, cJSON *tree);
int interp_push_whole(lua_State *L, cJSON *tree); // with null members
// Pushes the place of the innermost frame that is not ours, "Deploy:3: ", or "".
void interp_push_place(lua_State *L);
// Pushes the text of an error value (script/pack/errortext.h). A table without a text of its own is
// shown by its content, not its address, so that equal runs print the same.
void interp_push_raised(lua_State *L, int index);
bool interp_is_user_frame(const lua_Debug *ar);
bool interp_is_in_cell(const interp *in, const lua_Debug *ar); // is it the running cell's chunk?
cJSON *interp_frame_text(const lua_Debug *ar);                 // of a traceback; new
// Raises in->raised; its code decides the kind of failure, and so the exit code of `run`.
int interp_raise_call(lua_State *L);
// The kind of an error with this message (NULL: it is no text).
enum failure interp_classify(const interp *in, int status, const char *message);
// Call it before raising an error of a branch with this message: keeps its traceback (taken), and
// its line. The next function returns that traceback if the message is the same, else NULL.
void interp_throw_trace(
    interp *in, const char *message, cJSON *trace, int line, enum failure failure);
cJSON *interp_take_trace(interp *in, const char *message, int *line);
// effects.serve, for the Lua thread: arg is the interpreter.
int interp_serve(void *arg, const char *hook, const cJSON *args, cJSON **result, err *e);
// Adds the C functions of `firesteel` and runs script/api.
void library_open(lua_State *L);
// Runs a cell by its plan, in a protected call. The stack has its execution as a light userdata.
int cells_run(lua_State *L);
