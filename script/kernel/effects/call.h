// SPDX-License-Identifier: MIT
// One call of a binding: gate, then for effects the ledger and, in a resumed run, verifying instead
// of doing. Runs on the thread of who calls; nothing is kept but what the ledger and the shared
// objects hold.
#pragma once
#include "script/kernel/session/state.h"

// A cell's call has an execution. An action's has none, nor has the call of a clean-up.
struct call {
    kernel *kernel;
    execution *execution;
    const char *cell; // below which its output goes, "": none
    canceller *waits;
    int64_t deadline;
    bool is_action;
    struct entry *entry; // NULL for pure calls
    char **env;          // made on first use
    bool asked_server;   // the cluster's, by this call
};
void call_done(struct call *c);

// What firesteel.call(name, args) does. x: the running cell. *result: new, NULL for null.
int call_binding(
    kernel *k, execution *x, const char *name, const cJSON *args, cJSON **result, err *e);
const struct binding *binding_find(const struct kernel_options *o, const char *name);
// The same for an action, which has passed the gate: `c` says where and how long.
int call_action(struct call *c, const struct binding *b, const cJSON *args, const char *what,
    cJSON **result, err *e);
// What a call would touch; .what and .context, where one is known, are set. See about_done.
struct about call_about(struct call *c, const struct binding *b, const cJSON *args);
void about_done(struct about *about);
// Removes what an entry tells, and settles it in ledger and journal.
int call_undo(kernel *k, execution *x, struct entry *entry, err *e);
// Does io.open(…, "w") and its like pass the gate? It has no record: nothing to verify or undo.
int call_local_gate(kernel *k, execution *x, const char *what, err *e);
// On the loop's thread, at the end.
void call_drop_shared(kernel *k);

// Children's environment: kernel->env, and a KUBECONFIG as the cell's declaration wants it. New.
char **call_child_env(kernel *k, const execution *x);
