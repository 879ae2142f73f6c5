// SPDX-License-Identifier: MIT
// The node of a sandbox: binds pods to it, runs their containers as processes, and writes their
// status. It owns every process, folder and log of every pod. Only on the loop's thread.
#pragma once
#include "k8s/sandbox/api/sandbox.h"

struct pods_options {
    const char *images;  // folder of the local image store
    const char *program; // this executable; with `--pod` it starts a container (podinit.h)
    const char *worker;  // firesteel-worker, for SparkApplications with image `host`; may be NULL
    const char *const *bwrap; // the words that start bubblewrap; NULL: there is none
    bool processes;           // pods are plain processes, also those of images
    const char *const *env;   // environment of this process: PATH finds spark-submit
};
typedef struct kubelet kubelet;
kubelet *kubelet_open(sandbox *s, const struct pods_options *o, err *e);
// Kills all containers, waits for their processes (without the loop), then removes the folders.
void kubelet_close(kubelet *k); // NULL is fine
