// SPDX-License-Identifier: MIT
// The common parts of all effects: the gate that lets them pass, the ledger that remembers them,
// their cluster, their bindings, and the objects that bindings share. The session owns it. Each
// field says which thread may use it. The environment belongs to the turn: to the Lua thread while
// a cell runs, to the loop's thread between cells. The calls of branches run on threads of their
// own.
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
#include <stdatomic.h>

struct shared_object; // shared by bindings, see services.c

// What the terminal gives: at first the one in which the kernel was started, then whichever joins
// it. It does not change once others can see it, and stays as long as the effects: other threads
// may still use it when the next one has come.
struct surroundings {
    struct call_cluster cluster;
    char **env; // without what cells have set
    char *kubeconfig;
    struct surroundings *before;
};
typedef struct glances glances;

// Borrowed; it must not change while the effects live.
struct effects_spec {
    loop *loop;
    port *port;
    displays *displays;
    asks *asks;
    const struct binding *const *bindings; // tables, NULL-terminated
    const struct display_action *actions;  // on displays; the end has no name
    // Finds the cluster, {context, namespace, server}, without using the network; new, NULL when
    // there is none.
    cJSON *(*where)(call *c);
    // Is this context (NULL: the chosen one) protected by the kubeconfig? NULL: none is.
    bool (*guarded)(call *c, const char *context);
    const char *const *protect;         // patterns of contexts that are protected as well, or NULL
    const char *const *allow_protected; // those in which a headless run may have effects, or NULL
    bool read_only;                     // no effects elsewhere
    const char *cwd;
    const char *const *env; // the environment of the kernel's start
    struct call_paths paths;
    struct call_cluster cluster;
    bool kubeconfig_given; // for this run: no terminal changes it
    const char *allow;     // "cluster,destructive"; NULL: only local effects
    bool headless, sandbox;
    const char *runtime; // the run-time folder, which tells of our temporary folders
    void (*remove_at_end)(const char *path); // if the kernel is killed; NULL: nobody does
    void (*removed)(const char *path);       // it is done already; NULL as remove_at_end
    bool accept_drift;                       // accept changed objects when a resumed run verifies
};

typedef struct effects {
    struct effects_spec spec;
    // Set before the first turn, constant after it.
    char *run, salt[33];
    char *notebook, *commit; // the name of its file, and git's commit; NULL: not known
    cJSON *past_children; // of the run that is resumed (fold_past_children); NULL: they do not hold
    char *refusing_kubeconfig; // for children of cells that do not declare the cluster
    bool has_sandbox;          // the private sandbox is there

    // Calls a function of script/lib while a binding runs on the Lua thread (call_serve).
    int (*serve)(void *arg, const char *hook, const cJSON *args, cJSON **result, err *e);
    void *serve_arg;

    // It belongs to the turn:
    char **env; // the environment of children, with %env; others read it under env_lock

    _Atomic(struct surroundings *) around;

    // For any thread; they lock inside.
    gate *gate;
    atomic_int resume; // enum resume, of all turns that are no branches
    pthread_mutex_t env_lock;
    pthread_mutex_t temps_lock;
    struct owner_temp *temps;
    size_t temp_n;
    pthread_mutex_t sweep;   // while what a resume does not verify is removed
    pthread_mutex_t halting; // for the next one
    err halted;              // why the resume has stopped: no further effects
    ledger *ledger;
    place *place;
    glances *glances;
    pthread_mutex_t shared_lock;
    struct shared_object *shared;
    atomic_bool told_cluster; // which cluster is used
} effects;

// Errors: an unknown effect in `allow`.
effects *effects_new(const struct effects_spec *spec, err *e);
// On the loop's thread, when no call is under way: drops the objects that bindings share.
void effects_drop_shared(effects *fx);
void effects_free(effects *fx);
// Takes over the ledger and salt of the journal that is continued.
// parameters: of this run; trials of a run with others do not hold.
void effects_load_past(effects *fx, const fold *past, const cJSON *parameters);
// The private sandbox is ready: from now on it is the cluster.
// The context of this name (NULL: the chosen one) if it is protected, new; else NULL.
char *effects_guarded(call *c, const char *context);
bool effects_await_sandbox(const effects *fx); // a private one is to come, and is not there yet
void effects_use_sandbox(effects *fx, const char *kubeconfig);
// On the loop's thread, while no cell runs: another terminal has joined. environment: values by
// name, null for one that it does not have; what cells have set stays. kubeconfig: where it finds
// its cluster; NULL: nowhere. A kubeconfig that was given for the run, and a private sandbox, stay.
// Has the kubeconfig changed?
bool effects_use_terminal(effects *fx, const cJSON *environment, const char *kubeconfig);
const struct binding *effects_binding(const effects *fx, const char *name);
