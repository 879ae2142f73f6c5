// SPDX-License-Identifier: MIT
// What a list of objects is, and every change to it, for as long as anybody wants to know: list,
// then watch from there, again after any end. A watch lives on the loop's thread and belongs to its
// opener.
//
//        ┌────────── 410 Gone, unknown ───────────┐
//        ▼                                        │
//      list ──> watch from its resourceVersion ───┤ ended, cut: watch again from the last one seen
//        ▲          (bookmarks move it on)        │
//        └── away: pause with jitter, never give up ┘
//
// It keeps WATCH_MOST objects and tells of those only; of the others it counts how many there are.
// A server that answers, but leads nowhere (it says again and again that a version is too old, ends
// every watch at once, has lists without an end), is asked at growing intervals, and told as away
// with what it does.
#pragma once
#include "k8s/client/client.h"

#define WATCH_CHANGES(X) X(ADDED) X(MODIFIED) X(DELETED)
enum watch_change {
#define X(name) WATCH_##name,
    WATCH_CHANGES(X)
#undef X
};

struct watch_spec {
    const struct resource *resource;
    const char *ns;              // NULL: all namespaces
    const char *labels, *fields; // selectors; NULL: none
    size_t most;                 // objects that are told of; 0: WATCH_MOST
};
// A cluster has at most 150,000 pods by Kubernetes' own limits.
enum { WATCH_MOST = 10000, WATCH_COUNTED = 200000 };
struct watch_ops {
    // An object that came, changed or went. The one that a relist found missing has only kind and
    // metadata. The watch may be closed from here, as from the others.
    void (*event)(void *arg, enum watch_change change, const cJSON *object);
    // A list is complete: all that is there has been told. May be NULL.
    void (*synced)(void *arg);
    // The server cannot be heard (or says no): told at each try, and with code ERR_NONE when it is
    // back. It is tried for ever; who has had enough closes the watch. May be NULL.
    void (*away)(void *arg, const err *reason);
    // So many objects there are beyond those that are told of, when that has changed; counted up to
    // WATCH_COUNTED. As those that are told of go, others are told of in their place. May be NULL.
    void (*more)(void *arg, size_t n);
};
typedef struct watch watch;
watch *watch_open(client *c, const struct watch_spec *spec, const struct watch_ops *ops, void *arg);
void watch_close(watch *w); // NULL is fine
// clock_mono() when the server was last heard: the age of the data. 0: never yet.
int64_t watch_heard(const watch *w);
