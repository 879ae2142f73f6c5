// SPDX-License-Identifier: MIT
// The indexes of a Job with completionMode Indexed: each pod has one, and each index has to succeed
// once (kubernetes/pkg/controller/job/indexed_job_utils.go). Owned by the caller.
#pragma once
#include "base/buf.h"
#include "base/json/json.h"

#include <stdbool.h>
#include <stdint.h>

enum { JOBINDEX_MOST = 100000 }; // completions, as in Kubernetes

struct jobindex {
    char *states; // of each index: '.' free, 'a' a pod is at it, 'd' done
    int64_t n;
};

bool jobindex_is_indexed(const cJSON *job);
// Those of a Job: what its status says is done; its pods are added one by one.
void jobindex_init(struct jobindex *x, const cJSON *job);
void jobindex_done(struct jobindex *x);
void jobindex_add(struct jobindex *x, const cJSON *pod);
int64_t jobindex_succeeded(const struct jobindex *x);
// Takes the first free index; -1: there is none.
int64_t jobindex_take(struct jobindex *x);
// Those that are done as status.completedIndexes has them: "1,3-5".
void jobindex_text(const struct jobindex *x, buf *out);
// Gives a new pod its index: annotation and label, host name, name, JOB_COMPLETION_INDEX.
void jobindex_mark(cJSON *pod, const cJSON *job, int64_t index);
