// SPDX-License-Identifier: MIT
// The controller of SparkApplications: submits them, follows their drivers, and keeps status and
// events as the Spark operator does. An application whose main file is the launcher runs as
// processes of firesteel-worker; any other runs under spark-submit in its driver pod. Only on the
// loop's thread.
#pragma once
#include "k8s/sandbox/nodes/kubelet.h"

typedef struct sparkapps sparkapps;
sparkapps *sparkapps_open(sandbox *s, const struct pods_options *o);
void sparkapps_close(sparkapps *a); // NULL is fine
