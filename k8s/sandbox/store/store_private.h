// SPDX-License-Identifier: MIT
// What the files of the store share: store.c reads and writes, store_delete.c deletes and collects
// what deletions leave behind, store_watch.c tells. Nobody else includes this.
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
    const snapshot *result;   // what the last write returned, kept alive for its caller
    const snapshot **removed; // whose dependents and owners are still to be looked at
    size_t removed_n;
    bool collecting;
};

// The shelf of a kind; NULL when there never was an object of it.
struct shelf *store_shelf(const store *s, const struct kind *k);
// All objects that name the uid as an owner.
struct store_list store_all_owned(const store *s, const char *uid);
// `pods "a" WHAT`; -1.
int store_fail(err *e, err_code code, const struct kind *k, const char *name, const char *what);
int store_conflict(err *e, const struct kind *k, const char *name, const char *why);
int store_check_uid(const snapshot *old, const char *uid, err *e); // NULL fits any

// Keeps what a write returns alive for its caller, until the next write.
const snapshot *store_keep(store *s, const snapshot *snap);
void store_record(store *s, enum store_change change, const snapshot *object, const snapshot *old);
void store_bump_generation(cJSON *json);
// A new snapshot in the place of old; takes json. Kept.
const snapshot *store_replace(store *s, const snapshot *old, cJSON *json);
// Takes old out, with json (taken) as its last state, and all that goes with it. Kept.
const snapshot *store_remove(store *s, const snapshot *old, cJSON *json);
// Is nothing holding it back any more: no finalizer, no grace, no content of a namespace?
bool store_may_go(const store *s, const struct kind *k, const cJSON *json);
bool store_is_finished(const cJSON *json);   // the same, but for what is in a namespace
void store_observer_free(store_observer *o); // takes it out of the list
