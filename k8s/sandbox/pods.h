// SPDX-License-Identifier: MIT
// Brings a sandbox's objects to life: the kubelet, which runs pods as processes, and the
// controllers of Jobs, SparkApplications and their schedules. The program opens it after
// sandbox_open and closes it before sandbox_close. It owns all processes, and no process outlives
// it.
#pragma once
#include "k8s/sandbox/nodes/kubelet.h"

typedef struct pods pods;
// Makes its folders under sandbox_dir. Errors: the folders. A machine without user namespaces or
// bwrap is no error: there, pods with image `host` run unconfined, and for other pods an event
// tells why they do not run.
pods *pods_open(sandbox *s, const struct pods_options *o, err *e);
// Kills the containers, waits until they are gone, and removes the folders.
void pods_close(pods *p);
