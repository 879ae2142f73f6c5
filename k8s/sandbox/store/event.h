// SPDX-License-Identifier: MIT
// Records Events about objects, as controllers and kubelets do; a repeated Event is counted.
#pragma once
#include "k8s/sandbox/store/store.h"

struct event_source {
    const char *component; // "spark-operator", "kubelet", "job-controller"
    const char *host;      // the node's name or NULL
};
// `about` is the object's JSON; field ("spec.containers{driver}") may be NULL; type is "Normal" or
// "Warning". The message is cut at 1024 bytes.
void event_record(store *s, struct event_source source, const struct kind *kind, const cJSON *about,
    const char *field, const char *type, const char *reason, const char *fmt, ...)
    __attribute__((format(printf, 8, 9)));
