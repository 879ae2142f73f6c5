// SPDX-License-Identifier: MIT
// The nodes' part of why an object does not go on. Private to why.c. `nodes` is an array of Node
// objects, or NULL.
#pragma once
#include "k8s/client/why/why.h"

// The pod is bound to a node that is not ready, so that nobody knows what the pod does: says so in
// all three parts. With no such node among `nodes` a warning of the node's controller counts.
bool whynode_say_dead(const cJSON *pod, const struct why_facts *f, int64_t now_wall, struct why *w);
// Of a pod that the scheduler has not placed because of taints: appends to `what` which nodes are
// not ready, closed, short of something or reserved, to `seen` since when, and sets `next`. Only
// for nodes that somebody has reserved a toleration is advised.
void whynode_say_taints(
    const cJSON *pod, const struct why_facts *f, int64_t now_wall, struct why *w);
// A Node that is not ready.
bool whynode_say(const cJSON *node, int64_t now_wall, struct why *w);
// Of a pod that lacks a device ("Insufficient nvidia.com/gpu" in `what`): does any node have one?
void whynode_say_devices(const struct why_facts *f, struct why *w);
