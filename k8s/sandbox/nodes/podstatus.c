// SPDX-License-Identifier: MIT
#include "k8s/sandbox/nodes/podstatus.h"

#include "base/str.h"
#include "k8s/sandbox/store/object.h"

enum restart_policy podstatus_policy(const cJSON *pod)
{
    const char *policy = json_path_str(pod, "spec.restartPolicy");
    if (str_eq(policy, "Never"))
        return RESTART_NEVER;
    return str_eq(policy, "OnFailure") ? RESTART_ON_FAILURE : RESTART_ALWAYS;
}

struct init_count {
    size_t pending, failed;
};

static struct init_count count_init(const struct pod_states *s)
{
    struct init_count count = {0};
    for (size_t i = 0; i < s->init_n; i++) {
        const struct container_state *c = &s->init[i];
        if (c->phase == CONTAINER_TERMINATED)
            count.failed += c->end.exit_code != 0;
        else if (c->phase == CONTAINER_WAITING && c->has_last)
            count.failed += c->last.exit_code != 0;
        else
            count.pending++;
    }
    return count;
}

const char *podstatus_phase(const cJSON *pod, const struct pod_states *s)
{
    enum restart_policy policy = podstatus_policy(pod);
    struct init_count init = count_init(s);
    if (init.failed && policy == RESTART_NEVER)
        return "Failed";
    if (init.pending || init.failed)
        return "Pending";
    size_t waiting = 0, running = 0, stopped = 0, succeeded = 0;
    for (size_t i = 0; i < s->main_n; i++) {
        const struct container_state *c = &s->main[i];
        running += c->phase == CONTAINER_RUNNING;
        waiting += c->phase == CONTAINER_WAITING && !c->has_last;
        stopped +=
            c->phase == CONTAINER_TERMINATED || (c->phase == CONTAINER_WAITING && c->has_last);
        succeeded += c->phase == CONTAINER_TERMINATED && c->end.exit_code == 0;
    }
    if (waiting)
        return "Pending";
    if (running || policy == RESTART_ALWAYS)
        return "Running";
    if (stopped == succeeded)
        return "Succeeded";
    return policy == RESTART_NEVER ? "Failed" : "Running";
}

static cJSON *end_json(const struct container_end *end, const char *id)
{
    cJSON *j = cJSON_CreateObject();
    json_set_str(j, "containerID", id && *id ? id : NULL);
    json_set_int(j, "exitCode", end->exit_code);
    object_set_time(j, "finishedAt", end->finished);
    json_set_str(j, "message", end->message && *end->message ? end->message : NULL);
    json_set_str(j, "reason", end->reason);
    if (end->signal)
        json_set_int(j, "signal", end->signal);
    object_set_time(j, "startedAt", end->started);
    return j;
}

static cJSON *container_json(const struct container_state *c)
{
    cJSON *j = cJSON_CreateObject();
    json_set_str(j, "containerID", c->id && *c->id ? c->id : NULL);
    json_set_str(j, "image", c->image ? c->image : "");
    json_set_str(j, "imageID", c->image_id ? c->image_id : "");
    cJSON *last = json_object_at(j, "lastState");
    if (c->has_last)
        json_set(last, "terminated", end_json(&c->last, c->last_id));
    json_set_str(j, "name", c->name);
    json_set_bool(j, "ready", c->ready);
    json_set_int(j, "restartCount", c->restarts);
    json_set_bool(j, "started", c->phase == CONTAINER_RUNNING);
    cJSON *state = json_object_at(j, "state");
    if (c->phase == CONTAINER_TERMINATED) {
        json_set(state, "terminated", end_json(&c->end, c->id));
    } else if (c->phase == CONTAINER_RUNNING) {
        object_set_time(json_object_at(state, "running"), "startedAt", c->started);
    } else {
        cJSON *waiting = json_object_at(state, "waiting");
        json_set_str(waiting, "message", c->message);
        json_set_str(waiting, "reason", c->reason);
    }
    return j;
}

// "containers with unready status: [a b]" lists those that are not ready; NULL when all are.
static const char *list_unready(const struct container_state *c, size_t n, bool init, buf *out)
{
    size_t unready = 0;
    for (size_t i = 0; i < n; i++) {
        if (c[i].ready)
            continue;
        buf_fmt(out, "%s%s",
            unready++ ? " "
            : init    ? "containers with incomplete status: ["
                      : "containers with unready status: [",
            c[i].name);
    }
    if (unready)
        buf_char(out, ']');
    return unready ? buf_cstr(out) : NULL;
}

static void set_conditions(cJSON *pod, const char *phase, const struct pod_states *s, int64_t now)
{
    bool done = str_eq(phase, "Succeeded"), failed = str_eq(phase, "Failed"), begun = false;
    bool running = false;
    for (size_t i = 0; i < s->main_n; i++) {
        begun |= s->main[i].phase != CONTAINER_WAITING || s->main[i].has_last;
        running |= s->main[i].phase == CONTAINER_RUNNING;
    }
    for (size_t i = 0; i < s->init_n; i++)
        running |= s->init[i].phase == CONTAINER_RUNNING;

    object_set_condition(pod, "PodReadyToStartContainers",
        (running || begun) && !done && !failed ? "True" : "False", NULL, NULL, now);
    AUTO_BUF incomplete = {0}, unready = {0};
    const char *text = list_unready(s->init, s->init_n, true, &incomplete);
    if (done)
        object_set_condition(pod, "Initialized", "True", "PodCompleted", NULL, now);
    else if (text && !begun)
        object_set_condition(pod, "Initialized", "False", "ContainersNotInitialized", text, now);
    else
        object_set_condition(pod, "Initialized", "True", NULL, NULL, now);

    text = list_unready(s->main, s->main_n, false, &unready);
    static const char *const types[] = {"Ready", "ContainersReady"};
    for (size_t i = 0; i < 2; i++) {
        if (done || failed)
            object_set_condition(
                pod, types[i], "False", done ? "PodCompleted" : "PodFailed", NULL, now);
        else if (text)
            object_set_condition(pod, types[i], "False", "ContainersNotReady", text, now);
        else
            object_set_condition(pod, types[i], "True", NULL, NULL, now);
    }
    object_set_condition(pod, "PodScheduled", "True", NULL, NULL, now);
}

static void set_addresses(cJSON *status)
{
    // Every pod shares the machine's loopback interface.
    static const char *const keys[][3] = {{"hostIP", "hostIPs", NULL}, {"podIP", "podIPs", NULL}};
    for (size_t i = 0; i < 2; i++) {
        json_set_str(status, keys[i][0], "127.0.0.1");
        cJSON *list = cJSON_CreateArray(), *entry = cJSON_CreateObject();
        json_set_str(entry, "ip", "127.0.0.1");
        cJSON_AddItemToArray(list, entry);
        json_set(status, keys[i][1], list);
    }
}

static cJSON *containers_json(const struct container_state *c, size_t n)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < n; i++)
        cJSON_AddItemToArray(list, container_json(&c[i]));
    return list;
}

cJSON *podstatus_build(const cJSON *pod, const struct pod_states *s, const char *reason,
    const char *message, int64_t started, int64_t now)
{
    const char *phase = reason ? "Failed" : podstatus_phase(pod, s);
    // Conditions are edited in a copy that holds nothing else: so their times are kept.
    AUTO_JSON *copy = cJSON_CreateObject();
    const cJSON *old = json_get(pod, "status");
    json_set(copy, "status", old ? cJSON_Duplicate(old, true) : cJSON_CreateObject());
    set_conditions(copy, phase, s, now);

    cJSON *status = cJSON_DetachItemFromObjectCaseSensitive(copy, "status");
    json_set(status, "containerStatuses", containers_json(s->main, s->main_n));
    if (s->init_n)
        json_set(status, "initContainerStatuses", containers_json(s->init, s->init_n));
    set_addresses(status);
    json_set_str(status, "phase", phase);
    json_set_str(status, "reason", reason);
    json_set_str(status, "message", message);
    object_set_time(status, "startTime", started);
    if (!json_get(status, "qosClass"))
        json_set_str(status, "qosClass", "BestEffort");
    return status;
}
