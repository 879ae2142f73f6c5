// SPDX-License-Identifier: MIT
// The logs of many pods as one: of one pod, or of a selector's pods, including later ones. They are
// merged by time and filtered, and each line follows its pod's name. Lives on the loop's thread.
#pragma once
#include "k8s/client/logs/logs.h"

struct tail_spec {
    const char *ns;
    const char *pod, *container; // one pod; or
    const char *labels;          // the pods of a selector; or
    // Pods as the server has them, of any namespaces: {"pod": object, "container": NULL for the
    // default} each. They alone are read. Needed until tail_open returns.
    const cJSON *objects;
    // While following: the object that the pods belong to. It may make more of them, also of the
    // same name, until it has ended or is gone. NULL: of one pod, it alone is followed; of a
    // selector, the pods that come until the tail is closed.
    const struct resource *owner;
    const char *owner_name, *owner_uid;
    const char *root_uid; // of no pod and no selector: the pods that descend from this object
    const char *grep;     // an extended regular expression; NULL: all lines
    bool all_containers, follow, previous;
    bool prefix;           // the pod's name precedes each line
    bool prefix_many;      // the same, but only when several containers are read
    bool timestamps;       // when the container wrote it precedes each line's text
    int64_t tail, since_s; // as in logs_spec
};
struct tail_ops {
    // A line without its end, with its prefix. Marks (kind != LOG_LINE) always pass the filter.
    void (*line)(void *arg, enum log_kind kind, const char *text, size_t n);
    // After one line or many: no more come in this turn of the loop. May be NULL.
    void (*told)(void *arg);
    // Once, when none was named: which container of the first pod with several is read, and which
    // others it has. May be NULL.
    void (*note)(void *arg, const char *text);
    // Called when everything was read; when following, when nobody will write any more (a selector
    // never knows that). The tail is gone afterwards.
    void (*done)(void *arg, const err *e);
};
typedef struct tail tail;
// Errors: ERR_USAGE for an invalid regular expression.
tail *tail_open(
    client *c, const struct tail_spec *spec, const struct tail_ops *ops, void *arg, err *e);
void tail_close(tail *t); // NULL is fine; also from its own callbacks
// No more pods will come: `done` follows when the present ones have ended.
void tail_finish(tail *t);
// Follows no further: reads what is there now, then `done`.
void tail_drain(tail *t);

// From another thread: reads everything (ignores `follow`) and returns the newest `limit` bytes, in
// whole lines.
struct tail_text {
    buf text;
    size_t left_out; // how many lines came before
    char *note;      // see tail_ops; new, NULL: none
};
void tail_text_done(struct tail_text *t);
int tail_read(client *c, const struct patience *p, const struct tail_spec *spec, size_t limit,
    struct tail_text *out, err *e);
// The same, to callbacks on the loop's thread; `done` is not called.
int tail_read_to(client *c, const struct patience *p, const struct tail_spec *spec,
    const struct tail_ops *ops, void *arg, err *e);
