// SPDX-License-Identifier: MIT
// HorizontalPodAutoscalers, of autoscaling/v2.
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/describe/describeparts.h"

static const char *text_of(const cJSON *object, const char *path, const char *none)
{
    const char *text = json_path_str(object, path);
    return text ? text : none;
}

// "40% (200m) / 80%" or "200m / 500m". now: the current value; NULL: unknown.
static void resource_values(
    buf *out, const cJSON *target, const cJSON *now, const char *share, const char *whole)
{
    if (json_get(target, "averageValue")) {
        buf_fmt(out, "%s:\t%s / %s\n", whole, text_of(now, "averageValue", "<unknown>"),
            text_of(target, "averageValue", ""));
        return;
    }
    buf_fmt(out, "%s:\t", share);
    if (json_get(now, "averageUtilization"))
        buf_fmt(out, "%lld%% (%s)", describe_number(now, "averageUtilization"),
            text_of(now, "averageValue", "0"));
    else
        buf_str(out, "<unknown>");
    if (json_get(target, "averageUtilization"))
        buf_fmt(out, " / %lld%%\n", describe_number(target, "averageUtilization"));
    else
        buf_str(out, " / <auto>\n");
}

// "(target average value):⇥1 / 2" or "(target value):⇥1 / 2".
static void target_values(buf *out, const cJSON *target, const cJSON *now, bool average)
{
    const char *key = average ? "averageValue" : "value";
    buf_fmt(out, "(target %s):\t%s / %s\n", average ? "average value" : "value",
        text_of(now, key, "<unknown>"), text_of(target, key, ""));
}

static void metric(buf *out, const cJSON *spec, const cJSON *status)
{
    static const char share[] = "  (as a percentage of request)";
    const char *type = json_str_or(spec, "type", "");
    AUTO_FREE char *key = mem_strdup(type);
    if (*key)
        key[0] = (char)(key[0] | 0x20); // "Pods" is told in "pods"
    const cJSON *m = json_get(spec, key), *target = json_get(m, "target"),
                *now = json_get(json_get(status, key), "current");
    const char *name = text_of(m, "metric.name", "");
    if (str_eq(type, "Resource")) {
        buf_fmt(out, "  resource %s on pods", text_of(m, "name", ""));
        resource_values(out, target, now, share, "");
    } else if (str_eq(type, "ContainerResource")) {
        buf_fmt(out, "  resource %s of container \"%s\" on pods", text_of(m, "name", ""),
            text_of(m, "container", ""));
        resource_values(out, target, now, share, "");
    } else if (str_eq(type, "Pods")) {
        buf_fmt(out, "  \"%s\" on pods:\t%s / %s\n", name,
            text_of(now, "averageValue", "<unknown>"), text_of(target, "averageValue", ""));
    } else if (str_eq(type, "Object")) {
        buf_fmt(out, "  \"%s\" on %s/%s ", name, text_of(m, "describedObject.kind", ""),
            text_of(m, "describedObject.name", ""));
        target_values(out, target, now, str_eq(json_str(target, "type"), "AverageValue"));
    } else if (str_eq(type, "External")) {
        buf_fmt(out, "  \"%s\" ", name);
        target_values(out, target, now, json_get(target, "averageValue"));
    } else {
        buf_fmt(out, "  <unknown metric type \"%s\">\n", type);
    }
}

static void direction(buf *out, const char *heading, const cJSON *rules)
{
    const cJSON *policies = json_get(rules, "policies"), *p;
    if (!rules)
        return;
    buf_fmt(out, "  %s:\n", heading);
    if (json_get(rules, "stabilizationWindowSeconds"))
        buf_fmt(out, "    Stabilization Window: %lld seconds\n",
            describe_number(rules, "stabilizationWindowSeconds"));
    if (!policies || !policies->child)
        return;
    buf_fmt(out, "    Select Policy: %s\n    Policies:\n", text_of(rules, "selectPolicy", "Max"));
    cJSON_ArrayForEach(p, policies)
    {
        buf_fmt(out, "      - Type: %s\tValue: %lld\tPeriod: %lld seconds\n",
            text_of(p, "type", ""), describe_number(p, "value"),
            describe_number(p, "periodSeconds"));
    }
}

static void conditions(buf *out, const cJSON *list)
{
    const cJSON *c;
    if (list && list->child)
        buf_str(out, "Conditions:\n  Type\tStatus\tReason\tMessage\n"
                     "  ----\t------\t------\t-------\n");
    cJSON_ArrayForEach(c, list)
    {
        buf_fmt(out, "  %s\t%s\t%s\t%s\n", text_of(c, "type", ""), text_of(c, "status", ""),
            text_of(c, "reason", ""), text_of(c, "message", ""));
    }
}

void describe_autoscaler(
    buf *out, const cJSON *scaler, const struct describe_more *more, int64_t now)
{
    const cJSON *current = json_path(scaler, "status.currentMetrics"),
                *behavior = json_path(scaler, "spec.behavior"), *m;
    const char *kind = text_of(scaler, "spec.scaleTargetRef.kind", "");
    int i = 0;
    describe_name(out, scaler);
    describe_meta(out, scaler);
    describe_time(out, "CreationTimestamp", json_path_str(scaler, "metadata.creationTimestamp"));
    buf_fmt(out, "Reference:\t%s/%s\nMetrics:\t( current / target )\n", kind,
        text_of(scaler, "spec.scaleTargetRef.name", ""));
    cJSON_ArrayForEach(m, json_path(scaler, "spec.metrics"))
    {
        metric(out, m, cJSON_GetArrayItem(current, i++));
    }
    describe_member(out, "Min replicas", scaler, "spec.minReplicas", "<unset>");
    buf_fmt(out, "Max replicas:\t%lld\n", describe_number(scaler, "spec.maxReplicas"));
    if (behavior) {
        buf_str(out, "Behavior:\n");
        direction(out, "Scale Up", json_get(behavior, "scaleUp"));
        direction(out, "Scale Down", json_get(behavior, "scaleDown"));
    }
    buf_fmt(out, "%s pods:\t%lld current / %lld desired\n", kind,
        describe_number(scaler, "status.currentReplicas"),
        describe_number(scaler, "status.desiredReplicas"));
    conditions(out, json_path(scaler, "status.conditions"));
}
