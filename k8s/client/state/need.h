// SPDX-License-Identifier: MIT
// What an object will ask of its cluster once it is made: its pods, in groups of equals. Plain
// functions on trees.
#pragma once
#include "base/json/json.h"

#include <stdint.h>

enum { NEEDS_MAX = 16 };

struct need {
    const char *role; // "driver", "executor", "launcher", "worker", "pod"
    int64_t count;
    int64_t milli_cpu, bytes; // the requests of one pod; 0: it asks for none, or it is not known
    const char *device;       // "nvidia.com/gpu"; NULL: none
    int64_t devices;
    int64_t limit_cpu,
        limit_bytes;       // what it may use at most; 0: one of its containers has no limit
    const char *account;   // the service account; NULL: the namespace's default
    const cJSON *secrets;  // [{"name"}] or ["name"], of the registries; NULL
    const cJSON *metadata; // of the pods: labels and annotations; NULL
    const char *webhook;   // a field that only the operator's webhook applies; NULL
};
// Fills `out` (of NEEDS_MAX) from a Pod, a SparkApplication, a Workflow, or an object of a kind
// whose row says where its pods' templates are (kinds/known.h); others have none. Returns how many.
// Strings are borrowed from the object.
size_t needs_of(const cJSON *object, struct need *out);
// The need of a pod, also of an item of a list, which does not say its kind.
void need_of_pod(const cJSON *pod, struct need *out);
