// SPDX-License-Identifier: MIT
// The pods' part of why an object does not go on. Private to why.c.
#pragma once
#include "k8s/client/why/why.h"

// "driver", "executor", "launcher", "worker", or "pod".
const char *whypod_role(const cJSON *pod);
// The end of a container that failed without a message, when its log may tell more: its name, and
// whether it has started again since. NULL: there is none.
const cJSON *whypod_silent_end(const cJSON *pod, const char **container, bool *previous);
// A pod that just starts is not sick; neither is one that restarted and runs.
bool whypod_is_sick(const cJSON *pod, int64_t now_wall);
// The driver or launcher if that is sick, since the others depend on it; else the worst of all;
// NULL when none is sick.
const cJSON *whypod_worst(const cJSON *pods, int64_t now_wall);
// Appends to `what`, and sets `seen` and perhaps `next`.
void whypod_say(const cJSON *pod, const struct why_facts *f, int64_t now_wall, struct why *w);
// A pod that runs and is not ready, as its probes say. Returns false: they say nothing, or it has
// just begun.
bool whypod_say_unready(
    const cJSON *pod, const struct why_facts *f, int64_t now_wall, struct why *w);
// A pod that has a node and whose containers are not there yet: what its kubelet does or complains
// of. Returns false when that is not known.
bool whypod_say_starting(
    const cJSON *pod, const struct why_facts *f, int64_t now_wall, struct why *w);
