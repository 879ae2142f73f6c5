// SPDX-License-Identifier: MIT
// A pod's volumes as folders of this machine, and the places where its containers see them. Files
// are written below the pod's folder, which its owner removes as a whole.
#pragma once
#include "k8s/sandbox/nodes/podenv.h"
#include "k8s/sandbox/nodes/runtime.h"

// Makes DIR/VOLUME for emptyDir, configMap, secret, downwardAPI and projected volumes. Errors are
// in the kubelet's words: `MountVolume.SetUp failed for volume "v" : configmap "c" not found`.
int volumes_make(const cJSON *pod, const char *dir, podenv_lookup lookup, void *arg, err *e);

struct volume_mounts {
    struct runtime_mount *items;
    size_t n;
};
// The container's volumeMounts, and its /etc/hosts when `hosts` names that file.
int volumes_mounts(const cJSON *pod, const cJSON *container, const char *dir, const char *hosts,
    struct volume_mounts *out, err *e);
void volume_mounts_done(struct volume_mounts *m);
