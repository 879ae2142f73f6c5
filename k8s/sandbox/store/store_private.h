// SPDX-License-Identifier: MIT
// What the files of the store share: store.c reads and writes, store_delete.c deletes and collects
// dependents, store_watch.c notifies. No other file includes this.
#pragma once
#include "k8s/sandbox/store/history.h"
#include "k8s/sandbox/store/shelf.h"
#include "k8s/sandbox/store/snapshot.h"

struct store {
    struct store_options o;
    int64_t version;
    struct shelf **shelves;
    size_t shelf_n;
    struct history history;
    uint64_t dispatched; // observers have seen all changes before this position
    bool dispatching;
    store_observer *observers;
    const snapshot *result;   // the last write's result, kept alive for its caller
    const snapshot **removed; // their dependents and owners are still to be checked
    size_t removed_n;
    bool collecting;
};

// The shelf of a kind; NULL as long as it never had an object.
struct shelf *store_shelf(const store *s, const struct kind *k);
// All objects that have the uid as an owner.
struct store_list store_all_owned(const store *s, const char *uid);
// Sets the error `pods "a" WHAT`; returns -1.
int store_fail(err *e, err_code code, const struct kind *k, const char *name, const char *what);
int store_conflict(err *e, const struct kind *k, const char *name, const char *why);

// Keeps a write's result alive for its caller, until the next write.
const snapshot *store_keep(store *s, const snapshot *snap);
void store_record(store *s, enum store_change change, const snapshot *object, const snapshot *old);
void store_bump_generation(cJSON *json);
// Puts a new snapshot in the place of old; takes json. The result is kept.
const snapshot *store_replace(store *s, const snapshot *old, cJSON *json);
// Removes old, with json (taken) as its last state, and everything that goes with it. The result is
// kept.
const snapshot *store_remove(store *s, const snapshot *old, cJSON *json);
// May the object be removed now: no finalizer, no grace, no objects in a namespace?
bool store_may_go(const store *s, const struct kind *k, const cJSON *json);
void store_observer_free(store_observer *o); // also removes it from the list
