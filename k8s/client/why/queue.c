// SPDX-License-Identifier: MIT
#include "k8s/client/why/queue.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/kinds/known.h"
#include "k8s/client/state/condition.h"
#include "k8s/client/state/state.h"
#include "k8s/client/text/cause.h"

#include <string.h>

#define QUEUE_LABEL "kueue.x-k8s.io/queue-name"

static bool is(const cJSON *condition, const char *status)
{
    return str_eq(json_str(condition, "status"), status);
}

static bool has_reason(const cJSON *condition, const char *reason)
{
    return condition && str_eq(json_str(condition, "reason"), reason);
}

static void see_condition(const cJSON *object, const cJSON *c, int64_t now, buf *seen)
{
    buf_fmt(seen, "%s %s: %s is %s", json_str_or(object, "kind", "?"), known_name(object),
        json_str_or(c, "type", "?"), json_str_or(c, "status", "?"));
    if (*json_str_or(c, "reason", ""))
        buf_fmt(seen, " (%s)", json_str(c, "reason"));
    condition_age(seen, json_str(c, "lastTransitionTime"), now);
}

// ---- Kueue

static const cJSON *queue_of(const struct why_facts *f, const char *kind)
{
    const cJSON *queue;
    cJSON_ArrayForEach(queue, f->queues)
    {
        if (str_eq(json_str(queue, "kind"), kind))
            return queue;
    }
    return NULL;
}

// "Job second"
static void add_who(const struct why_facts *f, buf *what)
{
    buf_fmt(what, "%s %s", json_str_or(f->object, "kind", "?"), known_name(f->object));
}

static void add_queue(const struct why_facts *f, const cJSON *workload, buf *what)
{
    const char *local = json_path_str(workload, "spec.queueName");
    const cJSON *own = queue_of(f, "LocalQueue");
    const char *cluster = json_path_str(own, "spec.clusterQueue");
    buf_fmt(what, "queue %s", local ? local : "?");
    if (cluster && str_eq(known_name(own), local))
        buf_fmt(what, " (ClusterQueue %s)", cluster);
}

// "as number 3 of 7": places are counted from 1, as people do.
static void add_place(const struct why_facts *f, buf *what)
{
    int64_t at = json_int_or(f->place, "positionInLocalQueue", -1);
    int64_t all = json_int_or(f->place, "positionInClusterQueue", -1);
    int64_t of = json_int_or(f->place, "of", 0);
    if (at < 0)
        return;
    buf_fmt(what, ", as number %lld", (long long)at + 1);
    if (of > at)
        buf_fmt(what, " of %lld", (long long)of);
    if (all > at)
        buf_fmt(what, " (number %lld of its ClusterQueue)", (long long)all + 1);
}

static void list_queues(const struct why_facts *f, buf *next)
{
    const cJSON *queue;
    AUTO_BUF names = {0};
    cJSON_ArrayForEach(queue, f->queues)
    {
        if (str_eq(json_str(queue, "kind"), "LocalQueue"))
            buf_fmt(&names, "%s%s", names.len ? ", " : "", known_name(queue));
    }
    if (names.len)
        buf_fmt(next, "name one that is there (label " QUEUE_LABEL "): %s", buf_cstr(&names));
    else
        buf_str(next, "name a queue that is there (label " QUEUE_LABEL "): this namespace has no "
                      "LocalQueue that can be seen; who runs the cluster makes one");
}

// What to do about the words of its quota.
static void next_of_quota(const struct why_facts *f, const char *words, buf *next)
{
    const char *cluster = json_path_str(queue_of(f, "LocalQueue"), "spec.clusterQueue");
    cluster = cluster ? cluster : "its ClusterQueue";
    if (strstr(words, "unavailable in ClusterQueue"))
        buf_fmt(next,
            "%s has no quota for this resource, and never starts it: choose a queue that "
            "has (k8s.list(\"localqueues\")), or ask who runs the cluster",
            cluster);
    else if (strstr(words, "insufficient unused quota"))
        buf_str(next, "wait: it begins when others of its queue end; or ask for less, or for a "
                      "higher priority (label kueue.x-k8s.io/priority-class)");
    else if (strstr(words, "insufficient quota") || strstr(words, "maximum capacity"))
        buf_fmt(next,
            "it asks for more than the queue can ever have: ask for less, or let the "
            "quota of %s grow",
            cluster);
    else if (strstr(words, "node affinity") || strstr(words, "untolerated taint"))
        buf_str(next, "no flavor of its queue fits its node selector, affinity or tolerations: "
                      "compare them with k8s.list(\"resourceflavors\")");
    else
        buf_fmt(next, "k8s.describe(\"clusterqueues/%s\") has its quota and who uses it", cluster);
}

static void say_inadmissible(const struct why_facts *f, const char *words, buf *next)
{
    if (strstr(words, "doesn't exist") && strstr(words, "LocalQueue"))
        list_queues(f, next);
    else if (strstr(words, "is inactive") || strstr(words, "is stopped"))
        buf_str(next, "who runs the cluster has to let the queue go on (its stopPolicy, flavors "
                      "and admission checks); or choose another one");
    else
        next_of_quota(f, words, next);
}

// Kueue's words for it begin alike: Deactivated, DeactivatedDueToRequeuingLimitExceeded.
static bool is_deactivated(const cJSON *evicted)
{
    return str_starts(json_str_or(evicted, "reason", ""), "Deactivated");
}

static bool say_evicted(
    const struct why_facts *f, const cJSON *workload, int64_t now, struct why *w)
{
    const cJSON *c = condition_find(workload, "Evicted");
    const cJSON *quota = condition_find(workload, "QuotaReserved");
    if (!is(c, "True") || is(quota, "True"))
        return false;
    bool off = is_deactivated(c);
    bool preempted = has_reason(c, "Preempted");
    add_who(f, &w->what);
    buf_str(&w->what, off         ? " is held: its Workload was deactivated"
                      : preempted ? " was preempted by a workload that goes before, and waits "
                                    "again in "
                                  : " was put out, and waits again in ");
    if (!off) {
        add_queue(f, workload, &w->what);
        add_place(f, &w->what);
    }
    buf_str(&w->what, ": ");
    cause_line(json_str_or(c, "message", "it does not say why"), &w->what);
    see_condition(workload, c, now, &w->seen);
    if (off)
        buf_fmt(&w->next,
            "find out who or what did that (too many tries, or by hand); then "
            "k8s.patch(\"workloads/"
            "%s\", {spec = {active = true}})",
            known_name(workload));
    else if (preempted)
        buf_str(&w->next, "wait: it is admitted again when there is room; a higher priority "
                          "(label kueue.x-k8s.io/priority-class) keeps it from being preempted");
    else if (has_reason(c, "PodsReadyTimeout"))
        buf_str(&w->next, "its pods were not ready in time: look why they do not start, or let "
                          "Kueue's waitForPodsReady be longer");
    else
        buf_fmt(&w->next, "k8s.describe(\"workloads/%s\") tells more", known_name(workload));
    return true;
}

static bool say_checks(const struct why_facts *f, const cJSON *workload, struct why *w)
{
    const cJSON *check;
    cJSON_ArrayForEach(check, json_path(workload, "status.admissionChecks"))
    {
        const char *state = json_str_or(check, "state", "");
        if (str_eq(state, "Ready"))
            continue;
        add_who(f, &w->what);
        buf_fmt(&w->what, " has its quota, and waits for admission check %s, which is %s",
            json_str_or(check, "name", "?"), state);
        if (*json_str_or(check, "message", "")) {
            buf_str(&w->what, ": ");
            cause_line(json_str(check, "message"), &w->what);
        }
        buf_fmt(&w->seen, "Workload %s: status.admissionChecks", known_name(workload));
        buf_fmt(&w->next, "k8s.describe(\"admissionchecks/%s\") tells who checks",
            json_str_or(check, "name", "NAME"));
        return true;
    }
    return false;
}

// It was let in, and its own controller has not started it.
static bool say_admitted(
    const struct why_facts *f, const cJSON *workload, int64_t now, struct why *w)
{
    static const int64_t soon = 30 * CLOCK_SEC;
    const cJSON *c = condition_find(workload, "Admitted");
    const char *since = json_str_or(c, "lastTransitionTime", "");
    int64_t at;
    if (!is(c, "True") || !known_is_suspended(f->object) ||
        clock_parse_rfc3339(since, &at, NULL) != 0 || now - at < soon)
        return false;
    add_who(f, &w->what);
    buf_str(&w->what, " was admitted by Kueue, and is suspended all the same");
    see_condition(workload, c, now, &w->seen);
    buf_str(&w->next, "look at Kueue's log (Deployment kueue-controller-manager in kueue-system): "
                      "Kueue and the operator of this kind may be of versions that do not fit");
    return true;
}

static bool say_waiting(
    const struct why_facts *f, const cJSON *workload, int64_t now, struct why *w)
{
    const cJSON *c = condition_find(workload, "QuotaReserved");
    const char *words = json_str_or(c, "message", "");
    if (is(c, "True"))
        return false;
    add_who(f, &w->what);
    buf_str(&w->what, " is held in ");
    add_queue(f, workload, &w->what);
    add_place(f, &w->what);
    if (*words) {
        buf_str(&w->what, ": ");
        cause_line(words, &w->what);
    }
    if (!c) {
        buf_fmt(&w->seen, "Workload %s has no condition yet", known_name(workload));
        buf_str(
            &w->next, "wait; when it lasts, look at k8s.list(\"clusterqueues\") and Kueue's log");
        return true;
    }
    see_condition(workload, c, now, &w->seen);
    if (has_reason(c, "Inadmissible"))
        say_inadmissible(f, words, &w->next);
    else
        next_of_quota(f, words, &w->next);
    return true;
}

// A queue that admits nothing: a Workload that waited before does not tell of it.
static bool say_stopped(
    const struct why_facts *f, const cJSON *workload, int64_t now, struct why *w)
{
    const char *name = json_path_str(workload, "spec.queueName");
    const cJSON *own = queue_of(f, "LocalQueue"), *queue;
    if (!own || !str_eq(known_name(own), name) ||
        is(condition_find(workload, "Admitted"), "True") ||
        is_deactivated(condition_find(workload, "Evicted")))
        return false;
    queue = queue_of(f, "ClusterQueue");
    queue = is(condition_find(queue, "Active"), "False") ? queue : own;
    struct why of_queue = {0};
    if (!whyqueue_say_queue(queue, now, &of_queue))
        return false;
    add_who(f, &w->what);
    buf_str(&w->what, " is held in ");
    add_queue(f, workload, &w->what);
    buf_fmt(&w->what, ": %s", buf_cstr(&of_queue.what));
    buf_str(&w->seen, buf_cstr(&of_queue.seen));
    buf_str(&w->next, buf_cstr(&of_queue.next));
    why_done(&of_queue);
    return true;
}

static bool say_workload(
    const struct why_facts *f, const cJSON *workload, int64_t now, struct why *w)
{
    if (is(condition_find(workload, "Finished"), "True"))
        return false;
    if (say_stopped(f, workload, now, w))
        return true;
    return say_evicted(f, workload, now, w) || say_waiting(f, workload, now, w) ||
           say_checks(f, workload, w) || say_admitted(f, workload, now, w);
}

// A queue is named, and Kueue has made no Workload.
static bool say_unqueued(const struct why_facts *f, int64_t now, struct why *w)
{
    static const int64_t soon = 10 * CLOCK_SEC;
    const char *queue = json_str(json_path(f->object, "metadata.labels"), QUEUE_LABEL);
    const char *created = json_path_str(f->object, "metadata.creationTimestamp");
    int64_t at;
    if (!queue || !f->holders || f->holders->child || !known_is_suspended(f->object) || !created ||
        clock_parse_rfc3339(created, &at, NULL) != 0 || now - at < soon)
        return false;
    add_who(f, &w->what);
    buf_fmt(
        &w->what, " is suspended and names queue %s, and Kueue has made no Workload for it", queue);
    buf_str(&w->seen, "its label " QUEUE_LABEL "; no Workload has its uid");
    buf_str(&w->next, "Kueue has to run, and its integrations.frameworks have to name this kind");
    return true;
}

// ---- Volcano

static bool say_group(const struct why_facts *f, const cJSON *group, int64_t now, struct why *w)
{
    const cJSON *c = condition_find(group, "Unschedulable");
    const char *phase = json_path_str(group, "status.phase");
    const char *queue = json_path_str(group, "spec.queue");
    if (!str_eq(phase, "Pending") && !str_eq(phase, "Inqueue"))
        return false;
    if (!is(c, "True") && !str_eq(phase, "Pending"))
        return false;
    add_who(f, &w->what);
    buf_fmt(&w->what, " waits in queue %s for all of its pods at once", queue ? queue : "default");
    if (is(c, "True")) {
        buf_str(&w->what, ": ");
        cause_line(json_str_or(c, "message", ""), &w->what);
        see_condition(group, c, now, &w->seen);
    } else {
        buf_fmt(&w->seen, "PodGroup %s: its phase is Pending", known_name(group));
    }
    buf_fmt(&w->next,
        "wait, ask for less or for fewer (minAvailable); "
        "k8s.describe(\"queues.scheduling.volcano.sh/"
        "%s\") has its capability and what is used",
        queue ? queue : "default");
    return true;
}

// ---- all

bool whyqueue_say(const struct why_facts *f, int64_t now, struct why *w)
{
    const cJSON *holder;
    cJSON_ArrayForEach(holder, f->holders)
    {
        bool volcano = known_is(holder, "scheduling.volcano.sh", "PodGroup");
        if (volcano ? say_group(f, holder, now, w) : say_workload(f, holder, now, w))
            return true;
    }
    return say_unqueued(f, now, w);
}

bool whyqueue_say_queue(const cJSON *queue, int64_t now, struct why *w)
{
    const cJSON *c = condition_find(queue, "Active");
    if (!is(c, "False"))
        return false;
    buf_fmt(&w->what, "%s %s admits nothing: ", json_str_or(queue, "kind", "?"), known_name(queue));
    cause_line(json_str_or(c, "message", "it is not active"), &w->what);
    see_condition(queue, c, now, &w->seen);
    if (has_reason(c, "Stopped"))
        buf_str(&w->next, "its stopPolicy has to be None: who runs the cluster stopped it");
    else
        buf_fmt(&w->next,
            "k8s.describe(\"%ss/%s\"): its flavors, checks and ClusterQueue have to be there",
            str_eq(json_str(queue, "kind"), "LocalQueue") ? "localqueue" : "clusterqueue",
            known_name(queue));
    return true;
}

bool whyqueue_say_suspended(const struct why_facts *f, int64_t now, struct why *w)
{
    const struct known *row = known_of(f->object);
    const cJSON *c = condition_find(f->object, "Suspended");
    if (!known_is_suspended(f->object) || row->endless)
        return false;
    add_who(f, &w->what);
    buf_str(&w->what, " is suspended: it starts no pods");
    buf_fmt(&w->seen, "its %s is true", row->suspend);
    if (is(c, "True"))
        condition_age(&w->seen, json_str(c, "lastTransitionTime"), now);
    buf_fmt(&w->next,
        "whoever suspended it has to set %s to false; a queue (Kueue) does so by itself when the "
        "label " QUEUE_LABEL " names one",
        row->suspend);
    return true;
}
