// SPDX-License-Identifier: MIT
// The node of a sandbox: binds pods to it, runs their containers as processes, and writes their
// status. Owns every process, folder and log of every pod. Loop's thread only.
#pragma once
#include "k8s/sandbox/api/sandbox.h"

struct pods_options {
    const char *images;  // folder of the local image store
    const char *program; // this executable, which `--pod` makes a container's starter (podinit.h)
    const char *worker;  // firesteel-worker, for SparkApplications of image `host`; may be NULL
    const char *const *env; // environment of this process: PATH to find bwrap and spark-submit
};
typedef struct kubelet kubelet;
kubelet *kubelet_open(sandbox *s, const struct pods_options *o, err *e);
// Kills all containers and waits for their processes (not for the loop), then removes the folders.
void kubelet_close(kubelet *k); // NULL is fine
