// SPDX-License-Identifier: MIT
// One call of a binding: gate, then for effects the ledger and, in a resumed run, verifying instead
// of doing. Runs on the thread of who calls; nothing is kept but what the ledger and the shared
// objects hold.
#pragma once
#include "script/kernel/effects/effects.h"
#include "script/kernel/effects/turn.h"

struct call {
    effects *effects;
    turn *turn;
    struct entry *entry; // NULL for pure calls
    char **env;          // made on first use
    char mark[96];       // likewise
    bool asked_server;   // the cluster's, by this call
    bool cluster_lost;   // it would have
};
void call_done(struct call *c);

// What firesteel.call(name, args) does, in a cell's turn. *result: new, NULL for null.
int call_binding(effects *fx, turn *t, const char *name, const cJSON *args, cJSON **result, err *e);
// The same for an action, which has passed the gate: `c` says where and how long.
int call_action(struct call *c, const struct binding *b, const cJSON *args, const char *what,
    cJSON **result, err *e);
// What a call would touch; .what and .context, where one is known, are set. See about_done.
struct about call_about(struct call *c, const struct binding *b, const cJSON *args);
void about_done(struct about *about);
// Looks what is left of an entry. Errors: it cannot be told; then the entry stays as it is.
int call_find(effects *fx, turn *t, const struct entry *entry, struct remains *out, err *e);
void remains_done(struct remains *r);
// Removes what call_find found, which it tells in the journal before it does so, and settles the
// entry. Where nothing was found it only settles it.
int call_remove(effects *fx, turn *t, struct entry *entry, const struct remains *remains, err *e);
// Does io.open(…, "w") and its like pass the gate? It has no record: nothing to verify or undo.
int call_local_gate(effects *fx, turn *t, const char *what, err *e);
