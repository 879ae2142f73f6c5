// SPDX-License-Identifier: MIT
// The scheduler of a cluster with one node: binds pods to it, or reports why they do not fit.
#pragma once
#include "base/json/json.h"
#include "k8s/sandbox/store/store.h"

// Why the pod cannot run on the node, in the scheduler's words: "0/1 nodes are available: 1
// Insufficient nvidia.com/gpu. …"; new, NULL when it fits.
char *schedule_fit(const cJSON *pod, const cJSON *node);
// Sets spec.nodeName or the condition Unschedulable, with the events. Returns -1 only when the
// store refuses the change.
int schedule_pod(store *s, const snapshot *pod, const snapshot *node, err *e);
