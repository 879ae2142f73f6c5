// SPDX-License-Identifier: MIT
#include "k8s/sandbox/spark/sparkstate.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/sandbox/store/object.h"

static const char *const state_texts[] = {
#define X(name, text) text,
    SPARK_STATES(X)
#undef X
};

enum spark_state spark_state_of(const cJSON *app)
{
    const char *text = json_path_str(app, "status.applicationState.state");
    for (size_t i = 0; text && i < ARRAY_LEN(state_texts); i++)
        if (str_eq(text, state_texts[i]))
            return (enum spark_state)i;
    return text ? SPARK_UNKNOWN : SPARK_NEW;
}

const char *spark_state_text(enum spark_state s)
{
    return state_texts[s];
}

bool spark_is_terminal(enum spark_state s)
{
    return s == SPARK_COMPLETED || s == SPARK_FAILED;
}

static const cJSON *terminated(const cJSON *pod, const char *container)
{
    const cJSON *status;
    cJSON_ArrayForEach(status, json_path(pod, "status.containerStatuses"))
    {
        if (str_eq(json_str(status, "name"), container))
            return json_path(status, "state.terminated");
    }
    return NULL;
}

enum spark_driver spark_driver_state(const cJSON *pod)
{
    if (!pod)
        return DRIVER_MISSING;
    const cJSON *end = terminated(pod, "spark-kubernetes-driver");
    if (end)
        return json_int_or(end, "exitCode", 0) == 0 ? DRIVER_SUCCEEDED : DRIVER_FAILED;
    const char *phase = json_path_str(pod, "status.phase");
    if (str_eq(phase, "Running"))
        return DRIVER_RUNNING;
    if (str_eq(phase, "Succeeded"))
        return DRIVER_SUCCEEDED;
    return str_eq(phase, "Failed") ? DRIVER_FAILED : DRIVER_PENDING;
}

char *spark_driver_error(const cJSON *pod)
{
    const cJSON *end = terminated(pod, "spark-kubernetes-driver");
    if (!pod)
        return mem_strdup("driver pod not found");
    if (!end)
        return mem_strdup("driver container status missing");
    return str_fmt("driver container failed with ExitCode: %lld, Reason: %s",
        (long long)json_int_or(end, "exitCode", 0), json_str_or(end, "reason", ""));
}

const char *spark_executor_state(const cJSON *pod)
{
    const char *phase = json_path_str(pod, "status.phase");
    if (str_eq(phase, "Running"))
        return "RUNNING";
    if (str_eq(phase, "Succeeded"))
        return "COMPLETED";
    return str_eq(phase, "Failed") ? "FAILED" : "PENDING";
}

bool spark_should_retry(const cJSON *app, enum spark_state s, int64_t *due)
{
    const cJSON *policy = json_path(app, "spec.restartPolicy"), *status = json_get(app, "status");
    const char *type = json_str_or(policy, "type", "Never");
    int64_t interval = json_int_or(policy,
        s == SPARK_SUBMISSION_FAILED ? "onSubmissionFailureRetryInterval"
                                     : "onFailureRetryInterval",
        5);
    int64_t attempts = json_int_or(status, "submissionAttempts", 0);
    *due = s == SPARK_SUCCEEDING ? 0
                                 : clock_add(object_time(status, "lastSubmissionAttemptTime"),
                                       clock_of_seconds((double)interval * (double)attempts));
    if (str_eq(type, "Always"))
        return true;
    if (!str_eq(type, "OnFailure"))
        return false;
    // If no number of retries is given, there are none: the CRD has no default.
    if (s == SPARK_FAILING)
        return json_int_or(status, "executionAttempts", 0) <=
               json_int_or(policy, "onFailureRetries", 0);
    if (s == SPARK_SUBMISSION_FAILED)
        return attempts <= json_int_or(policy, "onSubmissionFailureRetries", 0);
    return false;
}

bool spark_needs_restart(const cJSON *old_app, const cJSON *new_app)
{
    AUTO_JSON *a = cJSON_Duplicate(json_get(old_app, "spec"), true);
    AUTO_JSON *b = cJSON_Duplicate(json_get(new_app, "spec"), true);
    static const char *const harmless[] = {"suspend", "timeToLiveSeconds"};
    for (size_t i = 0; i < ARRAY_LEN(harmless); i++) {
        cJSON_DeleteItemFromObjectCaseSensitive(a, harmless[i]);
        cJSON_DeleteItemFromObjectCaseSensitive(b, harmless[i]);
    }
    return !json_equal(a, b);
}
