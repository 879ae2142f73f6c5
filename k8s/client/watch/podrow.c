// SPDX-License-Identifier: MIT
// The columns of `kubectl get pods`, computed like printPod in Kubernetes'
// pkg/printers/internalversion/printers.go.
#include "base/clock.h"
#include "base/str.h"
#include "k8s/client/state/condition.h"
#include "k8s/client/state/state.h"

#include <stdio.h>
#include <string.h>

struct tally {
    int ready, total, restarts;
    int64_t last_restart;  // wall ns
    const char *restarted; // the same as the pod has it
    char status[64];
    bool initializing;
};

static void set_status(struct tally *t, const char *text)
{
    str_fit(t->status, sizeof t->status, text);
}

// "Completed", "Signal:9", "ExitCode:3".
static void ended_as(const cJSON *terminated, char *out, size_t n)
{
    const char *reason = json_str(terminated, "reason");
    int64_t signal = json_int_or(terminated, "signal", 0);
    if (reason && *reason)
        str_fit(out, n, reason);
    else if (signal)
        snprintf(out, n, "Signal:%lld", (long long)signal);
    else
        snprintf(out, n, "ExitCode:%lld", (long long)json_int_or(terminated, "exitCode", 0));
}

static void count_restarts(struct tally *t, const cJSON *status)
{
    t->restarts += (int)json_int_or(status, "restartCount", 0);
    const char *finished = json_path_str(status, "lastState.terminated.finishedAt");
    int64_t at;
    if (finished && clock_parse_rfc3339(finished, &at, NULL) == 0 && at > t->last_restart) {
        t->last_restart = at;
        t->restarted = finished;
    }
}

static bool is_sidecar(const cJSON *pod, const char *name)
{
    const cJSON *c;
    cJSON_ArrayForEach(c, json_path(pod, "spec.initContainers"))
    {
        if (str_eq(json_str(c, "name"), name))
            return str_eq(json_str(c, "restartPolicy"), "Always");
    }
    return false;
}

static void init_containers(struct tally *t, const cJSON *pod)
{
    int i = 0, total = cJSON_GetArraySize(json_path(pod, "spec.initContainers"));
    const cJSON *s;
    cJSON_ArrayForEach(s, json_path(pod, "status.initContainerStatuses"))
    {
        const cJSON *terminated = json_path(s, "state.terminated");
        const char *waiting = json_path_str(s, "state.waiting.reason");
        count_restarts(t, s);
        if (terminated && json_int_or(terminated, "exitCode", 1) == 0) {
            i++;
            continue;
        }
        if (is_sidecar(pod, json_str(s, "name")) && json_bool_or(s, "started", false)) {
            t->ready += json_bool_or(s, "ready", false);
            i++;
            continue;
        }
        char word[sizeof t->status - sizeof "Init:"];
        if (terminated) {
            ended_as(terminated, word, sizeof word);
            snprintf(t->status, sizeof t->status, "Init:%s", word);
        } else if (waiting && *waiting && !str_eq(waiting, "PodInitializing")) {
            str_fit(word, sizeof word, waiting);
            snprintf(t->status, sizeof t->status, "Init:%s", word);
        } else {
            snprintf(t->status, sizeof t->status, "Init:%d/%d", i, total);
        }
        t->initializing = true;
        break;
    }
}

static void containers(struct tally *t, const cJSON *pod)
{
    const cJSON *list = json_path(pod, "status.containerStatuses");
    bool has_running = false;
    for (int i = cJSON_GetArraySize(list) - 1; i >= 0; i--) { // the first one's reason wins
        const cJSON *s = cJSON_GetArrayItem(list, i);
        const cJSON *terminated = json_path(s, "state.terminated");
        const char *waiting = json_path_str(s, "state.waiting.reason");
        count_restarts(t, s);
        if (waiting && *waiting)
            set_status(t, waiting);
        else if (terminated)
            ended_as(terminated, t->status, sizeof t->status);
        else if (json_bool_or(s, "ready", false) && json_path(s, "state.running")) {
            has_running = true;
            t->ready++;
        }
    }
    if (str_eq(t->status, "Completed") && has_running)
        set_status(t, str_eq(json_str(condition_find(pod, "Ready"), "status"), "True")
                          ? "Running"
                          : "NotReady");
}

static void deletion(struct tally *t, const cJSON *pod)
{
    const char *phase = json_path_str(pod, "status.phase");
    if (!json_path_str(pod, "metadata.deletionTimestamp"))
        return;
    if (str_eq(json_path_str(pod, "status.reason"), "NodeLost"))
        set_status(t, "Unknown");
    else if (!str_eq(phase, "Succeeded") && !str_eq(phase, "Failed"))
        set_status(t, "Terminating");
}

static int sidecars(const cJSON *pod)
{
    int n = 0;
    const cJSON *c;
    cJSON_ArrayForEach(c, json_path(pod, "spec.initContainers"))
    {
        n += str_eq(json_str(c, "restartPolicy"), "Always");
    }
    return n;
}

void pod_row(const cJSON *pod, struct pod_row *row)
{
    struct tally t = {0};
    const char *phase = json_path_str(pod, "status.phase");
    const char *reason = json_path_str(pod, "status.reason");
    set_status(&t, reason && *reason ? reason : phase ? phase : "Pending");
    if (str_eq(json_str(condition_find(pod, "PodScheduled"), "reason"), "SchedulingGated"))
        set_status(&t, "SchedulingGated");
    t.total = cJSON_GetArraySize(json_path(pod, "spec.containers")) + sidecars(pod);
    init_containers(&t, pod);
    if (!t.initializing || str_eq(json_str(condition_find(pod, "Initialized"), "status"), "True"))
        containers(&t, pod);
    deletion(&t, pod);
    *row = (struct pod_row){.is_ready = t.ready >= t.total,
        .restarts = t.restarts,
        .last_restart = t.last_restart,
        .restarted = t.restarted};
    snprintf(row->ready, sizeof row->ready, "%d/%d", t.ready, t.total);
    str_fit(row->status, sizeof row->status, t.status);
}
