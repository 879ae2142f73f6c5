// SPDX-License-Identifier: MIT
#include "k8s/client/why/whypod.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/kinds/known.h"
#include "k8s/client/state/container.h"
#include "k8s/client/state/sick.h"
#include "k8s/client/state/state.h"
#include "k8s/client/text/cause.h"
#include "k8s/client/why/claim.h"
#include "k8s/client/why/whynode.h"

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

static const cJSON *last_end(const cJSON *status)
{
    const cJSON *end = json_path(status, "state.terminated");
    return end ? end : json_path(status, "lastState.terminated");
}

const cJSON *whypod_silent_end(const cJSON *pod, const char **container, bool *previous)
{
    const cJSON *status = bad_container(pod), *end = last_end(status);
    if (!end || json_int_or(end, "exitCode", 0) == 0 || *json_str_or(end, "message", "") ||
        str_eq(json_str(end, "reason"), "OOMKilled"))
        return NULL;
    *container = json_str(status, "name");
    *previous = !json_path(status, "state.terminated");
    return end;
}

// ": ValueError: no column 'price'", from the lines that the facts have of this pod's log.
static bool say_exception(const cJSON *pod, const struct why_facts *f, buf *what)
{
    AUTO_BUF line = {0};
    bool spark = known_is(f->object, "sparkoperator.k8s.io", "SparkApplication");
    if (!f->log || (spark && !known_is_main(pod)) || !cause_exception(f->log, &line))
        return false;
    buf_fmt(what, ": %s", buf_cstr(&line));
    return true;
}

static void say_ended(const cJSON *pod, const cJSON *status, const cJSON *end,
    const struct why_facts *f, struct why *w)
{
    bool told = false;
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
        told = !*json_str_or(end, "message", "") && say_exception(pod, f, &w->what);
        say_where_its_log_is(pod, status, end, w);
    }
    int64_t restarts = json_int_or(status, "restartCount", 0);
    buf_fmt(&w->seen, "pod %s: its container's state", json_path_str(pod, "metadata.name"));
    if (restarts)
        buf_fmt(&w->seen, ", %lld restarts", (long long)restarts);
    if (told)
        buf_str(&w->seen, "; its log");
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
    if (strcasestr(reason, "persistentvolumeclaim") && whyclaim_say(f, w)) {
        AUTO_BUF claim = {0};
        buf_str(&claim, buf_cstr(&w->what));
        buf_clear(&w->what);
        add_name(&w->what, pod);
        buf_fmt(&w->what, " waits for its volume: %s", buf_cstr(&claim));
        buf_fmt(&w->seen, "; pod %s: PodScheduled is False", json_path_str(pod, "metadata.name"));
        return;
    }
    add_name(&w->what, pod);
    buf_str(&w->what, " waits for a node: ");
    cause_line(reason, &w->what);
    buf_fmt(&w->seen, "pod %s: PodScheduled is False", json_path_str(pod, "metadata.name"));
    whynode_say_devices(f, w);
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

// Returns when it was, wall ns; 0: not known.
static int64_t see_event(const cJSON *event, const cJSON *pod, int64_t now, buf *seen)
{
    const char *time = json_str(event, "lastTimestamp");
    int64_t at;
    time = time ? time : json_str_or(event, "eventTime", "");
    buf_fmt(seen, "event %s of Pod %s", json_str_or(event, "reason", "?"),
        json_path_str(pod, "metadata.name"));
    if (clock_parse_rfc3339(time, &at, NULL) != 0 || at > now)
        return 0;
    buf_str(seen, ", ");
    duration_age(seen, now - at);
    buf_str(seen, " ago");
    return at;
}

// The kubelet says `Pulling image "NAME"` when it begins.
static void say_pull(const cJSON *pod, const char *message, struct why *w)
{
    const char *from = strchr(message, '"'), *to = from ? strchr(from + 1, '"') : NULL;
    add_name(&w->what, pod);
    if (to)
        buf_add(&w->image, from + 1, (size_t)(to - from - 1));
    if (to)
        buf_fmt(&w->what, " pulls its image %s", buf_cstr(&w->image));
    else
        buf_str(&w->what, " pulls an image");
    w->pulls = true;
    buf_str(&w->next, "wait: a node pulls an image once, and how long that takes its size and the "
                      "network decide; meanwhile no time-out of reaches or hvd.run counts");
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
    int64_t at = see_event(pull ? pull : warning, pod, now, &w->seen);
    w->pull_since = pull ? at : 0;
    return true;
}

// ---- a pod that was ended from outside

#define NODE_WENT                                                                                  \
    "its node went, as spot nodes do: a controller makes the pod again elsewhere; what it had "    \
    "not "                                                                                         \
    "saved is lost, so let it write checkpoints"

static const struct {
    const char *reason, *is, *next;
} put_out[] = {
    {"Evicted", "was evicted",
        "its node ran short of something, and it used more than it had asked for: ask for what it "
        "needs (requests of memory and ephemeral-storage); a controller makes it again"},
    {"PreemptionByScheduler", "was preempted",
        "a pod of higher priority took its place: wait until it is made again, or give it a higher "
        "priorityClassName"},
    {"Preempting", "was preempted",
        "a pod that the node needs took its place: wait until it is made again"},
    {"TerminationByKubelet", "was ended by its node", NODE_WENT},
    {"NodeShutdown", "was ended with its node", NODE_WENT},
    {"Terminated", "was ended with its node", NODE_WENT},
    {"NodeLost", "was lost with its node", NODE_WENT},
    {"DeletionByPodGC", "was lost with its node", NODE_WENT},
    {"DeletionByTaintManager", "was taken from its node, which is not ready or is leaving",
        NODE_WENT},
    {"EvictionByEvictionAPI", "was evicted through the API: its node is being drained", NODE_WENT},
    {"UnexpectedAdmissionError", "was refused by its node",
        "what it asked for is not free there, or "
        "its device does not answer: it has to be made again; look at the node's device plugin"},
    {"DeadlineExceeded", "ran longer than it may",
        "let activeDeadlineSeconds be longer, or the work be shorter"},
};

static const char *outer_reason(const cJSON *pod)
{
    const cJSON *c;
    const char *reason = json_path_str(pod, "status.reason");
    cJSON_ArrayForEach(c, json_path(pod, "status.conditions"))
    {
        if (str_eq(json_str(c, "type"), "DisruptionTarget") &&
            str_eq(json_str(c, "status"), "True") && !reason)
            reason = json_str(c, "reason");
    }
    return reason;
}

static const char *outer_message(const cJSON *pod)
{
    const cJSON *c;
    const char *message = json_path_str(pod, "status.message");
    cJSON_ArrayForEach(c, json_path(pod, "status.conditions"))
    {
        if (str_eq(json_str(c, "type"), "DisruptionTarget") && (!message || !*message))
            message = json_str(c, "message");
    }
    return message ? message : "";
}

static bool say_put_out(const cJSON *pod, struct why *w)
{
    const char *reason = outer_reason(pod), *message = outer_message(pod);
    bool refused = reason && str_starts(reason, "OutOf"); // OutOfcpu, OutOfmemory …
    if (!str_eq(json_path_str(pod, "status.phase"), "Failed"))
        return false;
    for (size_t i = 0; reason && i < ARRAY_LEN(put_out); i++) {
        if (!str_eq(put_out[i].reason, reason) &&
            !(refused && str_eq(put_out[i].reason, "UnexpectedAdmissionError")))
            continue;
        add_name(&w->what, pod);
        buf_fmt(&w->what, " %s%s", put_out[i].is, *message ? ": " : "");
        cause_line(message, &w->what);
        buf_fmt(&w->seen, "pod %s is Failed (%s)", json_path_str(pod, "metadata.name"), reason);
        buf_str(&w->next, put_out[i].next);
        return true;
    }
    return false;
}

// ---- probes

bool whypod_say_unready(const cJSON *pod, const struct why_facts *f, int64_t now, struct why *w)
{
    static const int64_t begins = 30 * CLOCK_SEC;
    const cJSON *event = newest_about(pod, f->events);
    const char *start = json_path_str(pod, "status.startTime");
    int64_t at;
    if (!str_eq(json_path_str(pod, "status.phase"), "Running") || !event ||
        !str_eq(json_str(event, "reason"), "Unhealthy") ||
        object_sick(pod, now, NULL) != SICK_NOT_READY || !start ||
        clock_parse_rfc3339(start, &at, NULL) != 0 || now - at < begins)
        return false;
    add_name(&w->what, pod);
    buf_str(&w->what, " runs and is not ready: ");
    cause_line(json_str_or(event, "message", "its probe fails"), &w->what);
    see_event(event, pod, now, &w->seen);
    buf_fmt(&w->next,
        "does the program listen where the probe asks, and is it up by then? Its "
        "log: k8s.logs(\"pods/%s\")",
        json_path_str(pod, "metadata.name"));
    return true;
}

void whypod_say(const cJSON *pod, const struct why_facts *f, int64_t now, struct why *w)
{
    AUTO_BUF reason = {0};
    enum sickness is = object_sick(pod, now, &reason);
    const cJSON *status = bad_container(pod), *end = last_end(status);
    if (say_put_out(pod, w))
        return;
    if (is == SICK_PENDING) {
        say_unplaced(
            pod, reason.len ? buf_cstr(&reason) : "the scheduler has not said why", f, now, w);
    } else if (status && is == SICK_IMAGE) {
        say_waits(pod, status, w);
    } else if (status && end) {
        say_ended(pod, status, end, f, w);
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
