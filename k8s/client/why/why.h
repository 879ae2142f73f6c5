// SPDX-License-Identifier: MIT
// Why an object does not go on: one sentence, what it was seen by, and what to do. Plain functions
// on trees.
#pragma once
#include "base/buf.h"
#include "base/json/json.h"

#include <stdint.h>

struct why_facts {
    const cJSON *object; // as the server has it
    const cJSON *pods;   // its pods, an array; NULL: they cannot be read
    const cJSON *events; // warnings about it and its pods, oldest first; NULL: they cannot be read
    const cJSON *pulls;  // events Pulling of its pods, oldest first; NULL: as above
    const cJSON *nodes;  // those that its pods are on or wait for; NULL: as above
    const char *log;     // the last lines of its main pod (driver), or of the one that failed; NULL
    const cJSON *relatives; // what it has made and what makes its pods: JobSets, Jobs; NULL: none
    const cJSON *claims;    // that its pods wait for; NULL: none
    const cJSON *classes;   // storage classes; NULL: not asked, or they cannot be read
    const cJSON *holders;   // Workloads of Kueue, PodGroups of Volcano; NULL: as above
    const cJSON *queues;    // LocalQueues and ClusterQueue of its Workload; NULL: as above
    const cJSON *place;     // of the Workload among those that wait, with "of"; NULL: not known
    // For a kind that an operator acts on: Deployments of operators that can be seen in the
    // cluster, an array; NULL: not asked, or they cannot be read.
    const cJSON *operators;
};
struct why {
    buf what;   // "executor x-exec-2 waits for a node: 0/1 nodes are available: 1 Insufficient cpu"
    buf seen;   // "pod x-exec-2: PodScheduled is False (Unschedulable)"
    buf next;   // "ask for less CPU …"; may be empty
    bool pulls; // an image is being pulled: it goes on by itself
    buf image;  // which, when that is known
    int64_t pull_since; // wall ns; 0: not known
    // What was looked at, and what could not be and why: "its status, 2 pods; not their warnings:
    // …". Set by who asks for the facts.
    buf looked;
};
// Returns false when the facts show no cause: all is empty then. That nothing is wrong it says
// only of what has reached a good end.
bool why_of(const struct why_facts *facts, int64_t now_wall, struct why *out);
void why_done(struct why *w);

// Does an operator that is ready watch the namespace? `out` gets for each of the Deployments, but
// for those of webhooks,
// "; Deployment NAME in namespace NS is not ready", "… watches a,b only" or "… is ready".
bool why_operators(const cJSON *deployments, const char *ns, buf *out);
// Appends what to do when none does.
void why_operators_next(const cJSON *deployments, const char *group, const char *ns, buf *out);
