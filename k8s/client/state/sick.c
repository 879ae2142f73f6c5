// SPDX-License-Identifier: MIT
#include "k8s/client/state/sick.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/state/condition.h"
#include "k8s/client/state/container.h"
#include "k8s/client/state/state.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const int64_t recently = 600 * CLOCK_SEC;

static void say(buf *why, const char *text)
{
    if (why && text)
        buf_add(why, text, strcspn(text, "\r\n"));
}

bool sick_recently(int64_t at, int64_t now)
{
    return now - at < recently;
}

static bool is_false(const cJSON *condition)
{
    return condition && !str_eq(json_str(condition, "status"), "True");
}

void container_end(const cJSON *ended, buf *out)
{
    int64_t signal = json_int_or(ended, "signal", 0);
    const char *reason = json_str_or(ended, "reason", "");
    if (signal)
        buf_fmt(out, "signal %lld", (long long)signal);
    else
        buf_fmt(out, "exit %lld", (long long)json_int_or(ended, "exitCode", 0));
    if (*reason)
        buf_fmt(out, " %s", reason);
}

static void say_end(buf *why, const cJSON *ended)
{
    if (!why)
        return;
    container_end(ended, why);
    if (*json_str_or(ended, "message", "")) {
        buf_str(why, ": ");
        say(why, json_str(ended, "message"));
    }
}

static bool ended_badly(const cJSON *ended)
{
    return ended && json_int_or(ended, "exitCode", 0) != 0;
}

static enum sickness waiting(const cJSON *status, buf *why)
{
    const cJSON *now = json_path(status, "state.waiting");
    const char *reason = json_str_or(now, "reason", "");
    if (str_eq(reason, "CrashLoopBackOff")) {
        say_end(why, json_path(status, "lastState.terminated"));
        return SICK_CRASHING;
    }
    if (!strstr(reason, "BackOff") && !strstr(reason, "Err") && !strstr(reason, "Invalid"))
        return SICK_NOT;
    const char *message = json_str(now, "message");
    say(why, message && *message ? message : reason);
    return SICK_IMAGE;
}

static enum sickness container(const cJSON *status, bool is_over, buf *why)
{
    const cJSON *ended = json_path(status, "state.terminated");
    if (json_path(status, "state.waiting"))
        return waiting(status, why);
    if (!ended_badly(ended))
        return SICK_NOT;
    say_end(why, ended);
    return is_over ? SICK_FAILED : SICK_CRASHING;
}

static bool is_sick(const cJSON *status)
{
    return container(status, false, NULL) != SICK_NOT;
}

// The end before the last start, of the container that has one.
static void say_last_end(const cJSON *pod, buf *why)
{
    const cJSON *s;
    cJSON_ArrayForEach(s, json_path(pod, "status.containerStatuses"))
    {
        const cJSON *ended = json_path(s, "lastState.terminated");
        if (ended) {
            say_end(why, ended);
            return;
        }
    }
}

static enum sickness pod_sick(const cJSON *pod, int64_t now, buf *why)
{
    const char *phase = json_path_str(pod, "status.phase");
    bool failed = str_eq(phase, "Failed"), is_over = failed || str_eq(phase, "Succeeded");
    const cJSON *sick = container_first(pod, is_sick);
    enum sickness is = sick ? container(sick, is_over, why) : SICK_NOT;
    const cJSON *scheduled = condition_find(pod, "PodScheduled");
    struct pod_row row;
    pod_row(pod, &row);
    if (is)
        return is;
    if (failed) {
        const char *message = json_path_str(pod, "status.message");
        say(why, message && *message ? message : json_path_str(pod, "status.reason"));
        return SICK_FAILED;
    }
    if (is_over)
        return SICK_NOT;
    if (is_false(scheduled)) {
        say(why, json_str(scheduled, "message"));
        return SICK_PENDING;
    }
    if (row.last_restart && sick_recently(row.last_restart, now)) {
        say_last_end(pod, why);
        return row.is_ready ? SICK_RESTARTED : SICK_NOT_READY;
    }
    if (!row.is_ready)
        say(why, json_str(condition_find(pod, "Ready"), "message"));
    return row.is_ready ? SICK_NOT : SICK_NOT_READY;
}

static enum sickness node_sick(const cJSON *node, buf *why)
{
    const cJSON *ready = condition_find(node, "Ready");
    if (!ready || is_false(ready)) {
        say(why, ready ? json_str(ready, "message") : "it has not said that it is ready");
        return SICK_CRASHING;
    }
    bool closed = json_bool_or(json_get(node, "spec"), "unschedulable", false);
    say(why, closed ? "takes no more pods" : NULL);
    return closed ? SICK_RESTARTED : SICK_NOT;
}

enum sickness object_sick(const cJSON *object, int64_t now, buf *why)
{
    const char *kind = json_str_or(object, "kind", "");
    if (str_eq(kind, "Pod"))
        return pod_sick(object, now, why);
    if (str_eq(kind, "Node"))
        return node_sick(object, why);
    if (str_eq(kind, "Event"))
        return str_eq(json_str(object, "type"), "Warning") ? SICK_FAILED : SICK_NOT;
    struct state s = state_of(object);
    say(why, s.outcome == OUTCOME_BAD ? s.cause : NULL);
    if (s.outcome == OUTCOME_BAD)
        return SICK_FAILED;
    const cJSON *spec = json_get(object, "spec"), *status = json_get(object, "status");
    int64_t wanted = json_int_or(spec, "replicas", 0);
    return wanted > json_int_or(status, "readyReplicas", 0) && json_get(status, "replicas")
               ? SICK_NOT_READY
               : SICK_NOT;
}

static bool has_word(const char *text, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strstr(text, words[i]))
            return true;
    return false;
}

static bool is_one_of(const char *text, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcasecmp(text, words[i]) == 0)
            return true;
    return false;
}

enum sickness words_sick(const char *kind, const char *ready, const char *status)
{
    static const char *const image[] = {"BackOff", "Err", "Invalid"};
    static const char *const failed[] = {"Failed", "Error", "OOMKilled", "Evicted"};
    static const char *const over[] = {"Completed", "Succeeded", "Complete", "Terminating"};
    const char *slash = strchr(ready, '/');
    bool is_pod = str_eq(kind, "Pod");
    if (strstr(status, "CrashLoopBackOff") || (str_eq(kind, "Node") && strstr(status, "NotReady")))
        return SICK_CRASHING;
    if (is_pod && has_word(status, image, ARRAY_LEN(image)) && !str_eq(status, "Error"))
        return SICK_IMAGE;
    if (is_one_of(status, failed, ARRAY_LEN(failed)) || str_starts(status, "ExitCode:"))
        return SICK_FAILED;
    if (is_pod && str_eq(status, "Pending"))
        return SICK_PENDING;
    bool is_short = slash && strtol(ready, NULL, 10) < strtol(slash + 1, NULL, 10);
    return is_short && !is_one_of(status, over, ARRAY_LEN(over)) ? SICK_NOT_READY : SICK_NOT;
}
