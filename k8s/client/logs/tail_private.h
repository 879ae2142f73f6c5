// SPDX-License-Identifier: MIT
// What the files of a tail share: tail.c reads and merges, tail_pods.c says whose logs.
// Nothing else includes it.
#pragma once
#include "base/buf.h"
#include "base/data/hashmap.h"
#include "k8s/client/connect/request.h"
#include "k8s/client/logs/merge.h"
#include "k8s/client/logs/tail.h"
#include "k8s/client/state/family.h"
#include "k8s/client/watch/watch.h"

#include <regex.h>

struct reader { // one container's log
    struct reader *next;
    tail *tail;
    logs *log; // NULL: ended
    int source;
    char *ns, *pod, *uid, *container, *prefix;
    bool paused;
    bool deleted; // the pod is gone: nobody will tell of it again
    bool renewed; // an earlier pod had its name; this has to be told before its first line
};

struct tail {
    client *client;
    char *ns, *pod, *labels, *container, *owner_uid;
    bool all_containers, follow, previous, prefix, prefix_many, timestamps, has_grep;
    bool spread; // over several namespaces
    regex_t grep;
    int64_t tail, since_s;
    const struct tail_ops *ops;
    void *arg;

    struct resource pods;
    watch *watch;      // watches the pods; NULL: no more pods will come
    watch *owner;      // watches the object that makes them
    operation *asking; // for one pod that is not watched
    loop_timer *retry; // asks again
    unsigned attempt;  // how often it was asked for in vain
    bool owner_seen;
    bool last_look; // the owner has ended: the next list of the pods is the last
    bool listed;    // the pods that were there at the beginning are known
    family *family; // which pods are the owner's, when no selector says it
    bool noted;     // it was said which container is read; or `note` will be
    char *note;
    size_t open;                       // readers that have not ended
    hashmap *names;                    // of pods that are gone, and were read
    struct reader *readers, **sources; // sources: by their number
    int source_count;
    merge *merge;
    buf line; // that is handed out
    loop_timer *timer;
    bool due;  // the timer fires in this turn
    err error; // the first error of a reader
    bool busy, closed;
};

// In the loop's next turn the tail tells what is due, and ends when nothing more can come.
void tail_soon(tail *t);
// Begins to read a container's log, unless it is read already. All lines of a pod that comes later
// are new.
// object: the pod; NULL: it cannot be looked at.
void tail_add_reader(tail *t, const cJSON *object, const char *pod, const char *container);

void tail_look(tail *t, const struct tail_spec *spec); // begins to look for pods
void tail_stop_looking(tail *t);
