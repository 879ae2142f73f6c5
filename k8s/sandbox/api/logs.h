// SPDX-License-Identifier: MIT
// GET …/pods/NAME/log: reads, filters and follows container logs that whoever runs pods writes to
// files, and tells it of every append.
#pragma once
#include "base/json.h"
#include "k8s/sandbox/store/store.h"

// Log files are lines "2026-01-02T03:04:05.000000006Z stdout F text\n", the CRI's form: the stream
// is stdout or stderr; F ends a line, P is a part of one that goes on in the next.
struct log_source {
    // Path of a container's log (new), of the instance before with `previous`; NULL with the text
    // of the 400 that kubectl shows. `pod` is the pod's JSON, `container` a name of it.
    char *(*path)(void *arg, const cJSON *pod, const char *container, bool previous, err *e);
    // May more be appended to the current instance's log?
    bool (*is_open)(void *arg, const cJSON *pod, const char *container);
    void *arg;
};

typedef struct logs logs;
logs *logs_new(store *s);
void logs_free(logs *l);
void logs_set_source(logs *l, struct log_source source);
// Something was appended to a log of this pod, or a container ended: followers read on.
void logs_wake(logs *l, const char *pod_uid);
