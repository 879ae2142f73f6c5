// SPDX-License-Identifier: MIT
#include "k8s/sandbox/nodes/job.h"

#include "base/clock.h"
#include "base/data/digest.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/sandbox/nodes/controller.h"
#include "k8s/sandbox/nodes/jobindex.h"
#include "k8s/sandbox/nodes/jobplan.h"
#include "k8s/sandbox/store/event.h"

#include <string.h>

struct jobs {
    store *store;
    controller *controller;
};

#define EVENT(j, job, type, ...)                                                                   \
    event_record((j)->store, (struct event_source){"job-controller", NULL}, KIND(JOBS), job, NULL, \
        type, __VA_ARGS__)

// "pi-x7k2p": without vowels, so that it spells no words (k8s.io/apimachinery/pkg/util/rand).
static char *pod_name(const char *job)
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    unsigned char raw[5];
    char suffix[6] = "";
    random_bytes(raw, sizeof raw);
    for (size_t i = 0; i < sizeof raw; i++)
        suffix[i] = letters[raw[i] % (sizeof letters - 1)];
    return str_fmt("%.57s-%s", job, suffix);
}

static cJSON *new_pod(const cJSON *job)
{
    const cJSON *template = json_path(job, "spec.template");
    AUTO_FREE char *name = pod_name(object_name(job));
    cJSON *pod = cJSON_CreateObject();
    json_set_str(pod, "apiVersion", "v1");
    json_set_str(pod, "kind", "Pod");
    const cJSON *metadata = json_get(template, "metadata");
    json_set(pod, "metadata",
        cJSON_IsObject(metadata) ? cJSON_Duplicate(metadata, true) : cJSON_CreateObject());
    cJSON *own = json_object_at(pod, "metadata");
    AUTO_FREE char *prefix = str_fmt("%s-", object_name(job));
    json_set_str(own, "name", name);
    json_set_str(own, "generateName", prefix);
    json_set_str(own, "namespace", object_namespace(job));
    object_set_label(pod, "batch.kubernetes.io/controller-uid", object_uid(job));
    object_set_label(pod, "batch.kubernetes.io/job-name", object_name(job));
    object_set_label(pod, "controller-uid", object_uid(job));
    object_set_label(pod, "job-name", object_name(job));
    object_set_controller(pod, job);
    json_set(pod, "spec", cJSON_Duplicate(json_get(template, "spec"), true));
    return pod;
}

// x: of an Indexed job; else NULL.
static int create_pods(jobs *j, const cJSON *job, struct jobindex *x, int64_t n, err *e)
{
    ERR_GUARD(e);
    for (; n > 0; n--) {
        int64_t index = x ? jobindex_take(x) : 0;
        if (index < 0)
            return 0;
        cJSON *new = new_pod(job);
        if (x)
            jobindex_mark(new, job, index);
        const snapshot *pod = store_create(j->store, KIND(PODS), new, STORE_MAIN, false, e);
        if (!pod) {
            EVENT(j, job, "Warning", "FailedCreate", "Error creating: %s", e->text);
            return -1;
        }
        AUTO_FREE char *name = mem_strdup(pod->name);
        EVENT(j, job, "Normal", "SuccessfulCreate", "Created pod: %s", name);
    }
    return 0;
}

// Deletes up to n active pods; those that do not run yet go first.
static int remove_pods(jobs *j, const cJSON *job, int64_t n, err *e)
{
    ERR_GUARD(e);
    AUTO_LIST owned = store_owned(j->store, KIND(PODS), object_uid(job));
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < owned.n && n > 0; i++) {
            const snapshot *pod = owned.items[i];
            const char *phase = json_path_str(pod->json, "status.phase");
            bool running = str_eq(phase, "Running");
            bool over = str_eq(phase, "Succeeded") || str_eq(phase, "Failed");
            if (over || running != (pass == 1) || object_is_deleting(pod->json))
                continue;
            bool gone;
            struct store_delete how = {.uid = pod->uid, .grace = -1};
            if (!store_delete(j->store, KIND(PODS), pod->ns, pod->name, &how, &gone, e) &&
                e->code != ERR_NOT_FOUND)
                return -1;
            EVENT(j, job, "Normal", "SuccessfulDelete", "Deleted pod: %s", pod->name);
            n--;
        }
    }
    return 0;
}

static bool is_true(const cJSON *job, const char *condition)
{
    return str_eq(json_str(object_condition(job, condition), "status"), "True");
}

static void set_count(cJSON *status, const char *key, int64_t n)
{
    if (n || json_get(status, key))
        json_set_int(status, key, n);
    if (!n && !str_eq(key, "ready") && !str_eq(key, "terminating"))
        cJSON_DeleteItemFromObjectCaseSensitive(status, key);
}

// Sets the counters, and startTime or the condition Suspended.
static void set_status(jobs *j, cJSON *job, const struct job_counts *c, const struct job_plan *plan)
{
    cJSON *status = json_object_at(job, "status");
    int64_t now = store_now(j->store);
    set_count(status, "active", c->active + plan->create - plan->remove);
    set_count(status, "succeeded", c->succeeded);
    set_count(status, "failed", c->failed);
    json_set_int(status, "ready", c->ready);
    json_set_int(status, "terminating", c->terminating + plan->remove);
    json_set(status, "uncountedTerminatedPods", cJSON_CreateObject());
    if (plan->suspend) {
        cJSON_DeleteItemFromObjectCaseSensitive(status, "startTime");
        if (object_set_condition(job, "Suspended", "True", "JobSuspended", "Job suspended", now))
            EVENT(j, job, "Normal", "Suspended", "Job suspended");
    } else {
        if (!json_str(status, "startTime"))
            object_set_time(status, "startTime", now);
        if (is_true(job, "Suspended")) {
            object_set_condition(job, "Suspended", "False", "JobResumed", "Job resumed", now);
            EVENT(j, job, "Normal", "Resumed", "Job resumed");
        }
    }
}

static void finish(jobs *j, cJSON *job, const struct job_plan *plan)
{
    int64_t now = store_now(j->store);
    bool complete = str_eq(plan->finish, "Complete");
    object_set_condition(job, complete ? "SuccessCriteriaMet" : "FailureTarget", "True",
        plan->reason, plan->message, now);
    object_set_condition(job, plan->finish, "True", plan->reason, plan->message, now);
    if (complete) {
        object_set_time(json_object_at(job, "status"), "completionTime", now);
        EVENT(j, job, "Normal", "Completed", "Job completed");
    } else {
        EVENT(j, job, "Warning", plan->reason, "%s", plan->message);
    }
}

// Deletes a finished job when its spec.ttlSecondsAfterFinished is over.
static int expire(jobs *j, const cJSON *job, err *e)
{
    ERR_GUARD(e);
    int64_t ttl, now = store_now(j->store);
    if (!json_int(json_path(job, "spec.ttlSecondsAfterFinished"), &ttl))
        return 0;
    const cJSON *end = object_condition(job, is_true(job, "Complete") ? "Complete" : "Failed");
    int64_t due = clock_add(object_time(end, "lastTransitionTime"), clock_of_seconds((double)ttl));
    if (due > now) {
        controller_add_after(j->controller, object_namespace(job), object_name(job), due - now);
        return 0;
    }
    bool gone;
    struct store_delete how = {.uid = object_uid(job), .grace = -1};
    return store_delete(
               j->store, KIND(JOBS), object_namespace(job), object_name(job), &how, &gone, e) ||
                   e->code == ERR_NOT_FOUND
               ? 0
               : -1;
}

// The counts of its pods, and their indexes.
static void look_at_pods(jobs *j, const cJSON *job, struct job_counts *c, struct jobindex *x)
{
    AUTO_LIST owned = store_owned(j->store, KIND(PODS), object_uid(job));
    for (size_t i = 0; i < owned.n; i++) {
        job_count(c, owned.items[i]->json);
        if (x)
            jobindex_add(x, owned.items[i]->json);
    }
    // Pods that ended and were deleted later still count.
    const cJSON *status = json_get(job, "status");
    int64_t succeeded = json_int_or(status, "succeeded", 0),
            failed = json_int_or(status, "failed", 0);
    c->failed = failed > c->failed ? failed : c->failed;
    if (x) // an index counts once, however many of its pods succeeded
        c->succeeded = jobindex_succeeded(x);
    else if (succeeded > c->succeeded)
        c->succeeded = succeeded;
}

static int carry_out(jobs *j, cJSON *job, struct jobindex *x, err *e)
{
    struct job_counts c = {0};
    look_at_pods(j, job, &c, x);
    int64_t now = store_now(j->store);
    struct job_plan plan = job_decide(job, &c, now);
    if (plan.finish)
        plan.remove = c.active;
    if (create_pods(j, job, x, plan.create, e) || remove_pods(j, job, plan.remove, e))
        return -1;
    set_status(j, job, &c, &plan);
    if (x) {
        AUTO_BUF text = {0};
        jobindex_text(x, &text);
        json_set_str(json_object_at(job, "status"), "completedIndexes", buf_cstr(&text));
    }
    if (plan.finish)
        finish(j, job, &plan);
    if (plan.look_at)
        controller_add_after(j->controller, object_namespace(job), object_name(job),
            plan.look_at > now ? plan.look_at - now : 0);
    cJSON *copy = cJSON_Duplicate(job, true);
    return store_update(j->store, KIND(JOBS), copy, STORE_STATUS, false, e) ? 0 : -1;
}

static int reconcile(void *arg, const char *ns, const char *name, err *e)
{
    jobs *j = arg;
    AUTO_JSON *job = store_copy(j->store, KIND(JOBS), ns, name);
    if (!job || object_is_deleting(job))
        return 0;
    if (is_true(job, "Complete") || is_true(job, "Failed"))
        return expire(j, job, e);
    if (!jobindex_is_indexed(job))
        return carry_out(j, job, NULL, e);
    struct jobindex x;
    jobindex_init(&x, job);
    int status = carry_out(j, job, &x, e);
    jobindex_done(&x);
    return status;
}

static const struct controller_ops job_controller = {.kind = KIND(JOBS), .reconcile = reconcile};

jobs *jobs_open(sandbox *s)
{
    jobs *j = mem_alloc(sizeof *j);
    j->store = sandbox_store(s);
    j->controller = controller_new(sandbox_loop(s), j->store, &job_controller, j);
    return j;
}

void jobs_close(jobs *j)
{
    if (!j)
        return;
    controller_free(j->controller);
    free(j);
}
