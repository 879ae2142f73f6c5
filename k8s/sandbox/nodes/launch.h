// SPDX-License-Identifier: MIT
// From a container's specification to what is started: environment, arguments, mounts, limits, and
// the command line that sets them up. Makes the folders of this run; starts nothing.
#pragma once
#include "k8s/sandbox/nodes/podenv.h"
#include "k8s/sandbox/nodes/podimage.h"
#include "k8s/sandbox/nodes/runtime.h"

struct launch_input {
    const cJSON *pod, *container;
    const struct runtime *runtime;
    const podimage *image;
    podenv_lookup lookup; // of ConfigMaps and Secrets
    void *arg;
    const char *pod_dir; // holds hosts and volumes/
    const char *run_dir; // of this run; made, and its owner's to remove
    int *next_cpu;       // where the next CPU limit begins; moved on
};
struct launch {
    char **command, **env;
    char *cwd; // to start it in; NULL: anywhere
};
// What kept a container from its start: the kubelet's reasons.
//  X(name, reason)
#define LAUNCH_RESULTS(X)                                                                          \
    X(OK, NULL)                                                                                    \
    X(CONFIG, "CreateContainerConfigError") /* something that it refers to is not there (yet) */   \
    X(CREATE, "CreateContainerError")                                                              \
    X(START, "StartError") /* there is no such program: it ends at once, with code 128 */
enum launch_result {
#define X(name, reason) LAUNCH_##name,
    LAUNCH_RESULTS(X)
#undef X
};
const char *launch_reason(enum launch_result r);
// The error's text is the kubelet's and runc's.
enum launch_result launch_prepare(const struct launch_input *in, struct launch *out, err *e);
void launch_done(struct launch *l);

// Where a run's termination message is written; new.
char *launch_message_path(const char *run_dir);
