// SPDX-License-Identifier: MIT
// What effects have in common, whoever causes them: the gate that lets them pass, the ledger that
// remembers them, the cluster they go to, the bindings that do them and what those share. The
// session owns it. Each field says which thread may touch it; gate, environment and `resuming` go
// with the turn: they are the Lua thread's while a cell runs, the loop's between cells.
//
//   cell ─ firesteel.call ─┐
//   row ─ action ──────────┼─> call.h: gate ─> ledger: intent ─> binding ─> ledger: outcome
//   clean ─ undo ──────────┘
#pragma once
#include "script/kernel/effects/binding.h"
#include "script/kernel/effects/gate.h"
#include "script/kernel/effects/ledger.h"
#include "script/kernel/effects/place.h"
#include "script/kernel/port/asks.h"
#include "script/kernel/port/displays.h"
#include "script/kernel/port/port.h"

#include <pthread.h>

struct shared_object; // what bindings share, services.c

// Borrowed, and unchanged while the effects live.
struct effects_spec {
    loop *loop;
    port *port;
    displays *displays;
    asks *asks;
    const struct binding *const *bindings; // tables, NULL-terminated
    const struct display_action *actions;  // of displays, ended by one without a name
    // Which cluster it is, {context, namespace, server}, without a word on the network; new, NULL
    // when none can be found.
    cJSON *(*where)(call *c);
    const char *cwd;
    const char *const *env; // that the kernel was started with
    struct call_paths paths;
    struct call_cluster cluster;
    const char *allow; // "cluster,destructive"; NULL: what is local
    bool headless, sandbox;
    bool accept_drift; // of objects that a resumed run verifies
};

typedef struct effects {
    struct effects_spec spec;
    // Set before the first turn, constant after it.
    char *run, salt[33];
    char *refusing_kubeconfig; // for children of cells that do not declare cluster
    char *sandbox_kubeconfig;  // with a private sandbox: spec.cluster is its

    // The turn's.
    gate *gate;
    char **env;    // of children: the environment, with %env
    bool resuming; // every effect so far was verified, or repeated with the same result
    err halted;    // why the resume has stopped: nothing is done any more

    // Any thread: they lock inside.
    ledger *ledger;
    place *place;
    pthread_mutex_t shared_lock;
    struct shared_object *shared;
} effects;

// Errors: an `allow` that names no effect.
effects *effects_new(const struct effects_spec *spec, err *e);
// On the loop's thread, when no call is under way: what bindings share is dropped.
void effects_drop_shared(effects *fx);
void effects_free(effects *fx);
// What the journal to go on with knows: its ledger and salt.
void effects_load_past(effects *fx, const fold *past);
// The private sandbox is there: from now on it is the cluster.
void effects_use_sandbox(effects *fx, const char *kubeconfig);
const struct binding *effects_binding(const effects *fx, const char *name);
