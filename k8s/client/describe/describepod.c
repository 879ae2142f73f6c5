// SPDX-License-Identifier: MIT
// Pods, and the templates of pods.
#include "base/clock.h"
#include "base/data/quantity.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/describe/describeparts.h"
#include "k8s/client/state/container.h"

#include <stdlib.h>
#include <string.h>

static const char *text_of(const cJSON *object, const char *key)
{
    return json_str_or(object, key, "");
}

static bool has_items(const cJSON *list)
{
    return list && list->child;
}

// "80/TCP (web), 443/TCP"; hosts: the ports of the node.
static void ports(buf *out, const cJSON *list, const char *key, const char *heading)
{
    AUTO_BUF text = {0};
    const cJSON *p;
    cJSON_ArrayForEach(p, list)
    {
        const char *name = text_of(p, "name");
        buf_fmt(&text, "%s%lld/%s", text.len ? ", " : "", (long long)json_int_or(p, key, 0),
            text_of(p, "protocol"));
        if (*name)
            buf_fmt(&text, " (%s)", name);
    }
    bool several = strchr(buf_cstr(&text), ',') != NULL;
    buf_fmt(
        out, "    %s%s:\t%s\n", heading, several ? "s" : "", text.len ? buf_cstr(&text) : "<none>");
}

static void lines(buf *out, const char *heading, const cJSON *words)
{
    const cJSON *w;
    if (has_items(words))
        buf_fmt(out, "    %s:\n", heading);
    cJSON_ArrayForEach(w, words)
    {
        for (const char *at = cJSON_IsString(w) ? w->valuestring : ""; at;) {
            size_t n = strcspn(at, "\n");
            buf_fmt(out, "      %.*s\n", (int)n, at);
            at = at[n] ? at + n + 1 : NULL;
        }
    }
}

static void ended(buf *out, const cJSON *t)
{
    buf_str(out, "Terminated\n");
    if (*text_of(t, "reason"))
        buf_fmt(out, "      Reason:\t%s\n", text_of(t, "reason"));
    if (*text_of(t, "message"))
        buf_fmt(out, "      Message:\t%s\n", text_of(t, "message"));
    buf_fmt(out, "      Exit Code:\t%lld\n", (long long)json_int_or(t, "exitCode", 0));
    if (json_int_or(t, "signal", 0) > 0)
        buf_fmt(out, "      Signal:\t%lld\n", (long long)json_int_or(t, "signal", 0));
    describe_time(out, "      Started", json_str(t, "startedAt"));
    describe_time(out, "      Finished", json_str(t, "finishedAt"));
}

static void state(buf *out, const char *heading, const cJSON *s)
{
    const cJSON *waiting = json_get(s, "waiting");
    buf_fmt(out, "    %s:\t", heading);
    if (json_get(s, "running")) {
        buf_str(out, "Running\n");
        describe_time(out, "      Started", json_path_str(s, "running.startedAt"));
    } else if (!waiting && json_get(s, "terminated")) {
        ended(out, json_get(s, "terminated"));
    } else {
        buf_str(out, "Waiting\n");
        if (*text_of(waiting, "reason"))
            buf_fmt(out, "      Reason:\t%s\n", text_of(waiting, "reason"));
    }
}

static void status_of(buf *out, const cJSON *status)
{
    if (!status)
        return;
    state(out, "State", json_get(status, "state"));
    if (json_path(status, "lastState.terminated"))
        state(out, "Last State", json_get(status, "lastState"));
    buf_fmt(out, "    Ready:\t%s\n    Restart Count:\t%lld\n",
        json_bool_or(status, "ready", false) ? "True" : "False",
        (long long)json_int_or(status, "restartCount", 0));
}

// resources: {"limits", "requests"}, each in a line for each name.
static void describe_resources(buf *out, const cJSON *resources, int level)
{
    static const char *const parts[][2] = {{"limits", "Limits"}, {"requests", "Requests"}};
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        AUTO_FREE const cJSON **items = json_sorted(json_get(resources, parts[i][0]));
        if (*items)
            buf_fmt(out, "%*s%s:\n", 2 * level, "", parts[i][1]);
        for (const cJSON **r = items; *r; r++) {
            buf_fmt(out, "%*s%s:\t", 2 * level + 2, "", (*r)->string);
            describe_value(out, *r);
            buf_char(out, '\n');
        }
    }
}

static void http_probe(buf *out, const cJSON *get)
{
    const char *scheme = text_of(get, "scheme"), *path = text_of(get, "path");
    buf_str(out, "http-get ");
    for (const char *c = scheme; *c; c++)
        buf_char(out, (char)(*c >= 'A' && *c <= 'Z' ? *c + 'a' - 'A' : *c));
    buf_fmt(out, "://%s:", text_of(get, "host"));
    describe_value(out, json_get(get, "port"));
    buf_fmt(out, "%s%s ", *path && *path != '/' ? "/" : "", path);
}

static void probe(buf *out, const char *heading, const cJSON *p)
{
    const cJSON *tcp = json_get(p, "tcpSocket"), *grpc = json_get(p, "grpc");
    if (!p)
        return;
    buf_fmt(out, "    %s:\t", heading);
    if (json_get(p, "exec")) {
        buf_str(out, "exec ");
        describe_value(out, json_path(p, "exec.command"));
        buf_char(out, ' ');
    } else if (json_get(p, "httpGet")) {
        http_probe(out, json_get(p, "httpGet"));
    } else if (tcp) {
        buf_fmt(out, "tcp-socket %s:", text_of(tcp, "host"));
        describe_value(out, json_get(tcp, "port"));
        buf_char(out, ' ');
    } else if (grpc) {
        buf_fmt(out, "grpc <pod>:%lld %s ", (long long)json_int_or(grpc, "port", 0),
            text_of(grpc, "service"));
    } else {
        buf_str(out, "unknown ");
    }
    buf_fmt(out, "delay=%llds timeout=%llds period=%llds #success=%lld #failure=%lld\n",
        (long long)json_int_or(p, "initialDelaySeconds", 0),
        (long long)json_int_or(p, "timeoutSeconds", 0),
        (long long)json_int_or(p, "periodSeconds", 0),
        (long long)json_int_or(p, "successThreshold", 0),
        (long long)json_int_or(p, "failureThreshold", 0));
}

static const char *optional(const cJSON *ref)
{
    return json_bool_or(ref, "optional", false) ? "true" : "false";
}

static void environment_from(buf *out, const cJSON *sources)
{
    const cJSON *s;
    if (has_items(sources))
        buf_str(out, "    Environment Variables from:\n");
    cJSON_ArrayForEach(s, sources)
    {
        const cJSON *map = json_get(s, "configMapRef"), *ref = map ? map : json_get(s, "secretRef");
        const char *prefix = text_of(s, "prefix");
        buf_fmt(out, "      %s\t%s", text_of(ref, "name"), map ? "ConfigMap" : ref ? "Secret" : "");
        if (*prefix)
            buf_fmt(out, " with prefix '%s'", prefix);
        buf_fmt(out, "\tOptional: %s\n", optional(ref));
    }
}

// The value of a field that the downward API gives; pod NULL: a template, whose values are not
// known.
static void field_value(buf *out, const cJSON *pod, const char *path)
{
    const char *open = strstr(path, "['"), *end = open ? strstr(open, "']") : NULL;
    const cJSON *labels = json_path(pod, "metadata.labels"),
                *annotations = json_path(pod, "metadata.annotations");
    static const char *const known[] = {"metadata.name", "metadata.namespace", "metadata.uid"};
    if (open && end) {
        AUTO_FREE char *key = mem_strndup(open + 2, (size_t)(end - open - 2));
        buf_str(out, text_of(str_starts(path, "metadata.labels[") ? labels : annotations, key));
    }
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (str_eq(path, known[i]) && json_path_str(pod, path))
            buf_str(out, json_path_str(pod, path));
}

// "limits.cpu" of the container, in units of the divisor, rounded up.
static void resource_value(buf *out, const cJSON *container, const cJSON *ref)
{
    const char *what = text_of(ref, "resource");
    const char *name = strchr(what, '.'), *divisor = json_str_or(ref, "divisor", "0");
    bool limits = str_starts(what, "limits.");
    const cJSON *list = json_path(container, limits ? "resources.limits" : "resources.requests");
    int64_t value = 0, unit = 0;
    if (name && json_str(list, name + 1))
        quantity_parse(json_str(list, name + 1), &value, NULL);
    quantity_parse(divisor, &unit, NULL);
    unit = unit > 0 ? unit : 1000;
    value = value / unit + (value % unit > 0);
    bool whole = !value && (str_eq(what, "limits.cpu") || str_eq(what, "limits.memory"));
    if (whole)
        buf_str(out, "node allocatable");
    else
        buf_fmt(out, "%lld", (long long)value);
}

static void variable_from(buf *out, const cJSON *from, const cJSON *container, const cJSON *pod)
{
    const cJSON *field = json_get(from, "fieldRef"), *resource = json_get(from, "resourceFieldRef");
    const cJSON *secret = json_get(from, "secretKeyRef"), *map = json_get(from, "configMapKeyRef");
    if (field) {
        field_value(out, pod, text_of(field, "fieldPath"));
        buf_fmt(out, " (%s:%s)\n", text_of(field, "apiVersion"), text_of(field, "fieldPath"));
    } else if (resource) {
        resource_value(out, container, resource);
        buf_fmt(out, " (%s)\n", text_of(resource, "resource"));
    } else if (secret) {
        buf_fmt(out, "<set to the key '%s' in secret '%s'>\tOptional: %s\n", text_of(secret, "key"),
            text_of(secret, "name"), optional(secret));
    } else {
        buf_fmt(out, "<set to the key '%s' of config map '%s'>\tOptional: %s\n",
            text_of(map, "key"), text_of(map, "name"), optional(map));
    }
}

static void environment(buf *out, const cJSON *container, const cJSON *pod)
{
    const cJSON *variables = json_get(container, "env"), *v;
    buf_fmt(out, "    Environment:%s\n", has_items(variables) ? "" : "\t<none>");
    cJSON_ArrayForEach(v, variables)
    {
        buf_fmt(out, "      %s:\t", text_of(v, "name"));
        if (json_get(v, "valueFrom")) {
            variable_from(out, json_get(v, "valueFrom"), container, pod);
            continue;
        }
        for (const char *at = text_of(v, "value"); at;) {
            size_t n = strcspn(at, "\n");
            buf_fmt(out, "%.*s\n", (int)n, at);
            at = at[n] ? at + n + 1 : NULL;
            buf_str(out, at ? "      \t" : "");
        }
    }
}

static int by_path(const void *a, const void *b)
{
    const cJSON *x = *(const cJSON *const *)a, *y = *(const cJSON *const *)b;
    return strcmp(text_of(x, "mountPath"), text_of(y, "mountPath"));
}

static void mounts(buf *out, const cJSON *container)
{
    const cJSON *list = json_get(container, "volumeMounts"), *m;
    size_t n = 0;
    AUTO_FREE const cJSON **sorted =
        mem_array((size_t)cJSON_GetArraySize(list) + 1, sizeof *sorted);
    cJSON_ArrayForEach(m, list) sorted[n++] = m;
    qsort(sorted, n, sizeof *sorted, by_path);
    buf_fmt(out, "    Mounts:%s\n", n ? "" : "\t<none>");
    for (size_t i = 0; i < n; i++) {
        const char *sub = text_of(sorted[i], "subPath");
        buf_fmt(out, "      %s from %s (%s", text_of(sorted[i], "mountPath"),
            text_of(sorted[i], "name"), json_bool_or(sorted[i], "readOnly", false) ? "ro" : "rw");
        if (*sub)
            buf_fmt(out, ",path=\"%s\"", sub);
        buf_str(out, ")\n");
    }
    const cJSON *devices = json_get(container, "volumeDevices");
    if (has_items(devices))
        buf_fmt(out, "    Devices:%s\n", n ? "" : "\t<none>");
    cJSON_ArrayForEach(m, devices)
    {
        buf_fmt(out, "      %s from %s\n", text_of(m, "devicePath"), text_of(m, "name"));
    }
}

static void seccomp(buf *out, const char *indent, const cJSON *context)
{
    const cJSON *profile = json_get(context, "seccompProfile");
    if (!profile)
        return;
    buf_fmt(out, "%sSeccompProfile:\t%s\n", indent, text_of(profile, "type"));
    if (str_eq(text_of(profile, "type"), "Localhost"))
        buf_fmt(out, "%s%sLocalhostProfile:\t%s\n", indent, *indent ? "  " : "",
            text_of(profile, "localhostProfile"));
}

static void container(
    buf *out, const cJSON *c, const cJSON *status, const char *space, const cJSON *pod)
{
    buf_fmt(out, "  %s%s:\n", *space ? " " : "", text_of(c, "name"));
    if (status)
        buf_fmt(out, "    Container ID:\t%s\n", text_of(status, "containerID"));
    buf_fmt(out, "    Image:\t%s\n", text_of(c, "image"));
    if (status)
        buf_fmt(out, "    Image ID:\t%s\n", text_of(status, "imageID"));
    ports(out, json_get(c, "ports"), "containerPort", "Port");
    ports(out, json_get(c, "ports"), "hostPort", "Host Port");
    seccomp(out, "    ", json_get(c, "securityContext"));
    lines(out, "Command", json_get(c, "command"));
    lines(out, "Args", json_get(c, "args"));
    status_of(out, status);
    describe_resources(out, json_get(c, "resources"), 2);
    probe(out, "Liveness", json_get(c, "livenessProbe"));
    probe(out, "Readiness", json_get(c, "readinessProbe"));
    probe(out, "Startup", json_get(c, "startupProbe"));
    environment_from(out, json_get(c, "envFrom"));
    environment(out, c, pod);
    mounts(out, c);
}

// pod NULL: those of a template.
static void containers(
    buf *out, const char *heading, const cJSON *list, const char *space, const cJSON *pod)
{
    const cJSON *c;
    buf_fmt(out, "%s%s:%s\n", space, heading, has_items(list) ? "" : " <none>");
    cJSON_ArrayForEach(c, list)
    {
        container(out, c, pod ? container_status(pod, text_of(c, "name")) : NULL, space, pod);
    }
}

static void spread(buf *out, const char *space, const cJSON *constraints)
{
    const cJSON *c;
    cJSON_ArrayForEach(c, constraints)
    {
        if (c == constraints->child)
            buf_fmt(out, "%sTopology Spread Constraints:\t", space);
        else
            buf_fmt(out, "%s\t", space);
        buf_fmt(out, "%s:%s when max skew %lld is exceeded", text_of(c, "topologyKey"),
            text_of(c, "whenUnsatisfiable"), (long long)json_int_or(c, "maxSkew", 0));
        if (json_get(c, "labelSelector"))
            buf_str(out, " for selector ");
        if (json_get(c, "labelSelector"))
            describe_selector(out, json_get(c, "labelSelector"));
        buf_char(out, '\n');
    }
}

void describe_template(buf *out, const cJSON *template)
{
    const cJSON *spec = json_get(template, "spec");
    const cJSON *annotations = json_path(template, "metadata.annotations");
    buf_str(out, "Pod Template:\n");
    describe_labels(out, "  Labels", json_path(template, "metadata.labels"));
    if (has_items(annotations))
        describe_annotations(out, "  Annotations", annotations);
    if (*text_of(spec, "serviceAccountName"))
        buf_fmt(out, "  Service Account:\t%s\n", text_of(spec, "serviceAccountName"));
    if (has_items(json_get(spec, "initContainers")))
        containers(out, "Init Containers", json_get(spec, "initContainers"), "  ", NULL);
    containers(out, "Containers", json_get(spec, "containers"), "  ", NULL);
    describe_volumes(out, json_get(spec, "volumes"), "  ");
    spread(out, "  ", json_get(spec, "topologySpreadConstraints"));
    if (*text_of(spec, "priorityClassName"))
        buf_fmt(out, "  Priority Class Name:\t%s\n", text_of(spec, "priorityClassName"));
    describe_labels(out, "  Node-Selectors", json_get(spec, "nodeSelector"));
    describe_tolerations(out, "  Tolerations", json_get(spec, "tolerations"));
}

static void where(buf *out, const cJSON *spec, const cJSON *status)
{
    const char *node = text_of(spec, "nodeName");
    if (*node)
        buf_fmt(out, "Node:\t%s/%s\n", node, text_of(status, "hostIP"));
    else
        buf_str(out, "Node:\t<none>\n");
    if (json_str(status, "startTime"))
        describe_time(out, "Start Time", json_str(status, "startTime"));
}

static void phase(buf *out, const cJSON *pod, int64_t now)
{
    const cJSON *m = json_get(pod, "metadata"), *status = json_get(pod, "status");
    const char *words = text_of(status, "phase"), *deleted = json_str(m, "deletionTimestamp");
    if (deleted && !str_eq(words, "Failed") && !str_eq(words, "Succeeded")) {
        buf_str(out, "Status:\tTerminating (lasts ");
        describe_age(out, deleted, now);
        buf_fmt(out, ")\nTermination Grace Period:\t%llds\n",
            (long long)json_int_or(m, "deletionGracePeriodSeconds", 0));
    } else {
        buf_fmt(out, "Status:\t%s\n", words);
    }
    if (*text_of(status, "reason"))
        buf_fmt(out, "Reason:\t%s\n", text_of(status, "reason"));
    if (*text_of(status, "message"))
        buf_fmt(out, "Message:\t%s\n", text_of(status, "message"));
}

static void addresses(buf *out, const cJSON *status)
{
    const cJSON *ips = json_get(status, "podIPs"), *ip;
    buf_fmt(out, "IP:\t%s\nIPs:%s\n", text_of(status, "podIP"), has_items(ips) ? "" : "\t<none>");
    cJSON_ArrayForEach(ip, ips)
    {
        buf_fmt(out, "  IP:\t%s\n", text_of(ip, "ip"));
    }
}

static const char *condition_of(const cJSON *status, const char *type)
{
    const cJSON *c;
    cJSON_ArrayForEach(c, json_get(status, "conditions"))
    {
        if (str_eq(json_str(c, "type"), type))
            return text_of(c, "status");
    }
    return "<none>";
}

static void conditions(buf *out, const cJSON *spec, const cJSON *status)
{
    const cJSON *gates = json_get(spec, "readinessGates"), *c;
    if (has_items(gates))
        buf_str(out, "Readiness Gates:\n  Type\tStatus\n");
    cJSON_ArrayForEach(c, gates)
    {
        buf_fmt(out, "  %s \t%s \n", text_of(c, "conditionType"),
            condition_of(status, text_of(c, "conditionType")));
    }
    if (has_items(json_get(status, "conditions")))
        buf_str(out, "Conditions:\n  Type\tStatus\n");
    cJSON_ArrayForEach(c, json_get(status, "conditions"))
    {
        buf_fmt(out, "  %s \t%s \n", text_of(c, "type"), text_of(c, "status"));
    }
}

static void pod_head(buf *out, const cJSON *pod, int64_t now)
{
    const cJSON *spec = json_get(pod, "spec"), *status = json_get(pod, "status");
    describe_name(out, pod);
    if (json_get(spec, "priority"))
        buf_fmt(out, "Priority:\t%lld\n", (long long)json_int_or(spec, "priority", 0));
    if (*text_of(spec, "priorityClassName"))
        buf_fmt(out, "Priority Class Name:\t%s\n", text_of(spec, "priorityClassName"));
    if (*text_of(spec, "runtimeClassName"))
        buf_fmt(out, "Runtime Class Name:\t%s\n", text_of(spec, "runtimeClassName"));
    if (*text_of(spec, "serviceAccountName"))
        buf_fmt(out, "Service Account:\t%s\n", text_of(spec, "serviceAccountName"));
    where(out, spec, status);
    describe_labels(out, "Labels", json_path(pod, "metadata.labels"));
    describe_annotations(out, "Annotations", json_path(pod, "metadata.annotations"));
    phase(out, pod, now);
    seccomp(out, "", json_get(spec, "securityContext"));
    addresses(out, status);
    describe_controller(out, pod);
    if (*text_of(status, "nominatedNodeName"))
        buf_fmt(out, "NominatedNodeName:\t%s\n", text_of(status, "nominatedNodeName"));
    if (json_get(spec, "resources"))
        buf_str(out, "Resources:\n");
    describe_resources(out, json_get(spec, "resources"), 1);
}

void describe_pod(buf *out, const cJSON *pod, const struct describe_more *more, int64_t now)
{
    const cJSON *spec = json_get(pod, "spec"), *status = json_get(pod, "status");
    pod_head(out, pod, now);
    if (has_items(json_get(spec, "initContainers")))
        containers(out, "Init Containers", json_get(spec, "initContainers"), "", pod);
    containers(out, "Containers", json_get(spec, "containers"), "", pod);
    if (has_items(json_get(spec, "ephemeralContainers")))
        containers(out, "Ephemeral Containers", json_get(spec, "ephemeralContainers"), "", pod);
    conditions(out, spec, status);
    describe_volumes(out, json_get(spec, "volumes"), "");
    buf_fmt(out, "QoS Class:\t%s\n", json_str_or(status, "qosClass", "BestEffort"));
    describe_labels(out, "Node-Selectors", json_get(spec, "nodeSelector"));
    describe_tolerations(out, "Tolerations", json_get(spec, "tolerations"));
    spread(out, "", json_get(spec, "topologySpreadConstraints"));
}
