// SPDX-License-Identifier: MIT
// What all effects share: the gate that allows them, the ledger that records them, their cluster,
// their bindings, and the objects that bindings share. The session owns it. Each field says which
// thread may use it. The environment belongs to the turn: to the Lua thread while a cell runs, to
// the loop's thread between cells. Calls of branches run on threads of their own.
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
#include "script/kernel/port/works.h"

#include <pthread.h>
#include <stdatomic.h>

struct shared_object; // shared by bindings, see services.c

// What comes from the terminal: first the one in which the kernel was started, then each one that
// joins. A terminal's values never change once others can see them, and stay as long as the
// effects: other threads may still use the old ones after another terminal has joined.
struct surroundings {
    struct call_cluster cluster;
    char **env; // without the variables that cells have set
    char *kubeconfig;
    struct surroundings *before;
};
typedef struct glances glances;

// Borrowed; must not change while the effects live.
struct effects_spec {
    loop *loop;
    port *port;
    displays *displays;
    works *works; // NULL: nobody can look
    asks *asks;
    const struct binding *const *bindings; // tables, NULL-terminated
    const struct display_action *actions;  // actions on displays; the end has no name
    // Finds the cluster, {context, namespace, server}, without using the network; new, NULL when
    // there is none.
    cJSON *(*where)(call *c);
    // Does the kubeconfig protect this context (NULL: the chosen one)? NULL: no context is
    // protected.
    bool (*guarded)(call *c, const char *context);
    const char *const *protect;         // patterns of further protected contexts, or NULL
    const char *const *allow_protected; // protected contexts in which a headless run may have
                                        // effects, or NULL
    bool read_only;                     // no effects elsewhere
    const char *cwd;
    const char *const *env; // the environment of the kernel's start
    struct call_paths paths;
    struct call_cluster cluster;
    bool kubeconfig_given; // given for this run: no terminal changes it
    const char *allow;     // "cluster,destructive"; NULL: only local effects
    bool headless, sandbox;
    const char *runtime; // the run-time folder, where our temporary folders are registered
    void (*remove_at_end)(const char *path); // registers a path for removal if the kernel is
                                             // killed; NULL: not possible
    void (*removed)(const char *path);       // called when it was removed already; NULL if
                                             // remove_at_end is
    bool accept_drift;                       // a resumed run accepts objects that have changed
};

typedef struct effects {
    struct effects_spec spec;
    // Set before the first turn, constant after it.
    char *run, salt[33];
    char *notebook, *commit; // the file's name, and git's commit; NULL: unknown
    cJSON *past_children; // trials of the run that is resumed (fold_past_children); NULL: not valid
                          // for this run
    char *refusing_kubeconfig; // kubeconfig for children of cells that do not declare the cluster
    bool has_sandbox;          // the private sandbox is ready
    atomic_bool in_sandbox;    // the cluster is the private sandbox, also while that starts
    bool plain_pods;           // its pods are plain processes; constant once it is ready
    _Atomic(char *) reached;   // the first effect elsewhere and where it was; NULL: none

    // Calls a function of script/api while a binding runs on the Lua thread (call_serve).
    int (*serve)(void *arg, const char *hook, const cJSON *args, cJSON **result, err *e);
    void *serve_arg;

    bool over; // of the loop's thread: the run ends, and nothing more of it is recorded

    // It belongs to the turn:
    char **env; // the environment of children, with %env; others read it under env_lock

    _Atomic(struct surroundings *) around;

    // For any thread; they lock inside.
    gate *gate;
    atomic_int resume; // enum resume, for all turns that are no branches
    pthread_mutex_t env_lock;
    pthread_mutex_t temps_lock;
    struct owner_temp *temps;
    size_t temp_n;
    pthread_mutex_t sweep;   // held while effects that a resumed run did not verify are removed
    pthread_mutex_t halting; // guards the next one
    err halted;              // why resuming has stopped: no further effects are possible
    ledger *ledger;
    place *place;
    glances *glances;
    pthread_mutex_t shared_lock;
    struct shared_object *shared;
    atomic_bool cluster_recorded; // the cluster in use was recorded
} effects;

// Errors: an unknown effect in `allow`.
effects *effects_new(const struct effects_spec *spec, err *e);
// On the loop's thread, when no call is in progress: drops the objects that bindings share.
void effects_drop_shared(effects *fx);
void effects_free(effects *fx);
// Takes over ledger and salt of the journal that is continued. parameters: this run's; earlier
// trials count only if they had the same ones.
void effects_load_past(effects *fx, const fold *past, const cJSON *parameters);
// Returns the name of the context (NULL: the chosen one) if it is protected, new; else NULL.
char *effects_guarded(call *c, const char *context);
bool effects_await_sandbox(const effects *fx); // a private sandbox was asked for, and is not ready
                                               // yet
// Call it when the private sandbox is ready: it becomes the cluster, whatever was it before.
void effects_use_sandbox(effects *fx, const char *kubeconfig);
// Is the cluster a private sandbox? For any thread.
bool effects_in_sandbox(const effects *fx);
// Notes that an effect elsewhere is about to be made, for effects_reached. For any thread.
void effects_note_reached(effects *fx, const char *what, const char *where);
// The first of them, "create Job pi in context prod, namespace default", borrowed; NULL: none.
const char *effects_reached(const effects *fx);
// On the loop's thread, while no cell runs: another terminal has joined. environment: values by
// name, null for a variable that it does not have; variables that cells have set stay. kubeconfig:
// the terminal's path; NULL: none. A kubeconfig that was given for the run, and a private sandbox,
// stay. Returns whether the kubeconfig has changed.
bool effects_use_terminal(effects *fx, const cJSON *environment, const char *kubeconfig);
const struct binding *effects_binding(const effects *fx, const char *name);
