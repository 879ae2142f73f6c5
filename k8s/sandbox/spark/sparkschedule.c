// SPDX-License-Identifier: MIT
#include "k8s/sandbox/spark/sparkschedule.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/sandbox/nodes/controller.h"
#include "k8s/sandbox/spark/cron.h"
#include "k8s/sandbox/spark/sparkstate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LABEL "sparkoperator.k8s.io/scheduled-app-name"

struct sparkschedules {
    store *store;
    controller *controller;
};

// The runs of a schedule, the newest first: borrowed from `list`, in a new array.
static const snapshot **runs_of(const struct store_list *list, const char *name, size_t *n)
{
    const snapshot **runs = mem_alloc((list->n + 1) * sizeof *runs);
    *n = 0;
    for (size_t i = 0; i < list->n; i++)
        if (str_eq(object_label(list->items[i]->json, LABEL), name))
            runs[(*n)++] = list->items[i];
    return runs;
}

// By creation time, which is in whole seconds; then by name, which ends in nanoseconds.
static int newest_first(const void *a, const void *b)
{
    const snapshot *x = *(const snapshot *const *)a, *y = *(const snapshot *const *)b;
    int64_t s = object_time(json_get(x->json, "metadata"), "creationTimestamp"),
            t = object_time(json_get(y->json, "metadata"), "creationTimestamp");
    return s != t ? (s < t ? 1 : -1) : strcmp(y->name, x->name);
}

static int delete_run(sparkschedules *s, const snapshot *run, err *e)
{
    bool gone;
    struct store_delete how = {.uid = run->uid, .grace = 0};
    err why = {0};
    if (store_delete(s->store, KIND(SPARKAPPLICATIONS), run->ns, run->name, &how, &gone, &why) ||
        why.code == ERR_NOT_FOUND)
        return 0;
    return err_give(e, &why);
}

// Keeps the newest `limit` of those that ended in this state, and names them in the status.
static int keep_history(sparkschedules *s, cJSON *status, const char *key, enum spark_state state,
    int64_t limit, const snapshot **runs, size_t n, err *e)
{
    cJSON *names = cJSON_CreateArray();
    json_set(status, key, names);
    for (size_t i = 0; i < n; i++) {
        if (spark_state_of(runs[i]->json) != state)
            continue;
        if (limit-- > 0)
            cJSON_AddItemToArray(names, cJSON_CreateString(runs[i]->name));
        else if (delete_run(s, runs[i], e))
            return -1;
    }
    return 0;
}

// May the next run begin? Without a policy only if no other run is active, as with the operator.
static int may_begin(sparkschedules *s, const cJSON *spec, const snapshot *last, bool *may, err *e)
{
    const char *policy = json_str_or(spec, "concurrencyPolicy", "");
    bool ended = !last || spark_is_terminal(spark_state_of(last->json));
    *may = !last || str_eq(policy, "Allow") || str_eq(policy, "Replace") ||
           (ended && str_eq(policy, "Forbid"));
    return str_eq(policy, "Replace") && !ended ? delete_run(s, last, e) : 0;
}

static cJSON *new_run(const cJSON *schedule, int64_t now)
{
    AUTO_FREE char *name = str_fmt("%s-%" PRId64, object_name(schedule), now);
    cJSON *app = cJSON_CreateObject(), *meta = json_object_at(app, "metadata");
    json_set_str(app, "apiVersion", "sparkoperator.k8s.io/v1beta2");
    json_set_str(app, "kind", "SparkApplication");
    json_set_str(meta, "name", name);
    json_set_str(meta, "namespace", object_namespace(schedule));
    object_set_label(app, LABEL, object_name(schedule));
    const cJSON *label;
    cJSON_ArrayForEach(label, json_path(schedule, "metadata.labels")) if (cJSON_IsString(label))
        object_set_label(app, label->string, label->valuestring);
    cJSON *owner = cJSON_CreateObject(); // no controller flag, as the operator has it
    json_set_str(owner, "apiVersion", "sparkoperator.k8s.io/v1beta2");
    json_set_str(owner, "kind", "ScheduledSparkApplication");
    json_set_str(owner, "name", object_name(schedule));
    json_set_str(owner, "uid", object_uid(schedule));
    json_set_bool(owner, "blockOwnerDeletion", true);
    cJSON_AddItemToArray(json_array_at(meta, "ownerReferences"), owner);
    json_set(app, "spec", cJSON_Duplicate(json_path(schedule, "spec.template"), true));
    return app;
}

static int put_status(sparkschedules *s, cJSON *schedule, err *e)
{
    ERR_GUARD(e);
    if (!store_update(s->store, KIND(SCHEDULEDSPARKAPPLICATIONS), schedule, STORE_STATUS, false, e))
        return e->code == ERR_NOT_FOUND ? 0 : -1;
    return 0;
}

static void look_at(sparkschedules *s, const cJSON *schedule, int64_t due)
{
    int64_t now = store_now(s->store);
    controller_add_after(s->controller, object_namespace(schedule), object_name(schedule),
        due > now ? due - now : CLOCK_MS);
}

// Begins a run, and updates the past runs in the status of `schedule`.
static int begin(sparkschedules *s, cJSON *schedule, const snapshot **runs, size_t n, err *e)
{
    const cJSON *spec = json_get(schedule, "spec");
    cJSON *status = json_object_at(schedule, "status");
    int64_t now = store_now(s->store);
    const snapshot *made = store_create(
        s->store, KIND(SPARKAPPLICATIONS), new_run(schedule, now), STORE_MAIN, false, e);
    if (!made)
        return -1;
    object_set_time(status, "lastRun", now);
    json_set_str(status, "lastRunName", made->name);
    if (keep_history(s, status, "pastSuccessfulRunNames", SPARK_COMPLETED,
            json_int_or(spec, "successfulRunHistoryLimit", 1), runs, n, e))
        return -1;
    return keep_history(s, status, "pastFailedRunNames", SPARK_FAILED,
        json_int_or(spec, "failedRunHistoryLimit", 1), runs, n, e);
}

// next 0: the schedule is never due again, for example on a day that no month has.
static void set_next(cJSON *status, int64_t next)
{
    if (next)
        object_set_time(status, "nextRun", next);
    else
        cJSON_DeleteItemFromObjectCaseSensitive(status, "nextRun");
}

// A run is due. If the run before keeps it from beginning, it is skipped until the schedule's next
// time. Takes `schedule`.
static int fire(sparkschedules *s, const struct cron *cron, cJSON *schedule, err *e)
{
    AUTO_LIST list = store_list(s->store, KIND(SPARKAPPLICATIONS), object_namespace(schedule));
    size_t n;
    AUTO_FREE const snapshot **runs = runs_of(&list, object_name(schedule), &n);
    qsort(runs, n, sizeof *runs, newest_first);
    bool may;
    int64_t next = cron_next(cron, store_now(s->store));
    if (may_begin(s, json_get(schedule, "spec"), n ? runs[0] : NULL, &may, e) ||
        (may && begin(s, schedule, runs, n, e))) {
        cJSON_Delete(schedule);
        return -1;
    }
    if (next)
        look_at(s, schedule, next);
    if (next && !may) {
        cJSON_Delete(schedule);
        return 0;
    }
    set_next(json_object_at(schedule, "status"), next);
    return put_status(s, schedule, e);
}

static int refuse(sparkschedules *s, cJSON *schedule, const char *reason, err *e)
{
    cJSON *status = json_object_at(schedule, "status");
    json_set_str(status, "scheduleState", "FailedValidation");
    json_set_str(status, "reason", reason);
    return put_status(s, schedule, e);
}

static int reconcile(void *arg, const char *ns, const char *name, err *e)
{
    sparkschedules *s = arg;
    cJSON *schedule = store_copy(s->store, KIND(SCHEDULEDSPARKAPPLICATIONS), ns, name);
    const cJSON *spec = schedule ? json_get(schedule, "spec") : NULL;
    if (!schedule || object_is_deleting(schedule) || json_bool_or(spec, "suspend", false)) {
        cJSON_Delete(schedule);
        return 0;
    }
    struct cron cron;
    err why = {0};
    if (cron_parse(
            &cron, json_str_or(spec, "schedule", ""), json_str_or(spec, "timeZone", ""), &why))
        return refuse(s, schedule, why.text, e);
    cJSON *status = json_object_at(schedule, "status");
    const char *state = json_str_or(status, "scheduleState", "");
    int64_t now = store_now(s->store), due = object_time(status, "nextRun");
    if (str_eq(state, "FailedValidation")) { // it stays so, as with the operator
        cJSON_Delete(schedule);
        return 0;
    }
    if (!str_eq(state, "Scheduled") || !due) {
        set_next(status, cron_next(&cron, now));
        json_set_str(status, "scheduleState", "Scheduled");
        return put_status(s, schedule, e); // which calls us again
    }
    if (due <= now)
        return fire(s, &cron, schedule, e);
    look_at(s, schedule, due);
    cJSON_Delete(schedule);
    return 0;
}

static const struct controller_ops schedules = {
    .kind = KIND(SCHEDULEDSPARKAPPLICATIONS), .reconcile = reconcile};

sparkschedules *sparkschedules_open(sandbox *s)
{
    sparkschedules *made = mem_alloc(sizeof *made);
    made->store = sandbox_store(s);
    made->controller = controller_new(sandbox_loop(s), made->store, &schedules, made);
    return made;
}

void sparkschedules_close(sparkschedules *s)
{
    if (!s)
        return;
    controller_free(s->controller);
    free(s);
}
