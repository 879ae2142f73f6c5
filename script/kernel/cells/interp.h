// SPDX-License-Identifier: MIT
// The Lua thread: one Lua state with everything that cells see, taking one turn after another: a
// cell's execution, or a lookup for a client. The session owns it; all functions but those of
// state.h belong to the loop's thread.
#pragma once
#include "script/kernel/cells/execution.h"
#include "script/kernel/effects/effects.h"

typedef struct interp interp;

struct interp_options { // borrowed, and unchanged while it lives
    effects *effects;
    size_t memory; // cap of Lua's heap in bytes
    const char *notebook_dir;
};
// On the loop's thread; arg is the one of interp_new.
struct interp_ops {
    void (*executed)(void *arg, execution *x); // it is back, and its maker's again
    void (*wedged)(void *arg);                 // a turn that was stopped has not come back for 5 s
};
interp *interp_new(const struct interp_options *o, const struct interp_ops *ops, void *arg, err *e);

// Has x run; it comes back through `executed`. One at a time; a lookup that is being answered makes
// way for it.
void interp_execute(interp *in, execution *x);
// Stops x, for this reason if there was none before, and insists until it is back. One that has not
// begun does not begin.
void interp_stop(interp *in, execution *x, enum failure why);

// Asks a Lua function of script/lib, when no cell runs: `reply` borrows its JSON result, or NULL,
// on the loop's thread.
struct interp_question {
    const char *function; // name of a hook: "complete", "inspect"
    cJSON *args;          // its argument, taken
    void (*reply)(void *arg, cJSON *result);
    void *arg;
};
// false, and nothing is taken, while another one is being answered. One that takes longer than a
// second is stopped.
bool interp_ask(interp *in, struct interp_question question);

// Closes the state and ends the thread; false when a finalizer keeps it: then it goes with the
// process, and all that it may use stays. NULL is fine.
bool interp_end(interp *in);
void interp_free(interp *in); // after it has ended
