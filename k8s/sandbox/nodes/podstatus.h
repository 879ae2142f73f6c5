// SPDX-License-Identifier: MIT
// Computes a pod's status from the states of its containers, as a kubelet does.
// Pure: no clock, no processes, no store (kubernetes/pkg/kubelet: getPhase, status/generate.go).
#pragma once
#include "base/json/json.h"

enum container_phase { CONTAINER_WAITING, CONTAINER_RUNNING, CONTAINER_TERMINATED };

// How one run of a container ended. Strings are borrowed or literals; NULL is none.
struct container_end {
    int exit_code, signal; // signal: only where the process could not report 128 + n itself
    const char *reason;    // Completed, Error, OOMKilled, StartError, ContainerStatusUnknown
    const char *message;
    int64_t started, finished; // wall ns
};

struct container_state {
    const char *name;
    const char *image, *image_id, *id; // id: "firesteel://…", of the latest run; "" if none
    enum container_phase phase;
    const char *reason, *message; // for waiting
    int64_t started;              // for running
    struct container_end end;     // for terminated
    bool has_last;
    struct container_end last; // end of the run before
    const char *last_id;
    int restarts;
    bool ready;
};

struct pod_states {
    const struct container_state *init, *main;
    size_t init_n, main_n;
};

enum restart_policy { RESTART_ALWAYS, RESTART_ON_FAILURE, RESTART_NEVER };
enum restart_policy podstatus_policy(const cJSON *pod);

// "Pending", "Running", "Succeeded", "Failed".
const char *podstatus_phase(const cJSON *pod, const struct pod_states *s);
// The whole .status, new. A condition keeps its transition time from the pod's present status
// unless its status changes. reason and message ("DeadlineExceeded", …) are NULL, except for pods
// that failed as a whole.
cJSON *podstatus_build(const cJSON *pod, const struct pod_states *s, const char *reason,
    const char *message, int64_t started, int64_t now);
