// SPDX-License-Identifier: MIT
// One call of a binding: the gate; then, for effects, the ledger; in a resumed run, verifying
// instead of doing. It runs on the caller's thread. It keeps nothing outside of the ledger and the
// shared objects.
#pragma once
#include "script/kernel/effects/effects.h"
#include "script/kernel/effects/turn.h"

struct call {
    effects *effects;
    turn *turn;
    struct entry *entry; // NULL for pure calls
    char **env;          // made on first use
    char mark[96];       // also
    bool asked_server;   // this call has talked to the cluster's server
    bool cluster_lost;   // the cluster is gone for good
};
// May programs of this turn, with this environment, use the cluster, as far as its effects= and the
// context say?
bool call_may_use_cluster(effects *fx, const turn *t, const char *const *env);
void call_done(struct call *c);

// Does what firesteel.call(name, args) does, in a cell's turn or a branch's, on any thread.
// *result: new, NULL for null. env: environment for children, from call_child_env; taken; NULL:
// made when needed.
int call_binding(
    effects *fx, turn *t, char **env, const char *name, const cJSON *args, cJSON **result, err *e);
// The environment of children of this turn, as it is now; new.
char **call_child_env(effects *fx, const turn *t);
// On the Lua thread, in a resumed run: a branch starts in its parent's mode (verifying or not).
// When the parent has waited for the branch's end and the branch did something anew, the parent
// stops verifying, too.
void call_branch(effects *fx, turn *t);
void call_joined(effects *fx, turn *parent, enum resume branch);
// Does the turn still verify, in a resumed run?
bool call_resumes(effects *fx, turn *t);
// The same for an action that has passed the gate; `c` has its place and its deadline.
int call_action(struct call *c, const struct binding *b, const cJSON *args, const char *what,
    cJSON **result, err *e);
// What a call would change; .what is set, and .context if one is known. Free it with about_done.
struct about call_about(struct call *c, const struct binding *b, const cJSON *args);
void about_done(struct about *about);
// Finds what is left of an entry. On an error that could not be found out, and the entry stays as
// it is.
int call_find(effects *fx, turn *t, const struct entry *entry, struct remains *out, err *e);
void remains_done(struct remains *r);
// Removes what call_find has found, after a record in the journal, and settles the entry. If
// nothing was found, it only settles the entry.
int call_remove(effects *fx, turn *t, struct entry *entry, const struct remains *remains, err *e);
// Does opening a file for writing (io.open(…, "w") or the like) pass the gate? No entry is made:
// there is nothing to verify or undo.
int call_local_gate(effects *fx, turn *t, const char *what, err *e);
