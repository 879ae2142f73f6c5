// SPDX-License-Identifier: MIT
// What the k8s bindings share: what a call is about, and references to objects as handles carry
// them. Private to script/bind/k8s*.c.
#pragma once
#include "script/bind/cluster.h"

// The object (or kind) that a call's arguments name: {"apiVersion", "kind"} or {"kind": "pods"},
// with "namespace", "name", "uid". Strings are borrowed from the arguments and the client.
struct target {
    client *client;
    struct patience patience;
    const struct resource *resource;
    const char *ns; // never NULL: the context's; has no meaning for cluster-wide kinds
    const char *name, *uid;
};
// needs_name: without one it is ERR_USAGE.
int k8s_target(call *c, const cJSON *args, bool needs_name, struct target *t, err *e);

// {"apiVersion", "kind", "resource", "namespace", "name", "uid", "resourceVersion", "cluster"} of
// an object of the server; NULL when the cluster cannot be told.
cJSON *k8s_reference(struct target *t, const cJSON *object, err *e);
// The object of a target, if it is still the one: by its uid, where that is given. What it holds
// that is secret is registered.
cJSON *k8s_object(call *c, struct target *t, err *e);
// Does a recorded reference belong to the cluster that we talk to? 0, or -1 with ERR_REFUSED.
int k8s_same_cluster(struct target *t, const cJSON *recorded, err *e);

// k8s_ledger.c: objects that effects of this run made, found again by what marks them.

// Labels of the object that this call is about to make: this run's and this call's.
void k8s_mark(call *c, cJSON *metadata);
// What an object has of these labels already stays as it is: it was there before.
void k8s_keep_marks(const cJSON *there, cJSON *metadata);
// The name for an object that has a generateName: the same each time for this call, so that a
// request that comes twice makes one object. Sets and returns it; NULL: there is no generateName.
const char *k8s_name(call *c, cJSON *metadata);
// Is it what this call has made?
bool k8s_is_marked(call *c, const cJSON *object);
// The object that `recorded` (a reference, without a uid where no answer came) tells, if it is
// still there and this run's; *there is new, or NULL, and then *why (may be NULL) says why. Sets
// name and uid of the target to it. Errors: ERR_REFUSED when that was another cluster.
int k8s_look(call *c, struct target *t, const cJSON *recorded, cJSON **there, char **why, err *e);
// Is an object still as its manifest says? 0, also when what has changed is accepted.
int k8s_compare(call *c, struct target *t, const cJSON *manifest, const cJSON *there, err *e);

// The pods that an object leads to: a label selector (new), or a pod's name (new). `whole`: all of
// them, else the one whose log says most (driver, launcher).
struct pods_of {
    char *labels, *pod;
};
int k8s_pods_of(const cJSON *object, bool whole, struct pods_of *out, err *e);
void k8s_pods_done(struct pods_of *p);

typedef int k8s_start(call *c, const cJSON *args, cJSON **result, err *e);
k8s_start k8s_manifest, k8s_check, k8s_get, k8s_list, k8s_state, k8s_events, k8s_describe,
    k8s_can_i, k8s_version, k8s_kinds, k8s_yaml, k8s_wait, k8s_reach, k8s_logs, k8s_watch;

// What rows stand for, and what can be done to them (doc/displays.md). r NULL: pods.
cJSON *k8s_about(const struct resource *r);
void k8s_take_actions(cJSON *table, const struct resource *r);
// Rows of events stand for the objects that they are about, which are not deleted from there.
void k8s_take_event_actions(cJSON *table, const cJSON *events);

// A text for Lua, without its last line's end: print adds one.
cJSON *k8s_text(const buf *text);

// Seconds or "10m" in the arguments, as a deadline that is no later than the cell's own.
int k8s_deadline(call *c, const cJSON *args, struct patience *p, err *e);
