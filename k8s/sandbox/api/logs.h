// SPDX-License-Identifier: MIT
// GET …/pods/NAME/log: reads, filters and follows container logs. The kubelet writes them to files
// and reports every append.
#pragma once
#include "base/json/json.h"
#include "k8s/sandbox/store/store.h"

// Log files are lines "2026-01-02T03:04:05.000000006Z stdout F text\n", the CRI's form: the stream
// is stdout or stderr; F ends a line, P is a part of one that goes on in the next.
struct log_source {
    // The path of a container's log (new); with `previous`, of the instance before. NULL with the
    // text of the 400 that kubectl shows. `pod` is the pod's JSON, `container` a name of it.
    char *(*path)(void *arg, const cJSON *pod, const char *container, bool previous, err *e);
    // May the current instance still write to its log?
    bool (*is_open)(void *arg, const cJSON *pod, const char *container);
    void *arg;
};

typedef struct logs logs;
logs *logs_new(store *s);
void logs_free(logs *l);
void logs_set_source(logs *l, struct log_source source);
// Call it when a log of this pod has grown or a container has ended: followers read on.
void logs_wake(logs *l, const char *pod_uid);
