// SPDX-License-Identifier: MIT
// One call of a binding: gate, then for effects the ledger and, in a resumed run, verifying instead
// of doing. Runs on the Lua thread; nothing is kept but what the ledger and the shared objects
// hold.
#pragma once
#include "script/kernel/state.h"

// What firesteel.call(name, args) does. x: the running cell. *result: new, NULL for null.
int call_binding(
    kernel *k, execution *x, const char *name, const cJSON *args, cJSON **result, err *e);
const struct binding *binding_find(const struct kernel_options *o, const char *name);
// Removes what an entry tells, and settles it in ledger and journal.
int call_undo(kernel *k, execution *x, struct entry *entry, err *e);
// Does io.open(…, "w") and its like pass the gate? It has no record: nothing to verify or undo.
int call_local_gate(kernel *k, execution *x, const char *what, err *e);
// On the loop's thread, at the end.
void call_drop_shared(kernel *k);

// Children's environment: kernel->env, and a KUBECONFIG as the cell's declaration wants it. New.
char **call_child_env(kernel *k, const execution *x);
