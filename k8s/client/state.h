// SPDX-License-Identifier: MIT
// How is it? One word for the state of an object of any kind, and whether that is the end: what
// people call the state of pods, jobs, applications, and conditions for the rest. Plain functions
// on trees.
#pragma once
#include "base/buf.h"
#include "base/json.h"

enum outcome { OUTCOME_OPEN, OUTCOME_GOOD, OUTCOME_BAD };
struct state {
    char text[64];        // "RUNNING", "ContainerCreating", "Complete"; "" when it has none yet
    enum outcome outcome; // BAD and GOOD are for ever
    const char *cause;    // of a bad one, as the object says it, borrowed; NULL
};
struct state state_of(const cJSON *object);
// Has it reached this state: its text in any case, its phase, a condition that is True, or, ended
// well, a state that it must have come through?
bool state_reached(const cJSON *object, const char *state);

// A pod as `kubectl get pods` shows it (printPod of k8s.io/kubernetes).
struct pod_row {
    char ready[24], status[64], restarts[48];
};
void pod_row(const cJSON *pod, int64_t now_wall, struct pod_row *row);
// "5s", "3h5m": the age of an object, "<unknown>" without a creation time.
void object_age(buf *out, const cJSON *object, int64_t now_wall);
