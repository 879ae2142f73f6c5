// SPDX-License-Identifier: MIT
#include "k8s/client/whypod.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/cause.h"
#include "k8s/client/container.h"
#include "k8s/client/kinds/known.h"
#include "k8s/client/sick.h"
#include "k8s/client/state.h"
#include "k8s/client/whynode.h"

#include <string.h>

const char *whypod_role(const cJSON *pod)
{
    const char *role = known_role(pod);
    return role ? role : "pod";
}

static void add_name(buf *out, const cJSON *pod)
{
    buf_fmt(out, "%s %s", whypod_role(pod), json_path_str(pod, "metadata.name"));
}

static bool is_bad(const cJSON *status)
{
    const cJSON *waits = json_path(status, "state.waiting");
    const char *reason = json_str_or(waits, "reason", "");
    bool in_vain =
        waits && !str_eq(reason, "ContainerCreating") && !str_eq(reason, "PodInitializing");
    return in_vain || json_int_or(json_path(status, "state.terminated"), "exitCode", 0) ||
           json_int_or(json_path(status, "lastState.terminated"), "exitCode", 0);
}

// The container that is the worst of the pod: one that waits in vain, or ended badly now or before.
static const cJSON *bad_container(const cJSON *pod)
{
    return container_first(pod, is_bad);
}

static const char *memory_limit(const cJSON *pod, const char *container)
{
    const cJSON *c;
    cJSON_ArrayForEach(c, json_path(pod, "spec.containers"))
    {
        if (str_eq(json_str(c, "name"), container))
            return json_path_str(c, "resources.limits.memory");
    }
    return NULL;
}

// " exited with 7: message"; "Error" as a reason says nothing.
static void say_exit(const cJSON *end, buf *out)
{
    const char *reason = json_str_or(end, "reason", ""), *message = json_str_or(end, "message", "");
    int64_t signum = json_int_or(end, "signal", 0);
    if (signum)
        buf_fmt(out, " was ended by signal %lld", (long long)signum);
    else
        buf_fmt(out, " exited with %lld", (long long)json_int_or(end, "exitCode", 0));
    if (*reason && !str_eq(reason, "Error") && !str_eq(reason, "Completed"))
        buf_fmt(out, " (%s)", reason);
    if (*message) {
        buf_str(out, ": ");
        cause_line(message, out);
    }
}

// Where more is told of an end that its words do not explain.
static void say_where_its_log_is(
    const cJSON *pod, const cJSON *status, const cJSON *end, struct why *w)
{
    if (!cause_remedy(buf_cstr(&w->what)))
        buf_fmt(&w->next, "read its last words: k8s.logs(\"pods/%s\", {container = \"%s\"%s})",
            json_path_str(pod, "metadata.name"), json_str_or(status, "name", "?"),
            end == json_path(status, "lastState.terminated") ? ", previous = true" : "");
}

static void say_ended(const cJSON *pod, const cJSON *status, const cJSON *end, struct why *w)
{
    const char *name = json_str_or(status, "name", "?");
    buf_fmt(&w->what, "container %s of ", name);
    add_name(&w->what, pod);
    if (str_eq(json_str(end, "reason"), "OOMKilled")) {
        const char *limit = memory_limit(pod, name);
        buf_str(&w->what, " was killed: it needed more memory than ");
        buf_fmt(&w->what, limit ? "its limit of %s (OOMKilled)" : "it may have (OOMKilled)", limit);
        buf_str(&w->next, "give it more memory (Spark: memory and memoryOverhead; else "
                          "resources.limits.memory), or let it hold less");
    } else {
        say_exit(end, &w->what);
        say_where_its_log_is(pod, status, end, w);
    }
    int64_t restarts = json_int_or(status, "restartCount", 0);
    buf_fmt(&w->seen, "pod %s: its container's state", json_path_str(pod, "metadata.name"));
    if (restarts)
        buf_fmt(&w->seen, ", %lld restarts", (long long)restarts);
}

static void say_waits(const cJSON *pod, const cJSON *status, struct why *w)
{
    const cJSON *waits = json_path(status, "state.waiting");
    const char *reason = json_str_or(waits, "reason", "?");
    const char *message = json_str_or(waits, "message", "");
    buf_fmt(&w->what, "container %s of ", json_str_or(status, "name", "?"));
    add_name(&w->what, pod);
    buf_fmt(&w->what, " cannot start: %s", reason);
    if (*message && !str_eq(message, reason)) {
        buf_str(&w->what, ": ");
        cause_line(message, &w->what);
    }
    buf_fmt(
        &w->seen, "pod %s: its container waits (%s)", json_path_str(pod, "metadata.name"), reason);
}

static void say_unplaced(
    const cJSON *pod, const char *reason, const struct why_facts *f, int64_t now, struct why *w)
{
    add_name(&w->what, pod);
    buf_str(&w->what, " waits for a node: ");
    cause_line(reason, &w->what);
    buf_fmt(&w->seen, "pod %s: PodScheduled is False", json_path_str(pod, "metadata.name"));
    if (strstr(reason, "taint"))
        whynode_say_taints(pod, f, now, w);
}

// ---- a pod whose containers are not there yet

static bool is_coming(const cJSON *status)
{
    const char *reason = json_str(json_path(status, "state.waiting"), "reason");
    return str_eq(reason, "ContainerCreating") || str_eq(reason, "PodInitializing");
}

static bool is_starting(const cJSON *pod)
{
    return json_path_str(pod, "spec.nodeName") &&
           str_eq(json_path_str(pod, "status.phase"), "Pending") &&
           (!json_path(pod, "status.containerStatuses") || container_first(pod, is_coming));
}

// The newest of the events about the pod. Those of its scheduling are over: it has a node.
static const cJSON *newest_about(const cJSON *pod, const cJSON *events)
{
    const char *uid = json_path_str(pod, "metadata.uid");
    const cJSON *event, *found = NULL;
    cJSON_ArrayForEach(event, events)
    {
        if (uid && str_eq(json_path_str(event, "involvedObject.uid"), uid) &&
            !str_eq(json_str(event, "reason"), "FailedScheduling"))
            found = event;
    }
    return found;
}

static void see_event(const cJSON *event, const cJSON *pod, int64_t now, buf *seen)
{
    const char *time = json_str(event, "lastTimestamp");
    int64_t at;
    time = time ? time : json_str_or(event, "eventTime", "");
    buf_fmt(seen, "event %s of Pod %s", json_str_or(event, "reason", "?"),
        json_path_str(pod, "metadata.name"));
    if (clock_parse_rfc3339(time, &at, NULL) == 0 && at <= now) {
        buf_str(seen, ", ");
        duration_age(seen, now - at);
        buf_str(seen, " ago");
    }
}

// The kubelet says `Pulling image "NAME"` when it begins.
static void say_pull(const cJSON *pod, const char *message, struct why *w)
{
    const char *from = strchr(message, '"'), *to = from ? strchr(from + 1, '"') : NULL;
    add_name(&w->what, pod);
    if (to)
        buf_fmt(&w->what, " pulls its image %.*s", (int)(to - from - 1), from + 1);
    else
        buf_str(&w->what, " pulls an image");
    buf_fmt(&w->next, "wait: a node pulls an image once, and how long that takes its size and the "
                      "network decide; a longer time-out leaves it the time");
}

bool whypod_say_starting(const cJSON *pod, const struct why_facts *f, int64_t now, struct why *w)
{
    const cJSON *pull = newest_about(pod, f->pulls), *warning = newest_about(pod, f->events);
    if (!is_starting(pod) || (!pull && !warning))
        return false;
    if (pull) {
        say_pull(pod, json_str_or(pull, "message", ""), w);
    } else {
        add_name(&w->what, pod);
        buf_str(&w->what, " does not start: ");
        cause_line(json_str_or(warning, "message", "its kubelet does not say why"), &w->what);
    }
    see_event(pull ? pull : warning, pod, now, &w->seen);
    return true;
}

void whypod_say(const cJSON *pod, const struct why_facts *f, int64_t now, struct why *w)
{
    AUTO_BUF reason = {0};
    enum sickness is = object_sick(pod, now, &reason);
    const cJSON *status = bad_container(pod);
    const cJSON *end = json_path(status, "state.terminated");
    if (!end)
        end = json_path(status, "lastState.terminated");
    if (is == SICK_PENDING) {
        say_unplaced(
            pod, reason.len ? buf_cstr(&reason) : "the scheduler has not said why", f, now, w);
    } else if (status && is == SICK_IMAGE) {
        say_waits(pod, status, w);
    } else if (status && end) {
        say_ended(pod, status, end, w);
    } else {
        add_name(&w->what, pod);
        buf_fmt(&w->what, " is %s", state_of(pod).text);
        if (reason.len)
            buf_fmt(&w->what, ": %s", buf_cstr(&reason));
        buf_fmt(&w->seen, "pod %s", json_path_str(pod, "metadata.name"));
    }
}

// A pod that just starts is not sick; neither is one that restarted and runs.
static bool counts(enum sickness is)
{
    return is >= SICK_FAILED && is != SICK_NOT_READY;
}

bool whypod_is_sick(const cJSON *pod, int64_t now)
{
    return counts(object_sick(pod, now, NULL));
}

// The driver or launcher if that is sick, since the others depend on it; else the worst of all.
const cJSON *whypod_worst(const cJSON *pods, int64_t now)
{
    const cJSON *pod, *worst = NULL;
    enum sickness most = SICK_NOT;
    cJSON_ArrayForEach(pod, pods)
    {
        enum sickness is = object_sick(pod, now, NULL);
        if (counts(is) && known_is_main(pod))
            return pod;
        if (counts(is) && is > most) {
            most = is;
            worst = pod;
        }
    }
    return worst;
}
