// SPDX-License-Identifier: MIT
// Turns a container's specification into environment, arguments, mounts, limits, and the command
// line that sets them up. It makes the folders of this run, but starts nothing.
#pragma once
#include "k8s/sandbox/nodes/podenv.h"
#include "k8s/sandbox/nodes/podimage.h"
#include "k8s/sandbox/nodes/runtime.h"

struct launch_input {
    const cJSON *pod, *container;
    const struct runtime *runtime;
    const podimage *image;
    podenv_lookup lookup; // finds ConfigMaps and Secrets
    void *arg;
    const char *pod_dir; // holds hosts and volumes/
    const char *run_dir; // folder of this run; it is made here, and the owner removes it
    int *next_cpu;       // the next CPU limit begins with this CPU; the call moves it on
};
struct launch {
    char **command, **env;
    char *cwd; // working folder; NULL: any
};
// Why a container could not start, with the kubelet's reason.
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
// The text of the error is the one of kubelet and runc.
enum launch_result launch_prepare(const struct launch_input *in, struct launch *out, err *e);
void launch_done(struct launch *l);

// The path to which a run writes its termination message; new.
char *launch_message_path(const char *run_dir);
