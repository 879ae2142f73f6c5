// SPDX-License-Identifier: MIT
// What holds an object in a queue: Kueue's Workload with its queues, Volcano's PodGroup. Private to
// why.c.
#pragma once
#include "k8s/client/why/why.h"

// Returns false when nothing holds it.
bool whyqueue_say(const struct why_facts *f, int64_t now_wall, struct why *w);
// Of a LocalQueue or ClusterQueue that takes nothing.
bool whyqueue_say_queue(const cJSON *queue, int64_t now_wall, struct why *w);
// Somebody has set the field that keeps it from starting, and no queue did.
bool whyqueue_say_suspended(const struct why_facts *f, int64_t now_wall, struct why *w);
