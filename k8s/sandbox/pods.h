// SPDX-License-Identifier: MIT
// Everything that makes a sandbox's objects come alive: the kubelet that runs pods as processes,
// and the controllers of Jobs, SparkApplications and MPIJobs. Opened by the program after
// sandbox_open, closed before sandbox_close; it owns all processes, and no process outlives it.
#pragma once
#include "k8s/sandbox/nodes/kubelet.h"

typedef struct pods pods;
// Its folders are made under sandbox_dir. Errors: the folders; a machine without user namespaces or
// bwrap is no error: pods of image `host` run unconfined there, others say in an event why they do
// not.
pods *pods_open(sandbox *s, const struct pods_options *o, err *e);
// Kills what runs, waits until it is gone, removes the folders.
void pods_close(pods *p);
