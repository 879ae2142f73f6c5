// SPDX-License-Identifier: MIT
// The Spark operator's state machine as decisions (spark-operator 2.x,
// internal/controller/sparkapplication/controller.go). Pure: the controller carries them out.
#pragma once
#include "base/json/json.h"

#include <stdint.h>

#define SPARK_STATES(X)                                                                            \
    X(NEW, "")                                                                                     \
    X(SUBMITTED, "SUBMITTED")                                                                      \
    X(RUNNING, "RUNNING")                                                                          \
    X(COMPLETED, "COMPLETED")                                                                      \
    X(FAILED, "FAILED")                                                                            \
    X(SUBMISSION_FAILED, "SUBMISSION_FAILED")                                                      \
    X(PENDING_RERUN, "PENDING_RERUN")                                                              \
    X(INVALIDATING, "INVALIDATING")                                                                \
    X(SUCCEEDING, "SUCCEEDING")                                                                    \
    X(FAILING, "FAILING")                                                                          \
    X(SUSPENDING, "SUSPENDING")                                                                    \
    X(SUSPENDED, "SUSPENDED")                                                                      \
    X(RESUMING, "RESUMING")                                                                        \
    X(UNKNOWN, "UNKNOWN")
enum spark_state {
#define X(name, text) SPARK_##name,
    SPARK_STATES(X)
#undef X
};
enum spark_state spark_state_of(const cJSON *app);
const char *spark_state_text(enum spark_state s);
bool spark_is_terminal(enum spark_state s);

// The state of the driver pod.
enum spark_driver {
    DRIVER_MISSING,
    DRIVER_PENDING,
    DRIVER_RUNNING,
    DRIVER_SUCCEEDED,
    DRIVER_FAILED
};
// pod NULL: missing. A terminated container spark-kubernetes-driver counts more than the pod's
// phase.
enum spark_driver spark_driver_state(const cJSON *pod);
// "driver container failed with ExitCode: 3, Reason: Error"; new.
char *spark_driver_error(const cJSON *pod);
// "PENDING", "RUNNING", "COMPLETED" or "FAILED" for an executor pod.
const char *spark_executor_state(const cJSON *pod);

// Shall the application in the state `s` (SUCCEEDING, FAILING, SUBMISSION_FAILED) run again? *due:
// not before this time, wall ns.
bool spark_should_retry(const cJSON *app, enum spark_state s, int64_t *due);
// Do the specs differ in more than suspend and timeToLiveSeconds?
bool spark_needs_restart(const cJSON *old_app, const cJSON *new_app);
