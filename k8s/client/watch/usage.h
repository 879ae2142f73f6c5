// SPDX-License-Identifier: MIT
// What pods or nodes use of processor and memory, from metrics.k8s.io: asked for every so often,
// until it is closed. It lives on the loop's thread and belongs to its opener.
//
// The server measures each 15 s or so, and knows nothing of what has just begun. A server that is
// away, or has the API and nobody behind it (503), is asked again later, without a word.
#pragma once
#include "k8s/client/connect/client.h"

// Thousandths of a processor, rounded up as `kubectl top` does.
struct used {
    int64_t milli_cpu, bytes;
};
struct usage_spec {
    const struct resource *resource; // usage_of
    const char *ns;                  // NULL: all namespaces
    const char *labels, *fields;     // selectors; NULL: none
    int every_ms;
    size_t most; // changes that are told of at a time; 0: all. The others come the next time
};
struct usage_ops {
    // It uses more or less than when this was called last: in thousandths, and in whole MiB. NULL:
    // nothing is known any more.
    void (*changed)(void *arg, const char *uid, const struct used *used);
    // The server refuses: called once for a client, of the first that takes it. May be NULL.
    void (*refused)(void *arg, const err *why);
};
typedef struct usage usage;

// The kind that tells what pods or nodes use, as far as it is known that the server has it, from
// any thread. NULL: it has not, or r is another kind.
const struct resource *usage_of(client *c, const struct resource *r);
// The same, but asks the server, which may have it by now. NULL: the error says what to do.
const struct resource *usage_ask(
    client *c, const struct patience *p, const struct resource *r, err *e);
usage *usage_open(client *c, const struct usage_spec *spec, const struct usage_ops *ops, void *arg);
// Asks for the first time, when those that are there are followed. NULL is fine; a second call does
// nothing.
void usage_begin(usage *u);
void usage_close(usage *u); // NULL is fine
// Follows the usage of the pod or node with this uid, and returns the latest one that was measured;
// NULL: none is known yet. Call it again to read it.
const struct used *usage_follow(usage *u, const char *ns, const char *name, const char *uid);
void usage_forget(usage *u, const char *ns, const char *name);

// One item of the API's lists; -1: it is none. For tests, too.
int usage_read(const cJSON *item, struct used *out);

// usage_columns.c: what is used, in tables (table.h). Plain functions.

// How many columns it has for a kind, and these: CPU and MEM, of nodes also %CPU and %MEM, of pods
// also %CPU/R, %CPU/L, %MEM/R and %MEM/L: percent of requests and limits. Without `always` they are
// shown where there is room, those of requests and limits last of all.
size_t usage_columns(const char *kind);
void usage_add_columns(cJSON *columns, const char *kind, bool always);
// Stores in the row what percents are counted from, as "room": for a node, what its pods can have;
// for a pod, the requests and limits of its containers. Stores nothing if the object (may be NULL)
// does not say it.
void usage_take_room(cJSON *row, const char *kind, const cJSON *object);
// Sets a row's entries in these columns as `kubectl top` prints them; NULL: it is not known. A
// table without such columns stays as it is.
void usage_show(const cJSON *table, cJSON *row, const struct used *used);
