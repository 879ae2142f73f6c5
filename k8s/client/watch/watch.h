// SPDX-License-Identifier: MIT
// Follows a list of objects: reports the list, then every change to it, until it is closed. It
// lists, watches from the list's version, and starts again after any end. A watch lives on the
// loop's thread and belongs to its opener.
//
//        ┌────────── 410 Gone, unknown ───────────┐
//        ▼                                        │
//      list ──> watch from its resourceVersion ───┤ ended, cut: watch again from the last one seen
//        ▲          (bookmarks move it on)        │
//        └── away: pause with jitter, never give up ┘
//
// It keeps WATCH_MOST objects and reports only those; it counts the others. A server may answer and
// still lead nowhere: it says again and again that a version is too old, ends every watch at once,
// or has endless lists. Such a server is asked at growing intervals, and reported as away, with
// what it does.
#pragma once
#include "k8s/client/connect/client.h"

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
    // Asks for the rows that the server prints: `columns`, watch_cells. Objects from lists then
    // lack the parts that are never shown (LISTING_SHOWN).
    bool table;
    // With wants_object: this many objects at the start of a list are read whole all the same, up
    // to the end of the page that the last of them is on.
    size_t whole;
};
// A cluster has at most 150,000 pods by Kubernetes' own limits.
enum { WATCH_MOST = 10000, WATCH_COUNTED = 200000 };
struct watch_ops {
    // An object was added, has changed or is gone. An object that was missing in a new list has
    // only kind and metadata. This callback may close the watch, as may the others.
    void (*event)(void *arg, enum watch_change change, const cJSON *object);
    // A list is complete: all its objects were reported. May be NULL.
    void (*synced)(void *arg);
    // The server cannot be reached, or refuses: called at each try; and with code ERR_NONE when the
    // server is back. The watch tries forever; an owner that does not want to wait any longer
    // closes it. May be NULL.
    void (*away)(void *arg, const err *reason);
    // The number of objects beyond those reported, when it has changed; counted up to
    // WATCH_COUNTED. When reported objects go, others are reported in their place. May be NULL.
    void (*more)(void *arg, size_t n);
    // The columnDefinitions of the rows from here on: before the first object, and again when they
    // have changed, after which all objects are told anew. NULL: the server makes no tables. May be
    // NULL.
    void (*columns)(void *arg, const cJSON *definitions);
    // Is more to be shown of the object of a row than its cells and metadata tell? With this, lists
    // are read by rows with metadata alone, which are told of at once; then the objects that are
    // wanted are read and told of as modified. NULL: lists have whole objects. Needs `table`.
    bool (*wants_object)(void *arg, const cJSON *cells);
};
typedef struct watch watch;
watch *watch_open(client *c, const struct watch_spec *spec, const struct watch_ops *ops, void *arg);
void watch_close(watch *w); // NULL is fine
// The cells of the row of the object that is just being told of; NULL: the server made none.
const cJSON *watch_cells(const watch *w);
// clock_mono() when the server was last heard: the age of the data. 0: never yet.
int64_t watch_heard(const watch *w);
// An `away` reason without the watch's own name, for where others' data stand, too.
void watch_cause(const watch *w, const err *reason, err *out);
