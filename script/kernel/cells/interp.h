// SPDX-License-Identifier: MIT
// The Lua thread: one Lua state with everything that cells see. It takes one turn after another: a
// cell's execution, or a lookup for a client. The session owns it. All functions except those of
// state.h belong to the loop's thread.
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
    void (*executed)(void *arg, execution *x); // x has run and belongs to its maker again
    // x, which may have been stopped, goes on for x->owed_ns with what it owes (deeds.h).
    void (*owing)(void *arg, execution *x);
    void (*wedged)(void *arg); // a turn was stopped but has not ended for 5 s
};
interp *interp_new(const struct interp_options *o, const struct interp_ops *ops, void *arg, err *e);

// Runs x and gives it back through `executed`. Only one at a time. A lookup that is being answered
// is stopped for it.
void interp_execute(interp *in, execution *x);
// While one runs: the Lua thread begins x by itself when all before it have ended without a failure
// and unstopped. So short cells need not wait for the loop. Then port_passed tells, with the
// execution that has ended, whose `next` is the one that was begun; interp_passed notes it.
void interp_follow(interp *in, execution *x);
void interp_passed(interp *in, execution *begun);
// Takes back those that have not begun, by `next`. A passing of the others is in the port.
execution *interp_withdraw(interp *in);
// Stops x, for this reason unless there was one before, and repeats that until x is back. If x has
// not begun, it never begins.
void interp_stop(interp *in, execution *x, enum failure why);

// Asks a Lua function of script/lib while no cell runs. `reply` is called on the loop's thread and
// borrows the JSON result, or NULL.
struct interp_question {
    const char *function; // name of a hook: "complete", "inspect"
    cJSON *args;          // its argument, taken
    void (*reply)(void *arg, cJSON *result);
    void *arg;
};
// Returns false, and takes nothing, while another question is being answered. A question that takes
// more than a second is stopped.
bool interp_ask(interp *in, struct interp_question question);

// Closes the state and ends the thread. false: a finalizer does not end; then the thread ends with
// the process, and everything that it may use must stay. NULL is fine.
bool interp_end(interp *in);
void interp_free(interp *in); // call it after the end
