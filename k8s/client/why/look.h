// SPDX-License-Identifier: MIT
// Reads what tells why an object does not go on, and asks why_of. Where it reads is the caller's:
// the server (script/api/k8s/why.c), or recorded files (tests/situations).
#pragma once
#include "k8s/client/connect/client.h"
#include "k8s/client/why/why.h"

// A kind is named as a person does, "jobs.batch", or as an object does, "batch/v1 Job". What is
// returned is new; NULL with *e. ERR_NOT_FOUND: the server has no such kind or object. Objects tell
// their apiVersion and kind, those of lists, too.
struct why_source {
    cJSON *(*list)(
        void *arg, const char *kind, const char *ns, const struct list_query *query, err *e);
    cJSON *(*get)(void *arg, const char *kind, const char *ns, const char *name, err *e);
    cJSON *(*ask)(void *arg, const char *path, err *e); // the JSON at any path of the server
    // Appends the last lines; of a container that has started again, of the one before.
    void (*log)(
        void *arg, const char *ns, const char *pod, const char *container, bool previous, buf *out);
    void *arg;
};
// As why_of; out->looked is set in any case.
bool why_look(const struct why_source *source, const cJSON *object, const char *ns,
    int64_t now_wall, struct why *out);
