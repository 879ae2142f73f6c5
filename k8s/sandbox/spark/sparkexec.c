// SPDX-License-Identifier: MIT
#include "k8s/sandbox/spark/sparkexec.h"

#include "base/mem.h"
#include "base/str.h"
#include "k8s/sandbox/spark/sparkpod.h"
#include "k8s/sandbox/spark/sparkstate.h"

#include <stdlib.h>
#include <string.h>

static const cJSON *env_entry(const cJSON *pod, const char *name)
{
    const cJSON *entry;
    cJSON_ArrayForEach(entry, json_path(pod, "spec.containers[0].env"))
    {
        if (str_eq(json_str(entry, "name"), name))
            return entry;
    }
    return NULL;
}

int sparkexec_create(store *s, const cJSON *app, const cJSON *driver, err *e)
{
    ERR_GUARD(e);
    const char *port = json_str(env_entry(driver, "FIRESTEEL_DRIVER_PORT"), "value");
    const char *selector = object_label(driver, "spark-app-selector");
    AUTO_LIST existing = store_owned(s, KIND(PODS), object_uid(driver));
    if (existing.n || !port || !selector)
        return 0;
    AUTO_FREE char *hash = mem_strndup(selector + strlen("spark-"), 16);
    struct spark_launch l = {
        .submission_id = object_label(driver, "sparkoperator.k8s.io/submission-id"),
        .app_selector = selector,
        .name_hash = hash,
        .secret =
            json_path_str(env_entry(driver, "FIRESTEEL_SECRET"), "valueFrom.secretKeyRef.name"),
        .worker = json_path_str(driver, "spec.containers[0].command[0]"),
        .port = (uint16_t)strtoul(port, NULL, 10)};
    for (int64_t id = 1; id <= spark_executors(app); id++) {
        cJSON *pod = spark_executor_pod(app, driver, &l, id, e);
        if (!pod ||
            (!store_create(s, KIND(PODS), pod, STORE_MAIN, false, e) && e->code != ERR_EXISTS))
            return -1;
    }
    return 0;
}

static void tell(store *s, const cJSON *app, const cJSON *pod, const char *state)
{
    const char *name = object_name(pod);
    const cJSON *end = json_path(pod, "status.containerStatuses[0].state.terminated");
    if (str_eq(state, "PENDING"))
        SPARK_EVENT(s, app, "Normal", "SparkExecutorPending", "Executor %s is pending", name);
    else if (str_eq(state, "RUNNING"))
        SPARK_EVENT(s, app, "Normal", "SparkExecutorRunning", "Executor %s is running", name);
    else if (str_eq(state, "COMPLETED"))
        SPARK_EVENT(s, app, "Normal", "SparkExecutorCompleted", "Executor %s completed", name);
    else
        SPARK_EVENT(s, app, "Warning", "SparkExecutorFailed",
            "Executor %s failed with ExitCode: %lld, Reason: %s, Pod Message: %s", name,
            (long long)json_int_or(end, "exitCode", 0), json_str_or(end, "reason", ""),
            json_path_str(pod, "status.message") ? json_path_str(pod, "status.message") : "");
}

void sparkexec_note(store *s, cJSON *app, const cJSON *driver, bool over)
{
    cJSON *states = json_object_at(json_object_at(app, "status"), "executorState");
    AUTO_LIST owned = {0};
    if (driver)
        owned = store_owned(s, KIND(PODS), object_uid(driver));
    cJSON *known;
    cJSON_ArrayForEach(known, states)
    {
        bool there = false;
        for (size_t i = 0; i < owned.n; i++)
            there |= str_eq(owned.items[i]->name, known->string);
        bool ended =
            str_eq(known->valuestring, "COMPLETED") || str_eq(known->valuestring, "FAILED");
        if (!there && !ended)
            cJSON_SetValuestring(known, over ? "FAILED" : "UNKNOWN");
    }
    for (size_t i = 0; i < owned.n; i++) {
        const char *state = spark_executor_state(owned.items[i]->json);
        const char *before = json_str(states, owned.items[i]->name);
        if (str_eq(state, before))
            continue;
        json_set_str(states, owned.items[i]->name, state);
        tell(s, app, owned.items[i]->json, state);
    }
}

bool sparkexec_ended(store *s, const cJSON *driver)
{
    AUTO_LIST owned = {0};
    if (driver)
        owned = store_owned(s, KIND(PODS), object_uid(driver));
    for (size_t i = 0; i < owned.n; i++) {
        const char *state = spark_executor_state(owned.items[i]->json);
        if (str_eq(state, "RUNNING") || str_eq(state, "PENDING"))
            return false;
    }
    return true;
}

int sparkexec_delete_pod(store *s, const snapshot *pod, err *e)
{
    ERR_GUARD(e);
    bool gone;
    AUTO_FREE char *ns = mem_strdup(pod->ns), *name = mem_strdup(pod->name),
                   *uid = mem_strdup(pod->uid);
    struct store_delete how = {.uid = uid, .grace = -1};
    if (object_is_deleting(pod->json) || store_delete(s, KIND(PODS), ns, name, &how, &gone, e) ||
        e->code == ERR_NOT_FOUND || e->code == ERR_CONFLICT)
        return 0;
    return -1;
}

int sparkexec_remove(store *s, const cJSON *app, const cJSON *driver, err *e)
{
    if (!driver || !json_bool_or(json_path(app, "spec.executor"), "deleteOnTermination", true))
        return 0;
    AUTO_LIST owned = store_owned(s, KIND(PODS), object_uid(driver));
    for (size_t i = 0; i < owned.n; i++)
        if (sparkexec_delete_pod(s, owned.items[i], e))
            return -1;
    return 0;
}
