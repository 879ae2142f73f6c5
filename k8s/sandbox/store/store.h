// SPDX-License-Identifier: MIT
// The store: every object of the server, its versions, and the recent history that watches read.
// One thread (the loop's) owns it; it knows no sockets, no loop and no clock but the one passed in.
//
//   kinds ──> sorted objects (namespace, name) ──> snapshot (immutable, counted)
//                                                      ▲      ▲
//   history: [v8 ADDED a][v9 MODIFIED a][v10 DELETED b]┘──────┘   trimmed from the left: 410
//                 ▲ watch cursor              ▲ observers' cursor
//
// A change makes a new snapshot and one history entry. No observer is called from inside a change:
// the owner is woken once (options.wake) and calls store_dispatch from its loop. Watches read the
// history themselves.
#pragma once
#include "k8s/sandbox/store/kind.h"
#include "k8s/sandbox/store/object.h"

// An object at one version. It is never modified; `json` lives as long as the snapshot.
typedef struct snapshot {
    const struct kind *kind;
    const cJSON *json;
    int64_t version;
    const char *ns, *name, *uid; // borrowed from json; ns is "" for cluster-scoped objects
    unsigned refs;
    uint64_t owners; // a Bloom filter of the owners' uids, for quick garbage collection
} snapshot;
snapshot *snapshot_ref(const snapshot *s);
void snapshot_unref(const snapshot *s);

struct store_options {
    int64_t (*now)(void *arg); // wall ns
    void (*wake)(void *arg);   // store_dispatch has work; may be NULL
    // Fills in the defaults of a new object, whoever makes the object; may be NULL.
    void (*complete)(void *arg, const struct kind *k, cJSON *json);
    void *arg;
    size_t history; // entries kept for watches, 0: 2048
};
typedef struct store store;
store *store_new(const struct store_options *o);
void store_free(store *s);
int64_t store_now(const store *s);
int64_t store_version(const store *s); // the newest resourceVersion

// Reading. Borrowed pointers are valid until the next change of the store.
const snapshot *store_get(const store *s, const struct kind *k, const char *ns, const char *name);
// A copy of its JSON, to be changed and passed to store_update; NULL if there is none.
cJSON *store_copy(const store *s, const struct kind *k, const char *ns, const char *name);
// All objects of a kind (in a namespace; NULL or "": in all), sorted by namespace and name. The
// list holds a reference to each, so the store may change meanwhile.
struct store_list {
    snapshot **items;
    size_t n;
    int64_t version;
};
struct store_list store_list(const store *s, const struct kind *k, const char *ns);
void store_list_done(struct store_list *l);
#define AUTO_LIST __attribute__((cleanup(store_list_done))) struct store_list
// The same for the objects of one kind whose ownerReferences name the uid.
struct store_list store_owned(const store *s, const struct kind *k, const char *uid);

// Writing. All take `json` whether they succeed or not, and return the stored snapshot, borrowed
// until the next change; NULL on error: ERR_EXISTS, ERR_NOT_FOUND, ERR_CONFLICT (resourceVersion or
// uid differs), ERR_FORBIDDEN (namespace being terminated), ERR_INVALID; texts are Kubernetes's.
enum store_part {
    STORE_MAIN,   // a PUT of the resource: .status stays, if the kind has a /status
    STORE_STATUS, // a PUT of /status: only .status and managedFields are taken
    STORE_ALL,    // both, for controllers
};
// Sets uid (if store_identify has not), creationTimestamp, resourceVersion, generation, and the
// name for a generateName. The namespace must exist.
const snapshot *store_create(
    store *s, const struct kind *k, cJSON *json, enum store_part part, bool dry_run, err *e);
// Replaces the object with the same metadata.namespace and name. A resourceVersion or uid in json
// must be the current one; without one the change always succeeds. A change that changes nothing
// makes no new version. Removing the last finalizer of an object that is being deleted removes the
// object; its last snapshot is returned.
const snapshot *store_update(
    store *s, const struct kind *k, cJSON *json, enum store_part part, bool dry_run, err *e);

// Gives a new object its uid, and its name if that is to be generated, before store_create: the
// object itself can then contain them.
void store_identify(cJSON *json);

enum store_propagation { STORE_BACKGROUND, STORE_FOREGROUND, STORE_ORPHAN };
struct store_delete {
    const char *uid;     // precondition; NULL: none
    const char *version; // precondition; NULL: none
    int64_t grace;       // seconds; -1: the object's own (pods: terminationGracePeriodSeconds)
    enum store_propagation propagation;
    bool dry_run;
};
// Deletes an object, or begins to. A scheduled, unfinished pod with grace gets a deletionTimestamp
// and stays until the kubelet deletes it with grace 0. Finalizers delay the removal. A namespace is
// removed when it is empty. Dependents (ownerReferences by uid) go with their owner, unless
// orphaned. *gone: the object is removed. Options may be NULL: background, with grace.
const snapshot *store_delete(store *s, const struct kind *k, const char *ns, const char *name,
    const struct store_delete *how, bool *gone, err *e);

// History.
enum store_change { STORE_ADDED, STORE_MODIFIED, STORE_DELETED };
struct store_event {
    enum store_change change;
    int64_t version;
    const snapshot *object; // after a deletion: the last state, with the deletion's version
    const snapshot *old;    // the state before; NULL for STORE_ADDED
};
// A cursor behind version `since`. ERR_GONE ("too old resource version: 3 (17)") when the history
// after it was trimmed.
typedef struct store_watch store_watch;
store_watch *store_watch_new(store *s, const struct kind *k, const char *ns, int64_t since, err *e);
void store_watch_free(store_watch *w);
// 1: *ev is the next change (borrowed until the next change of the store), 0: none for now, -1:
// ERR_GONE, the cursor fell out of the history.
int store_watch_next(store_watch *w, struct store_event *ev, err *e);
int64_t store_watch_version(const store_watch *w); // everything up to here was read

// Observers (controllers) see every change of every kind, in order, and only from store_dispatch.
// They may change the store; these changes are delivered later in the same dispatch.
typedef struct store_observer store_observer;
store_observer *store_observe(
    store *s, void (*changed)(void *arg, const struct store_event *ev), void *arg);
void store_unobserve(store_observer *o);
void store_dispatch(store *s);
