// SPDX-License-Identifier: MIT
#include "k8s/sandbox/nodes/jobplan.h"

#include "base/clock.h"
#include "base/str.h"
#include "k8s/sandbox/store/object.h"

#define BACKOFF_FIRST (10 * CLOCK_SEC)
#define BACKOFF_MAX   (600 * CLOCK_SEC)

// The time at which the last of the pod's containers ended.
static int64_t pod_finished(const cJSON *pod)
{
    int64_t last = 0;
    const cJSON *status;
    cJSON_ArrayForEach(status, json_path(pod, "status.containerStatuses"))
    {
        int64_t at = object_time(json_path(status, "state.terminated"), "finishedAt");
        last = at > last ? at : last;
    }
    return last;
}

void job_count(struct job_counts *c, const cJSON *pod)
{
    const char *phase = json_path_str(pod, "status.phase");
    const cJSON *status;
    if (str_eq(phase, "Succeeded")) {
        c->succeeded++;
    } else if (str_eq(phase, "Failed")) {
        int64_t at = pod_finished(pod);
        c->failed++;
        c->last_failure = at > c->last_failure ? at : c->last_failure;
    } else if (object_is_deleting(pod)) {
        c->terminating++;
    } else {
        const cJSON *ready = object_condition(pod, "Ready");
        c->active++;
        c->ready += str_eq(json_str(ready, "status"), "True");
        cJSON_ArrayForEach(status, json_path(pod, "status.containerStatuses")) c->restarts +=
            json_int_or(status, "restartCount", 0);
    }
}

static struct job_plan fail(const char *reason, const char *message)
{
    return (struct job_plan){.finish = "Failed", .reason = reason, .message = message};
}

// The earliest time to replace failed pods.
static int64_t backoff_end(const struct job_counts *c)
{
    int64_t delay = BACKOFF_FIRST;
    for (int64_t i = 1; i < c->failed && delay < BACKOFF_MAX; i++)
        delay *= 2;
    return c->last_failure + (delay > BACKOFF_MAX ? BACKOFF_MAX : delay);
}

static void earliest(int64_t *at, int64_t candidate)
{
    if (!*at || candidate < *at)
        *at = candidate;
}

struct job_plan job_decide(const cJSON *job, const struct job_counts *c, int64_t now)
{
    const cJSON *spec = json_get(job, "spec"), *completions = json_get(spec, "completions");
    int64_t parallelism = json_int_or(spec, "parallelism", 1), want = 0;
    int64_t limit = json_int_or(spec, "backoffLimit", 6);
    int64_t deadline = json_int_or(spec, "activeDeadlineSeconds", 0);
    int64_t started = object_time(json_get(job, "status"), "startTime");
    bool on_failure = str_eq(json_path_str(job, "spec.template.spec.restartPolicy"), "OnFailure");
    if (c->failed > limit || (on_failure && c->restarts > 0 && c->restarts >= limit))
        return fail("BackoffLimitExceeded", "Job has reached the specified backoff limit");
    if (deadline && started && now >= clock_add(started, clock_of_seconds((double)deadline)))
        return fail("DeadlineExceeded", "Job was active longer than specified deadline");
    if (completions ? c->succeeded >= json_int_or(spec, "completions", 1)
                    : c->succeeded && !c->active)
        return (struct job_plan){.finish = "Complete",
            .reason = "CompletionsReached",
            .message = "Reached expected number of succeeded pods"};

    struct job_plan plan = {.suspend = json_bool_or(spec, "suspend", false)};
    if (plan.suspend) {
        plan.remove = c->active;
        return plan;
    }
    if (!completions) // a work queue: after the first success no pod is added
        want = c->succeeded ? c->active : parallelism;
    else if ((want = json_int_or(spec, "completions", 1) - c->succeeded) > parallelism)
        want = parallelism;
    if (deadline && started)
        earliest(&plan.look_at, clock_add(started, clock_of_seconds((double)deadline)));
    if (c->active > want) {
        plan.remove = c->active - want;
    } else if (c->active + c->terminating < want) {
        if (c->failed && backoff_end(c) > now)
            earliest(&plan.look_at, backoff_end(c));
        else
            plan.create = want - c->active - c->terminating;
    }
    return plan;
}
