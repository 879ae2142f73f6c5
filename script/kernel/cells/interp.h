// SPDX-License-Identifier: MIT
// The Lua thread: one Lua state with everything that cells see. It takes one turn after another: a
// cell's execution, or a lookup for a client. The session owns it. Functions belong to the loop's
// thread, except those in state.h.
#pragma once
#include "script/kernel/cells/execution.h"
#include "script/kernel/effects/effects.h"

typedef struct interp interp;

struct interp_options { // borrowed, and unchanged while it lives
    effects *effects;
    size_t memory; // cap of Lua's heap in bytes
    const char *notebook_dir;
    int64_t seed; // of math.random
};
// Called on the loop's thread; arg is the one of interp_new.
struct interp_ops {
    void (*executed)(void *arg, execution *x); // x has run; its maker owns it again
    // x continues for x->owed_ns with its deferred functions (deeds.h), possibly after a stop.
    void (*owing)(void *arg, execution *x);
    void (*wedged)(void *arg); // a turn was stopped 5 s ago and has not ended
};
interp *interp_new(const struct interp_options *o, const struct interp_ops *ops, void *arg, err *e);

// Runs x and gives it back through `executed`. Call it for one execution at a time. A lookup in
// progress is stopped first.
void interp_execute(interp *in, execution *x);
// Call it while an execution runs: the Lua thread begins x by itself if all executions before it
// have ended unstopped and without a failure. So short cells need not wait for the loop.
// port_passed then reports the execution that has ended, whose `next` is the one that has begun;
// pass it to interp_passed.
void interp_follow(interp *in, execution *x);
void interp_passed(interp *in, execution *begun);
// Takes back the executions that have not begun, a list by `next`. For those that have, a
// port_passed is on its way.
execution *interp_withdraw(interp *in);
// Stops x, for this reason unless it has one already, and repeats that until x is back. An x that
// has not begun never begins.
void interp_stop(interp *in, execution *x, enum failure why);

// Asks a Lua function of script/api while no cell runs. `reply` is called on the loop's thread and
// borrows the JSON result; NULL: none.
struct interp_question {
    const char *function; // name of a hook: "complete", "inspect", "is_complete"
    cJSON *args;          // its argument, taken
    void (*reply)(void *arg, const cJSON *result);
    void *arg;
};
// Returns false, and takes nothing, while another question is being answered. A question that takes
// more than a second is stopped.
bool interp_ask(interp *in, struct interp_question question);

// Closes the state and ends the thread. Returns false if a finalizer does not end: then the thread
// lives until the process ends, and everything that it may use must stay. NULL is fine.
bool interp_end(interp *in);
void interp_free(interp *in); // call it after the end
