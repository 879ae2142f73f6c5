// SPDX-License-Identifier: MIT
// The store: every object of the server, its versions, and the recent history that watches read.
// One thread (the loop's) owns it; it knows no sockets, no loop and no clock but the one passed in.
//
//   kinds ──> sorted objects (namespace, name) ──> snapshot (immutable, counted)
//                                                      ▲      ▲
//   history: [v8 ADDED a][v9 MODIFIED a][v10 DELETED b]┘──────┘   trimmed from the left: 410
//                 ▲ watch cursor              ▲ observers' cursor
//
// A change makes a new snapshot and one history entry; nobody is called from inside a change.
// The owner is woken once (options.wake) and calls store_dispatch from its loop; watches pull.
#pragma once
#include "k8s/sandbox/store/kind.h"
#include "k8s/sandbox/store/object.h"

// An object as it was at one version. Never modified; `json` lives as long as the snapshot.
typedef struct snapshot {
    const struct kind *kind;
    const cJSON *json;
    int64_t version;
    const char *ns, *name, *uid; // borrowed from json; ns is "" for cluster-scoped objects
    unsigned refs;
    uint64_t owners; // a bloom of the owners' uids, so that garbage collection skips quickly
} snapshot;
snapshot *snapshot_ref(const snapshot *s);
void snapshot_unref(const snapshot *s);

struct store_options {
    int64_t (*now)(void *arg); // wall ns
    void (*wake)(void *arg);   // there is something to dispatch; may be NULL
    // Fills in the defaults of a new object, whoever makes it; may be NULL.
    void (*complete)(void *arg, const struct kind *k, cJSON *json);
    void *arg;
    size_t history; // entries kept for watches, 0: 2048
};
typedef struct store store;
store *store_new(const struct store_options *o);
void store_free(store *s);
int64_t store_now(const store *s);
int64_t store_version(const store *s); // the newest resourceVersion

// Reading. What is borrowed holds until the next change of the store.
const snapshot *store_get(const store *s, const struct kind *k, const char *ns, const char *name);
// Its JSON to change and hand to store_update; new; NULL if there is none.
cJSON *store_copy(const store *s, const struct kind *k, const char *ns, const char *name);
// All of a kind (in a namespace; NULL or "": in all) by namespace and name, each with a reference,
// so that the store may be changed while walking.
struct store_list {
    snapshot **items;
    size_t n;
    int64_t version;
};
struct store_list store_list(const store *s, const struct kind *k, const char *ns);
void store_list_done(struct store_list *l);
#define AUTO_LIST __attribute__((cleanup(store_list_done))) struct store_list
// The same, of one kind, those whose ownerReferences name the uid.
struct store_list store_owned(const store *s, const struct kind *k, const char *uid);

// Writing. All take `json` whether they succeed or not, and return the stored snapshot, borrowed
// until the next change; NULL on error: ERR_EXISTS, ERR_NOT_FOUND, ERR_CONFLICT (resourceVersion or
// uid is another), ERR_FORBIDDEN (namespace being terminated), ERR_INVALID; texts are Kubernetes's.
enum store_part {
    STORE_MAIN,   // as a PUT of the resource: .status stays what it was, if the kind has a /status
    STORE_STATUS, // as a PUT of /status: only .status (and labels, annotations not) is taken
    STORE_ALL,    // for controllers: both
};
// Sets uid (if store_identify has not), creationTimestamp, resourceVersion, generation, and the
// name for a generateName. The namespace must exist.
const snapshot *store_create(
    store *s, const struct kind *k, cJSON *json, enum store_part part, bool dry_run, err *e);
// Replaces by metadata.namespace and name. A resourceVersion or uid in it must be the current one;
// without one it wins. What changes nothing makes no version. Taking away the last finalizer of an
// object that is being deleted removes it; the last snapshot is returned.
const snapshot *store_update(
    store *s, const struct kind *k, cJSON *json, enum store_part part, bool dry_run, err *e);

// Gives a new object its uid, and its name if that is to be generated, ahead of store_create: for
// what refers to them in the object itself.
void store_identify(cJSON *json);

enum store_propagation { STORE_BACKGROUND, STORE_FOREGROUND, STORE_ORPHAN };
struct store_delete {
    const char *uid;     // precondition; NULL: none
    const char *version; // precondition; NULL: none
    int64_t grace;       // seconds; -1: what the object says (pods: terminationGracePeriodSeconds)
    enum store_propagation propagation;
    bool dry_run;
};
// Deletes, or begins to: a scheduled, unfinished pod with grace gets a deletionTimestamp and stays
// until whoever runs it deletes it with grace 0; finalizers hold an object back; a namespace goes
// when it is empty. Dependents (ownerReferences by uid) go with the owner, unless orphaned.
// *gone: it is removed. Options may be NULL: background, with grace.
const snapshot *store_delete(store *s, const struct kind *k, const char *ns, const char *name,
    const struct store_delete *how, bool *gone, err *e);

// History.
enum store_change { STORE_ADDED, STORE_MODIFIED, STORE_DELETED };
struct store_event {
    enum store_change change;
    int64_t version;
    const snapshot *object; // of a deletion: the last state, under the deletion's version
    const snapshot *old;    // before; NULL for STORE_ADDED
};
// A cursor behind `since`. ERR_GONE ("too old resource version: 3 (17)") when that was trimmed.
typedef struct store_watch store_watch;
store_watch *store_watch_new(store *s, const struct kind *k, const char *ns, int64_t since, err *e);
void store_watch_free(store_watch *w);
// 1: *ev is the next change (borrowed until the next change of the store), 0: none for now, -1:
// ERR_GONE, the cursor fell out of the history.
int store_watch_next(store_watch *w, struct store_event *ev, err *e);
int64_t store_watch_version(const store_watch *w); // all up to here was seen

// Observers (controllers) see every change of every kind, in order, from store_dispatch only; they
// may change the store, which is delivered later in the same dispatch.
typedef struct store_observer store_observer;
store_observer *store_observe(
    store *s, void (*changed)(void *arg, const struct store_event *ev), void *arg);
void store_unobserve(store_observer *o);
void store_dispatch(store *s);
