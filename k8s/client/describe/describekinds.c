// SPDX-License-Identifier: MIT
// What runs pods (Jobs, CronJobs, Deployments, …), ConfigMaps and Secrets.
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/describe/describeparts.h"

#include <string.h>

static void selector(buf *out, const cJSON *object)
{
    buf_str(out, "Selector:\t");
    describe_selector(out, json_path(object, "spec.selector"));
    buf_char(out, '\n');
}

static void created(buf *out, const cJSON *object)
{
    describe_time(out, "CreationTimestamp", json_path_str(object, "metadata.creationTimestamp"));
}

// How long the job took, when it is complete.
static void job_times(buf *out, const cJSON *job)
{
    const char *start = json_path_str(job, "status.startTime"),
               *end = json_path_str(job, "status.completionTime");
    int64_t from, to;
    if (start)
        describe_time(out, "Start Time", start);
    if (end)
        describe_time(out, "Completed At", end);
    if (!start || !end || clock_parse_rfc3339(start, &from, NULL) != 0 ||
        clock_parse_rfc3339(end, &to, NULL) != 0)
        return;
    buf_str(out, "Duration:\t");
    duration_age(out, to > from ? to - from : 0);
    buf_char(out, '\n');
}

// A long list of indexes ends behind the first comma after 50 letters.
static void indexes(buf *out, const char *list)
{
    size_t n = strlen(list);
    const char *comma = n > 50 ? strchr(list + 50, ',') : NULL;
    buf_str(out, "Completed Indexes:\t");
    if (comma)
        buf_fmt(out, "%.*s...\n", (int)(comma - list + 1), list);
    else
        buf_fmt(out, "%s\n", n ? list : "<none>");
}

static void job_status(buf *out, const cJSON *job)
{
    buf_fmt(out, "Pods Statuses:\t%lld Active", describe_number(job, "status.active"));
    if (json_path(job, "status.ready"))
        buf_fmt(out, " (%lld Ready)", describe_number(job, "status.ready"));
    buf_fmt(out, " / %lld Succeeded / %lld Failed\n", describe_number(job, "status.succeeded"),
        describe_number(job, "status.failed"));
    if (str_eq(json_path_str(job, "spec.completionMode"), "Indexed")) {
        const char *list = json_path_str(job, "status.completedIndexes");
        indexes(out, list ? list : "");
    }
}

void describe_job(buf *out, const cJSON *job, const struct describe_more *more, int64_t now)
{
    describe_name(out, job);
    selector(out, job);
    describe_meta(out, job);
    describe_controller(out, job);
    describe_member(out, "Parallelism", job, "spec.parallelism", NULL);
    describe_member(out, "Completions", job, "spec.completions", "<unset>");
    describe_member(out, "Completion Mode", job, "spec.completionMode", NULL);
    describe_member(out, "Suspend", job, "spec.suspend", NULL);
    describe_member(out, "Backoff Limit", job, "spec.backoffLimit", NULL);
    describe_member(out, "TTL Seconds After Finished", job, "spec.ttlSecondsAfterFinished", NULL);
    job_times(out, job);
    if (json_path(job, "spec.activeDeadlineSeconds"))
        buf_fmt(out, "Active Deadline Seconds:\t%llds\n",
            describe_number(job, "spec.activeDeadlineSeconds"));
    job_status(out, job);
    describe_template(out, json_path(job, "spec.template"));
}

// "90s", "3": of a number that may be missing.
static void number_or_unset(
    buf *out, const char *heading, const cJSON *object, const char *path, const char *unit)
{
    if (json_path(object, path))
        buf_fmt(out, "%s:\t%lld%s\n", heading, describe_number(object, path), unit);
    else
        buf_fmt(out, "%s:\t<unset>\n", heading);
}

static void job_template(buf *out, const cJSON *template)
{
    if (json_path(template, "spec.selector"))
        selector(out, template);
    else
        buf_str(out, "Selector:\t<unset>\n");
    number_or_unset(out, "Parallelism", template, "spec.parallelism", "");
    number_or_unset(out, "Completions", template, "spec.completions", "");
    if (json_path(template, "spec.activeDeadlineSeconds"))
        number_or_unset(
            out, "Active Deadline Seconds", template, "spec.activeDeadlineSeconds", "s");
    describe_template(out, json_path(template, "spec.template"));
}

static void active_jobs(buf *out, const cJSON *active)
{
    const cJSON *job;
    buf_fmt(out, "Active Jobs:\t%s", active && active->child ? "" : "<none>");
    cJSON_ArrayForEach(job, active)
    {
        buf_fmt(out, "%s%s", job == active->child ? "" : ", ", json_str_or(job, "name", ""));
    }
    buf_char(out, '\n');
}

void describe_cronjob(buf *out, const cJSON *cron, const struct describe_more *more, int64_t now)
{
    const cJSON *suspend = json_path(cron, "spec.suspend");
    const char *last = json_path_str(cron, "status.lastScheduleTime");
    describe_name(out, cron);
    describe_meta(out, cron);
    describe_member(out, "Schedule", cron, "spec.schedule", "");
    describe_member(out, "Concurrency Policy", cron, "spec.concurrencyPolicy", "");
    buf_fmt(out, "Suspend:\t%s\n", !suspend ? "<unset>" : cJSON_IsTrue(suspend) ? "True" : "False");
    number_or_unset(
        out, "Successful Job History Limit", cron, "spec.successfulJobsHistoryLimit", "");
    number_or_unset(out, "Failed Job History Limit", cron, "spec.failedJobsHistoryLimit", "");
    number_or_unset(out, "Starting Deadline Seconds", cron, "spec.startingDeadlineSeconds", "s");
    job_template(out, json_path(cron, "spec.jobTemplate"));
    if (last)
        describe_time(out, "Last Schedule Time", last);
    else
        buf_str(out, "Last Schedule Time:\t<unset>\n");
    active_jobs(out, json_path(cron, "status.active"));
}

// The rollout's ReplicaSets: the one with the present template is the new one. The controller's
// hash is in the labels of its template alone.
static bool has_template(const cJSON *set, const cJSON *deployment)
{
    AUTO_JSON *a = cJSON_Duplicate(json_path(set, "spec.template"), true);
    AUTO_JSON *b = cJSON_Duplicate(json_path(deployment, "spec.template"), true);
    cJSON_DeleteItemFromObjectCaseSensitive(
        (cJSON *)json_path(a, "metadata.labels"), "pod-template-hash");
    cJSON_DeleteItemFromObjectCaseSensitive(
        (cJSON *)json_path(b, "metadata.labels"), "pod-template-hash");
    return json_equal(a, b);
}

static bool is_controlled_by(const cJSON *object, const char *uid)
{
    const cJSON *owner;
    cJSON_ArrayForEach(owner, json_path(object, "metadata.ownerReferences"))
    {
        if (json_bool_or(owner, "controller", false) && str_eq(json_str(owner, "uid"), uid))
            return true;
    }
    return false;
}

// Those of the deployment that are its new ReplicaSet, or those that are not.
static void sets(buf *out, const char *heading, const cJSON *deployment, const cJSON *all,
    const cJSON *wanted, bool is_wanted)
{
    const cJSON *set;
    buf_fmt(out, "%s:\t", heading);
    size_t empty = out->len;
    cJSON_ArrayForEach(set, all)
    {
        if ((set == wanted) != is_wanted ||
            !is_controlled_by(set, json_path_str(deployment, "metadata.uid")))
            continue;
        buf_fmt(out, "%s%s (%lld/%lld replicas created)", out->len > empty ? ", " : "",
            describe_name_of(set), describe_number(set, "status.replicas"),
            describe_number(set, "spec.replicas"));
    }
    buf_str(out, out->len > empty ? "\n" : "<none>\n");
}

// The Deployment's current ReplicaSet: the oldest one that has the Deployment's pod template. NULL:
// none.
static const cJSON *new_set(const cJSON *deployment, const cJSON *all)
{
    const cJSON *set, *found = NULL;
    cJSON_ArrayForEach(set, all)
    {
        const char *time = json_path_str(set, "metadata.creationTimestamp"),
                   *oldest = json_path_str(found, "metadata.creationTimestamp");
        if (is_controlled_by(set, json_path_str(deployment, "metadata.uid")) &&
            has_template(set, deployment) &&
            (!found || strcmp(time ? time : "", oldest ? oldest : "") < 0))
            found = set;
    }
    return found;
}

static void rollout_conditions(buf *out, const cJSON *object)
{
    const cJSON *conditions = json_path(object, "status.conditions"), *c;
    if (conditions && conditions->child)
        buf_str(out, "Conditions:\n  Type\tStatus\tReason\n  ----\t------\t------\n");
    cJSON_ArrayForEach(c, conditions)
    {
        buf_fmt(out, "  %s \t%s\t%s\n", json_str_or(c, "type", ""), json_str_or(c, "status", ""),
            json_str_or(c, "reason", ""));
    }
}

static void strategy(buf *out, const cJSON *deployment)
{
    const cJSON *rolling = json_path(deployment, "spec.strategy.rollingUpdate");
    const char *type = json_path_str(deployment, "spec.strategy.type");
    buf_fmt(out, "StrategyType:\t%s\nMinReadySeconds:\t%lld\n", type ? type : "",
        describe_number(deployment, "spec.minReadySeconds"));
    if (!rolling)
        return;
    buf_str(out, "RollingUpdateStrategy:\t");
    describe_value(out, json_get(rolling, "maxUnavailable"));
    buf_str(out, " max unavailable, ");
    describe_value(out, json_get(rolling, "maxSurge"));
    buf_str(out, " max surge\n");
}

void describe_deployment(buf *out, const cJSON *d, const struct describe_more *more, int64_t now)
{
    describe_name(out, d);
    created(out, d);
    describe_meta(out, d);
    selector(out, d);
    buf_fmt(out,
        "Replicas:\t%lld desired | %lld updated | %lld total | %lld available | %lld unavailable\n",
        describe_number(d, "spec.replicas"), describe_number(d, "status.updatedReplicas"),
        describe_number(d, "status.replicas"), describe_number(d, "status.availableReplicas"),
        describe_number(d, "status.unavailableReplicas"));
    strategy(out, d);
    describe_template(out, json_path(d, "spec.template"));
    rollout_conditions(out, d);
    const cJSON *wanted = new_set(d, more->related);
    if (!more->related || !more->related->child)
        return;
    sets(out, "OldReplicaSets", d, more->related, wanted, false);
    sets(out, "NewReplicaSet", d, more->related, wanted, true);
}

static void pods_status(buf *out, const cJSON *owner, const cJSON *pods)
{
    static const char *const phases[] = {"Running", "Pending", "Succeeded", "Failed"};
    int n[ARRAY_LEN(phases)] = {0};
    const cJSON *pod;
    cJSON_ArrayForEach(pod, pods)
    {
        const char *phase = json_path_str(pod, "status.phase");
        if (!is_controlled_by(pod, json_path_str(owner, "metadata.uid")))
            continue;
        for (size_t i = 0; i < ARRAY_LEN(phases); i++)
            n[i] += str_eq(phase, phases[i]);
    }
    buf_fmt(out, "Pods Status:\t%d Running / %d Waiting / %d Succeeded / %d Failed\n", n[0], n[1],
        n[2], n[3]);
}

void describe_replicaset(buf *out, const cJSON *set, const struct describe_more *more, int64_t now)
{
    describe_name(out, set);
    selector(out, set);
    describe_meta(out, set);
    describe_controller(out, set);
    buf_fmt(out, "Replicas:\t%lld current / %lld desired\n",
        describe_number(set, "status.replicas"), describe_number(set, "spec.replicas"));
    pods_status(out, set, more->related);
    describe_template(out, json_path(set, "spec.template"));
    rollout_conditions(out, set);
}

static void claim_templates(buf *out, const cJSON *claims)
{
    const cJSON *c;
    buf_fmt(out, "Volume Claims:%s\n", claims && claims->child ? "" : "\t<none>");
    cJSON_ArrayForEach(c, claims)
    {
        const char *class = json_path_str(c, "spec.storageClassName");
        buf_fmt(out, "  Name:\t%s\n  StorageClass:\t%s\n", describe_name_of(c), class ? class : "");
        describe_labels(out, "  Labels", json_path(c, "metadata.labels"));
        describe_labels(out, "  Annotations", json_path(c, "metadata.annotations"));
        buf_fmt(out, "  Capacity:\t%s\n  Access Modes:\t",
            json_str_or(json_path(c, "spec.resources.requests"), "storage", "<default>"));
        describe_value(out, json_path(c, "spec.accessModes"));
        buf_char(out, '\n');
    }
}

void describe_statefulset(buf *out, const cJSON *set, const struct describe_more *more, int64_t now)
{
    describe_name(out, set);
    created(out, set);
    selector(out, set);
    describe_meta(out, set);
    buf_fmt(out, "Replicas:\t%lld desired | %lld total\n", describe_number(set, "spec.replicas"),
        describe_number(set, "status.replicas"));
    describe_member(out, "Update Strategy", set, "spec.updateStrategy.type", "");
    describe_member(out, "  Partition", set, "spec.updateStrategy.rollingUpdate.partition", NULL);
    describe_member(
        out, "  MaxUnavailable", set, "spec.updateStrategy.rollingUpdate.maxUnavailable", NULL);
    pods_status(out, set, more->related);
    describe_template(out, json_path(set, "spec.template"));
    claim_templates(out, json_path(set, "spec.volumeClaimTemplates"));
}

void describe_daemonset(buf *out, const cJSON *set, const struct describe_more *more, int64_t now)
{
    static const char *const counts[][2] = {
        {"Desired Number of Nodes Scheduled", "status.desiredNumberScheduled"},
        {"Current Number of Nodes Scheduled", "status.currentNumberScheduled"},
        {"Number of Nodes Scheduled with Up-to-date Pods", "status.updatedNumberScheduled"},
        {"Number of Nodes Scheduled with Available Pods", "status.numberAvailable"},
        {"Number of Nodes Misscheduled", "status.numberMisscheduled"}};
    describe_name(out, set);
    selector(out, set);
    describe_labels_in_line(
        out, "Node-Selector", json_path(set, "spec.template.spec.nodeSelector"));
    describe_meta(out, set);
    for (size_t i = 0; i < ARRAY_LEN(counts); i++)
        buf_fmt(out, "%s: %lld\n", counts[i][0], describe_number(set, counts[i][1]));
    pods_status(out, set, more->related);
    describe_template(out, json_path(set, "spec.template"));
}

void describe_configmap(buf *out, const cJSON *map, const struct describe_more *more, int64_t now)
{
    AUTO_FREE const cJSON **data = json_sorted(json_get(map, "data"));
    AUTO_FREE const cJSON **bytes = json_sorted(json_get(map, "binaryData"));
    describe_name(out, map);
    describe_meta(out, map);
    buf_str(out, "\nData\n====\n");
    for (const cJSON **d = data; *d; d++)
        buf_fmt(
            out, "%s:\n----\n%s\n\n", (*d)->string, cJSON_IsString(*d) ? (*d)->valuestring : "");
    buf_str(out, "\nBinaryData\n====\n");
    for (const cJSON **b = bytes; *b; b++) {
        AUTO_BUF value = {0};
        if (cJSON_IsString(*b))
            base64_decode(&value, (*b)->valuestring, strlen((*b)->valuestring), NULL);
        buf_fmt(out, "%s: %zu bytes\n", (*b)->string, value.len);
    }
    buf_char(out, '\n');
}

void describe_secret(buf *out, const cJSON *secret, const struct describe_more *more, int64_t now)
{
    AUTO_FREE const cJSON **data = json_sorted(json_get(secret, "data"));
    describe_name(out, secret);
    describe_meta(out, secret);
    buf_fmt(out, "\nType:\t%s\n\nData\n====\n", json_str_or(secret, "type", ""));
    for (const cJSON **d = data; *d; d++) {
        AUTO_BUF value = {0};
        if (cJSON_IsString(*d))
            base64_decode(&value, (*d)->valuestring, strlen((*d)->valuestring), NULL);
        buf_fmt(out, "%s:\t%zu bytes\n", (*d)->string, value.len);
    }
}
