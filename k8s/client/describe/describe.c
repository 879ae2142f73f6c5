// SPDX-License-Identifier: MIT
#include "k8s/client/describe/describe.h"

#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/describe/describeparts.h"
#include "k8s/client/describe/describestate.h"
#include "k8s/client/text/tabs.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { DEPTH = 100 };

// kubectl's headings for keys: "creationTimestamp" → "Creation Timestamp", "apiURL" → "API URL".
static void add_heading(buf *out, const char *key)
{
    static const char *const whole[] = {"API", "URL", "UID", "OSB", "GUID"};
    bool plain = true;
    for (const char *c = key; *c; c++)
        plain = plain && (isalpha((unsigned char)*c) || *c == '-');
    if (!plain) { // a label or annotation, not a field's name
        buf_str(out, key);
        return;
    }
    for (size_t n; *key; key += n) {
        bool upper = isupper((unsigned char)*key), is_whole = false;
        for (n = 1; key[n] && *key != '-' && key[n] != '-';) {
            if (upper && n == 1 ? false : !!isupper((unsigned char)key[n]) != upper)
                break;
            if (upper && n == 1)
                upper = isupper((unsigned char)key[1]);
            n++;
        }
        // of several capitals before a small letter the last begins the next word
        n -= upper && n > 1 && islower((unsigned char)key[n]);
        for (size_t i = 0; i < ARRAY_LEN(whole); i++)
            is_whole = is_whole || (strlen(whole[i]) == n && strncasecmp(whole[i], key, n) == 0);
        for (size_t i = 0; i < n; i++)
            buf_char(out, i == 0 || is_whole ? (char)toupper((unsigned char)key[i]) : key[i]);
        buf_str(out, key[n] ? " " : "");
    }
}

static void fields(buf *out, const cJSON *object, int level, const char *const *skip);

static bool is_skipped(const char *key, const char *const *skip)
{
    while (skip && *skip && !str_eq(*skip, key))
        skip++;
    return skip && *skip;
}

static void items(buf *out, const cJSON *list, int level)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        if (cJSON_IsObject(item)) {
            fields(out, item, level, NULL);
            continue;
        }
        buf_fmt(out, "%*s", 2 * level, "");
        describe_value(out, item);
        buf_char(out, '\n');
    }
}

static void field(buf *out, const cJSON *j, int level, const char *const *skip)
{
    buf_fmt(out, "%*s", 2 * level, "");
    add_heading(out, j->string);
    buf_char(out, ':');
    if (cJSON_IsObject(j) || cJSON_IsArray(j)) {
        buf_char(out, '\n');
        if (cJSON_IsObject(j))
            fields(out, j, level + 1, skip);
        else
            items(out, j, level + 1);
        return;
    }
    buf_char(out, '\t');
    describe_value(out, j);
    buf_char(out, '\n');
}

static void fields(buf *out, const cJSON *object, int level, const char *const *skip)
{
    static const char *const of_metadata[] = {
        "managedFields", "name", "namespace", "labels", "annotations", NULL};
    AUTO_FREE const cJSON **members = json_sorted(level < DEPTH ? object : NULL);
    for (const cJSON **m = members; *m; m++)
        if (!is_skipped((*m)->string, skip))
            field(out, *m, level,
                level == 0 && str_eq((*m)->string, "metadata") ? of_metadata : NULL);
}

void describe_any(buf *out, const cJSON *object, const struct describe_more *more, int64_t now)
{
    const cJSON *m = json_get(object, "metadata");
    buf_fmt(out, "Name:\t%s\nNamespace:\t%s\n", json_str_or(m, "name", ""),
        json_str_or(m, "namespace", ""));
    describe_labels(out, "Labels", json_get(m, "labels"));
    describe_annotations(out, "Annotations", json_get(m, "annotations"));
    fields(out, object, 0, NULL);
}

enum relation {
    NOTHING,
    REPLICASETS,
    PODS,
    PODS_HERE,
    PODS_OF_NODE,
    SLICES,
    BACKENDS,
    SECRETS,
    QUOTAS,
};

static const struct described {
    const char *api_version, *kind;
    describe_fn *fn;
    enum relation relation;
    bool no_events;
} kinds[] = {
    {"v1", "Pod", describe_pod, NOTHING, false},
    {"batch/v1", "Job", describe_job, NOTHING, false},
    {"apps/v1", "Deployment", describe_deployment, REPLICASETS, false},
    {"apps/v1", "ReplicaSet", describe_replicaset, PODS, false},
    {"apps/v1", "StatefulSet", describe_statefulset, PODS, false},
    {"apps/v1", "DaemonSet", describe_daemonset, PODS, false},
    {"v1", "Service", describe_service, SLICES, false},
    {"v1", "ConfigMap", describe_configmap, NOTHING, false},
    {NULL, "Secret", describe_secret, NOTHING, true}, // of any group: none shows its values
    {"v1", "PersistentVolumeClaim", describe_claim, PODS_HERE, false},
    {"v1", "Node", describe_node, PODS_OF_NODE, false},
    {"batch/v1", "CronJob", describe_cronjob, NOTHING, false},
    {"v1", "Namespace", describe_namespace, QUOTAS, true},
    {"v1", "ServiceAccount", describe_serviceaccount, SECRETS, false},
    {"networking.k8s.io/v1", "Ingress", describe_ingress, BACKENDS, false},
    {"autoscaling/v2", "HorizontalPodAutoscaler", describe_autoscaler, NOTHING, false},
    {"v1", "PersistentVolume", describe_volume, NOTHING, false},
};

static const struct described *described(const cJSON *object)
{
    static const struct described any = {NULL, NULL, describe_any, NOTHING, false};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (str_eq(kinds[i].kind, json_str(object, "kind")) &&
            (!kinds[i].api_version || str_eq(kinds[i].api_version, json_str(object, "apiVersion"))))
            return &kinds[i];
    return &any;
}

static char *selector_of(const cJSON *object)
{
    AUTO_BUF text = {0};
    describe_selector(&text, json_path(object, "spec.selector"));
    return buf_take(&text);
}

struct describe_relation describe_relations(const cJSON *object)
{
    const char *name = json_path_str(object, "metadata.name");
    switch (name ? described(object)->relation : NOTHING) {
    case REPLICASETS:
        return (struct describe_relation){
            .api_version = "apps/v1", .kind = "ReplicaSet", .labels = selector_of(object)};
    case PODS:
        return (struct describe_relation){
            .api_version = "v1", .kind = "Pod", .labels = selector_of(object)};
    case PODS_HERE:
        return (struct describe_relation){.api_version = "v1", .kind = "Pod"};
    case PODS_OF_NODE:
        return (struct describe_relation){.api_version = "v1",
            .kind = "Pod",
            .fields =
                str_fmt("spec.nodeName=%s,status.phase!=Succeeded,status.phase!=Failed", name),
            .everywhere = true};
    case SLICES:
        return (struct describe_relation){.api_version = "discovery.k8s.io/v1",
            .kind = "EndpointSlice",
            .labels = str_fmt("kubernetes.io/service-name=%s", name)};
    case BACKENDS:
        return (struct describe_relation){.api_version = "discovery.k8s.io/v1",
            .kind = "EndpointSlice",
            .also_version = "v1",
            .also_kind = "Service"};
    case SECRETS:
        return (struct describe_relation){.api_version = "v1", .kind = "Secret"};
    case QUOTAS:
        return (struct describe_relation){.api_version = "v1",
            .kind = "ResourceQuota",
            .also_version = "v1",
            .also_kind = "LimitRange",
            .ns = name};
    default:
        return (struct describe_relation){0};
    }
}

void describe_relation_done(struct describe_relation *r)
{
    free(r->labels);
    free(r->fields);
}

// What happens to the object stands before what it is.
void describe(buf *out, const cJSON *object, const struct describe_more *more, int64_t now)
{
    static const struct describe_more nothing = {0};
    const struct described *kind = described(object);
    AUTO_BUF text = {0};
    more = more ? more : &nothing;
    size_t before = out->len;
    describe_state(out, object, more->events, now);
    if (out->len > before)
        buf_char(out, '\n');
    kind->fn(&text, object, more, now);
    if (more->events && !kind->no_events)
        describe_events(&text, more->events, now);
    tabs_align(out, buf_cstr(&text));
}
