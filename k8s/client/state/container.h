// SPDX-License-Identifier: MIT
// What a pod's object says about its containers, for those who read their logs. Plain functions on
// trees; strings are borrowed from the pod.
#pragma once
#include "base/buf.h"
#include "base/json/json.h"

#include <stdbool.h>

// Calls fn for each container in the order in which they start, those that were added for debugging
// last. role: "" or, for people, "init", "sidecar", "debug".
void containers_each(
    const cJSON *pod, void (*fn)(void *arg, const char *name, const char *role), void *arg);
size_t containers_count(const cJSON *pod);
// The one whose log is read when none is named. As in kubectl: the annotation's, else the first;
// NULL: the pod has none.
const char *container_default(const cJSON *pod);
// "main", and the others as "side (sidecar), first (init)"; as kubectl says which one it took.
void containers_note(buf *out, const cJSON *pod, const char *taken);
// Its status object; name NULL: the first one's; NULL: there is none yet.
const cJSON *container_status(const cJSON *pod, const char *name);
// The status of the first container, in the order in which they start and without those for
// debugging, of which `is` is true; NULL: of none.
const cJSON *container_first(const cJSON *pod, bool (*is)(const cJSON *status));
// Is it certain that it will not write any more? Not when it will be started again.
bool container_is_over(const cJSON *pod, const char *name);
