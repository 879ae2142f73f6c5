// SPDX-License-Identifier: MIT
// The logs of many pods as one: of a pod, of a selector's pods and of those that come later, merged
// by time, filtered, each line under its pod's name. Lives on the loop's thread.
#pragma once
#include "k8s/client/logs.h"

struct tail_spec {
    const char *ns;
    const char *pod, *container; // one pod; or
    const char *labels;          // the pods of a selector
    const char *grep;            // an extended regular expression; NULL: all lines
    bool all_containers, follow, previous;
    bool prefix;           // the pod's name before each line
    bool prefix_many;      // the same when several containers are read
    int64_t tail, since_s; // as in logs_spec
};
struct tail_ops {
    // A line without its end, with its prefix. Marks (kind != LOG_LINE) pass the filter.
    void (*line)(void *arg, enum log_kind kind, const char *text, size_t n);
    // All was read; when followed: nobody writes any more, which a selector never knows. The tail
    // is gone after it.
    void (*done)(void *arg, const err *e);
};
typedef struct tail tail;
// Errors: ERR_USAGE for a regular expression that is none.
tail *tail_open(
    client *c, const struct tail_spec *spec, const struct tail_ops *ops, void *arg, err *e);
void tail_close(tail *t); // NULL is fine; also from its callbacks
// No more pods will come: done follows when those that are there have ended.
void tail_finish(tail *t);

// From another thread: reads it all (follow is ignored) and returns the newest `limit` bytes, with
// a first line that says what was left out.
int tail_read(client *c, const struct patience *p, const struct tail_spec *spec, size_t limit,
    buf *out, err *e);
