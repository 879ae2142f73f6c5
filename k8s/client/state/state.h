// SPDX-License-Identifier: MIT
// The state of an object of any kind as one word, and whether that state is final: the usual words
// for pods, jobs and applications, and conditions for other kinds. Plain functions on trees.
#pragma once
#include "base/buf.h"
#include "base/json/json.h"

enum outcome { OUTCOME_OPEN, OUTCOME_GOOD, OUTCOME_BAD };
struct state {
    char text[64];        // "RUNNING", "ContainerCreating", "Complete"; "" when there is none yet
    enum outcome outcome; // BAD and GOOD are final
    const char *cause;    // cause of a bad state, in the object's words; borrowed; NULL
};
struct state state_of(const cJSON *object);
// Has the object reached this state? It has if the state is its text (in any case), its phase, or a
// condition that is True; or if it ended well, and the state is one on the way to that.
bool state_reached(const cJSON *object, const char *state);
// Are the states of its kind known (kinds/known.h)?
bool state_is_known(const cJSON *object);
// The states that an object of its kind can have, "Running, Complete, Failed", new; NULL: of this
// kind we do not know them.
char *state_names(const cJSON *object);
// Is the state one of them, or a condition of the object? Any state is, of a kind without names.
bool state_exists(const cJSON *object, const char *state);
// May objects of its kind have other states than the names? A pod may: the reason of a container is
// any word.
bool state_may_be_another(const cJSON *object);
// The name that `state` may have been meant for, new; NULL: none is near.
char *state_nearest(const cJSON *object, const char *state);

// A pod as `kubectl get pods` shows it (printPod of k8s.io/kubernetes).
struct pod_row {
    char ready[24], status[64];
    bool is_ready; // as many containers as there are
    int restarts;
    int64_t last_restart;  // wall ns; 0: not known
    const char *restarted; // the same in RFC 3339, borrowed; NULL
};
void pod_row(const cJSON *pod, struct pod_row *row);
