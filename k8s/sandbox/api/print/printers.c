// SPDX-License-Identifier: MIT
// Columns, cells and words are those of k8s.io/kubernetes/pkg/printers/internalversion/printers.go,
// and the additionalPrinterColumns of the operators' CRDs.
#include "k8s/sandbox/api/print/printers.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/sandbox/api/print/table.h"
#include "k8s/sandbox/store/object.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static void text(cJSON *row, const char *s)
{
    cJSON_AddItemToArray(row, cJSON_CreateString(s ? s : ""));
}

static void text_or_none(cJSON *row, const char *s)
{
    text(row, s && *s ? s : "<none>");
}

static void number(cJSON *row, int64_t n)
{
    cJSON_AddItemToArray(row, json_new_int(n));
}

static void name(cJSON *row, const cJSON *o)
{
    text(row, object_name(o));
}

static void since(cJSON *row, const char *time, int64_t now)
{
    AUTO_BUF b = {0};
    table_duration(&b, time, now);
    text(row, buf_cstr(&b));
}

static void age(cJSON *row, const cJSON *o, int64_t now)
{
    since(row, json_path_str(o, "metadata.creationTimestamp"), now);
}

// "a=b,c=d", sorted by key as Go prints a label set.
static void labels_cell(cJSON *row, const cJSON *map)
{
    AUTO_BUF json = {0};
    AUTO_BUF b = {0};
    AUTO_JSON *sorted = NULL;
    if (map) {
        json_print_canonical(&json, map);
        sorted = json_parse(buf_cstr(&json), json.len, NULL);
    }
    const cJSON *v;
    cJSON_ArrayForEach(v, sorted) buf_fmt(
        &b, "%s%s=%s", b.len ? "," : "", v->string, cJSON_IsString(v) ? v->valuestring : "");
    text_or_none(row, buf_cstr(&b));
}

static const char *state_text(const cJSON *terminated, char *out, size_t n)
{
    int64_t signal = json_int_or(terminated, "signal", 0);
    if (signal)
        snprintf(out, n, "Signal:%lld", (long long)signal);
    else
        snprintf(out, n, "ExitCode:%lld", (long long)json_int_or(terminated, "exitCode", 0));
    return out;
}

static const char *filled(const cJSON *o, const char *key)
{
    const char *s = json_str(o, key);
    return s && *s ? s : NULL;
}

struct pod_view {
    char reason[128];
    int64_t ready, total, restarts;
    int64_t last_restart;
};

static void set_reason(struct pod_view *v, const char *fmt, const char *word)
{
    snprintf(v->reason, sizeof v->reason, fmt, word);
}

static bool is_sidecar(const cJSON *pod, const char *container)
{
    const cJSON *c;
    cJSON_ArrayForEach(c,
        json_path(pod,
            "spec.initContainers")) if (str_eq(json_str(c, "name"),
                                            container)) return str_eq(json_str(c, "restartPolicy"),
        "Always");
    return false;
}

static void count_restarts(struct pod_view *v, const cJSON *status)
{
    v->restarts += json_int_or(status, "restartCount", 0);
    int64_t at = object_time(json_path(status, "lastState.terminated"), "finishedAt");
    if (at > v->last_restart)
        v->last_restart = at;
}

// Returns whether an init container still keeps the pod from starting.
static bool view_init(struct pod_view *v, const cJSON *pod)
{
    char word[64];
    int i = 0, n = cJSON_GetArraySize(json_path(pod, "spec.initContainers"));
    const cJSON *c;
    cJSON_ArrayForEach(c, json_path(pod, "status.initContainerStatuses"))
    {
        const cJSON *terminated = json_path(c, "state.terminated");
        const char *waiting = filled(json_path(c, "state.waiting"), "reason");
        bool sidecar = is_sidecar(pod, json_str(c, "name"));
        if (sidecar)
            count_restarts(v, c);
        if (terminated && json_int_or(terminated, "exitCode", 0) == 0) {
            i++;
            continue;
        }
        if (sidecar && json_bool_or(c, "started", false)) {
            v->ready += json_bool_or(c, "ready", false);
            i++;
            continue;
        }
        if (terminated)
            set_reason(v, "Init:%s",
                filled(terminated, "reason") ?: state_text(terminated, word, sizeof word));
        else if (waiting && !str_eq(waiting, "PodInitializing"))
            set_reason(v, "Init:%s", waiting);
        else
            snprintf(v->reason, sizeof v->reason, "Init:%d/%d", i, n);
        return true;
    }
    return false;
}

static void view_containers(struct pod_view *v, const cJSON *pod)
{
    char word[64];
    bool running = false;
    const cJSON *statuses = json_path(pod, "status.containerStatuses");
    for (int i = cJSON_GetArraySize(statuses) - 1; i >= 0; i--) {
        const cJSON *c = cJSON_GetArrayItem(statuses, i);
        const cJSON *terminated = json_path(c, "state.terminated");
        const char *waiting = filled(json_path(c, "state.waiting"), "reason");
        count_restarts(v, c);
        if (waiting)
            set_reason(v, "%s", waiting);
        else if (terminated)
            set_reason(
                v, "%s", filled(terminated, "reason") ?: state_text(terminated, word, sizeof word));
        else if (json_bool_or(c, "ready", false) && json_path(c, "state.running")) {
            running = true;
            v->ready++;
        }
    }
    if (str_eq(v->reason, "Completed") && running) {
        bool ready = str_eq(json_str(object_condition(pod, "Ready"), "status"), "True");
        set_reason(v, "%s", ready ? "Running" : "NotReady");
    }
}

// The algorithm of printPod.
static struct pod_view view_pod(const cJSON *pod)
{
    struct pod_view v = {.total = cJSON_GetArraySize(json_path(pod, "spec.containers"))};
    const cJSON *status = json_get(pod, "status"), *c;
    const char *phase = json_str_or(status, "phase", "");
    cJSON_ArrayForEach(c, json_path(pod, "spec.initContainers")) v.total +=
        str_eq(json_str(c, "restartPolicy"), "Always");
    set_reason(&v, "%s", filled(status, "reason") ?: phase);
    if (str_eq(json_str(object_condition(pod, "PodScheduled"), "reason"), "SchedulingGated"))
        set_reason(&v, "%s", "SchedulingGated");
    bool initializing = view_init(&v, pod);
    if (!initializing || str_eq(json_str(object_condition(pod, "Initialized"), "status"), "True"))
        view_containers(&v, pod);
    if (object_is_deleting(pod) && str_eq(json_str(status, "reason"), "NodeLost"))
        set_reason(&v, "%s", "Unknown");
    else if (object_is_deleting(pod) && !str_eq(phase, "Succeeded") && !str_eq(phase, "Failed"))
        set_reason(&v, "%s", "Terminating");
    return v;
}

static void pod_cells(cJSON *row, const cJSON *o, int64_t now)
{
    struct pod_view v = view_pod(o);
    AUTO_FREE char *ready = str_fmt("%lld/%lld", (long long)v.ready, (long long)v.total);
    AUTO_BUF restarts = {0};
    buf_fmt(&restarts, "%lld", (long long)v.restarts);
    if (v.restarts && v.last_restart) {
        buf_str(&restarts, " (");
        duration_age(&restarts, now > v.last_restart ? now - v.last_restart : 0);
        buf_str(&restarts, " ago)");
    }
    name(row, o);
    text(row, ready);
    text(row, v.reason);
    text(row, buf_cstr(&restarts));
    age(row, o, now);
    text_or_none(row, json_path_str(o, "status.podIP"));
    text_or_none(row, json_path_str(o, "spec.nodeName"));
    text_or_none(row, json_path_str(o, "status.nominatedNodeName"));
    text(row, "<none>");
}

static bool has_condition(const cJSON *o, const char *type)
{
    return str_eq(json_str(object_condition(o, type), "status"), "True");
}

static const char *job_status(const cJSON *o)
{
    static const struct {
        const char *condition, *word;
    } conditions[] = {{"Complete", "Complete"}, {"Failed", "Failed"}, {NULL, "Terminating"},
        {"Suspended", "Suspended"}, {"FailureTarget", "FailureTarget"},
        {"SuccessCriteriaMet", "SuccessCriteriaMet"}};
    for (size_t i = 0; i < ARRAY_LEN(conditions); i++)
        if (conditions[i].condition ? has_condition(o, conditions[i].condition)
                                    : object_is_deleting(o))
            return conditions[i].word;
    return "Running";
}

static void job_completions(cJSON *row, const cJSON *o)
{
    const cJSON *spec = json_get(o, "spec");
    long long done = json_int_or(json_get(o, "status"), "succeeded", 0);
    long long wanted = json_int_or(spec, "completions", -1);
    long long parallelism = json_int_or(spec, "parallelism", 0);
    AUTO_BUF b = {0};
    if (wanted >= 0)
        buf_fmt(&b, "%lld/%lld", done, wanted);
    else if (parallelism > 1)
        buf_fmt(&b, "%lld/1 of %lld", done, parallelism);
    else
        buf_fmt(&b, "%lld/1", done);
    text(row, buf_cstr(&b));
}

static void job_duration(cJSON *row, const cJSON *o, int64_t now)
{
    const cJSON *status = json_get(o, "status");
    int64_t start = object_time(status, "startTime"), end = object_time(status, "completionTime");
    AUTO_BUF b = {0};
    if (start)
        duration_age(&b, (end ? end : now) - start);
    text(row, buf_cstr(&b));
}

static void joined(cJSON *row, const cJSON *list, const char *key)
{
    AUTO_BUF b = {0};
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
        buf_fmt(&b, "%s%s", b.len ? "," : "", json_str_or(item, key, ""));
    text(row, buf_cstr(&b));
}

static void job_cells(cJSON *row, const cJSON *o, int64_t now)
{
    const cJSON *containers = json_path(o, "spec.template.spec.containers");
    name(row, o);
    text(row, job_status(o));
    job_completions(row, o);
    job_duration(row, o, now);
    age(row, o, now);
    joined(row, containers, "name");
    joined(row, containers, "image");
    labels_cell(row, json_path(o, "spec.selector.matchLabels"));
}

static const char *first_of(const char *a, const char *b)
{
    return a && *a ? a : b;
}

static void event_cells(cJSON *row, const cJSON *o, int64_t now)
{
    const cJSON *about = json_get(o, "involvedObject"), *source = json_get(o, "source");
    const cJSON *series = json_get(o, "series");
    const char *first = first_of(json_str(o, "firstTimestamp"), json_str(o, "eventTime"));
    const char *last = first_of(json_str(o, "lastTimestamp"), first);
    int64_t count = json_int_or(o, "count", 1);
    if (series) {
        last = first_of(json_str(series, "lastObservedTime"), last);
        count = json_int_or(series, "count", 1);
    }
    AUTO_BUF target = {0};
    for (const char *p = json_str_or(about, "kind", ""); *p; p++)
        buf_char(&target, (char)tolower((unsigned char)*p));
    if (filled(about, "name"))
        buf_fmt(&target, "/%s", json_str(about, "name"));
    const char *component =
        first_of(json_str(source, "component"), json_str_or(o, "reportingComponent", ""));
    const char *host = first_of(json_str(source, "host"), json_str_or(o, "reportingInstance", ""));
    AUTO_FREE char *origin = *host ? str_fmt("%s, %s", component, host) : mem_strdup(component);
    const char *message = json_str_or(o, "message", "");
    AUTO_FREE char *trimmed = str_trim(message, strlen(message));
    since(row, last, now);
    text(row, json_str(o, "type"));
    text(row, json_str(o, "reason"));
    text(row, buf_cstr(&target));
    text(row, json_str(about, "fieldPath"));
    text(row, origin);
    text(row, trimmed);
    since(row, first, now);
    number(row, count ? count : 1);
    name(row, o);
}

static void configmap_cells(cJSON *row, const cJSON *o, int64_t now)
{
    name(row, o);
    number(row,
        cJSON_GetArraySize(json_get(o, "data")) + cJSON_GetArraySize(json_get(o, "binaryData")));
    age(row, o, now);
}

static void secret_cells(cJSON *row, const cJSON *o, int64_t now)
{
    name(row, o);
    text(row, json_str(o, "type"));
    number(row, cJSON_GetArraySize(json_get(o, "data")));
    age(row, o, now);
}

static void service_cells(cJSON *row, const cJSON *o, int64_t now)
{
    const cJSON *spec = json_get(o, "spec"), *p;
    AUTO_BUF ports = {0};
    cJSON_ArrayForEach(p, json_get(spec, "ports"))
    {
        buf_fmt(&ports, "%s%lld", ports.len ? "," : "", (long long)json_int_or(p, "port", 0));
        if (json_int_or(p, "nodePort", 0))
            buf_fmt(&ports, ":%lld", (long long)json_int_or(p, "nodePort", 0));
        buf_fmt(&ports, "/%s", json_str_or(p, "protocol", "TCP"));
    }
    name(row, o);
    text(row, json_str(spec, "type"));
    text_or_none(row, json_str(spec, "clusterIP"));
    text(row, str_eq(json_str(spec, "type"), "LoadBalancer") ? "<pending>" : "<none>");
    text_or_none(row, buf_cstr(&ports));
    age(row, o, now);
    labels_cell(row, json_get(spec, "selector"));
}

static void serviceaccount_cells(cJSON *row, const cJSON *o, int64_t now)
{
    name(row, o);
    number(row, cJSON_GetArraySize(json_get(o, "secrets")));
    age(row, o, now);
}

static void node_roles(cJSON *row, const cJSON *o)
{
    static const char prefix[] = "node-role.kubernetes.io/";
    AUTO_BUF b = {0};
    const cJSON *label;
    cJSON_ArrayForEach(
        label, json_path(o, "metadata.labels")) if (str_starts(label->string, prefix))
        buf_fmt(&b, "%s%s", b.len ? "," : "", label->string + sizeof prefix - 1);
    text_or_none(row, buf_cstr(&b));
}

static void node_cells(cJSON *row, const cJSON *o, int64_t now)
{
    const cJSON *info = json_path(o, "status.nodeInfo"), *a;
    const char *internal = NULL, *external = NULL;
    cJSON_ArrayForEach(a, json_path(o, "status.addresses"))
    {
        if (str_eq(json_str(a, "type"), "InternalIP"))
            internal = json_str(a, "address");
        if (str_eq(json_str(a, "type"), "ExternalIP"))
            external = json_str(a, "address");
    }
    bool cordoned = json_bool_or(json_get(o, "spec"), "unschedulable", false);
    AUTO_FREE char *status = str_fmt("%s%s", has_condition(o, "Ready") ? "Ready" : "NotReady",
        cordoned ? ",SchedulingDisabled" : "");
    name(row, o);
    text(row, status);
    node_roles(row, o);
    age(row, o, now);
    text(row, json_str(info, "kubeletVersion"));
    text_or_none(row, internal);
    text_or_none(row, external);
    text(row, json_str(info, "osImage"));
    text(row, json_str(info, "kernelVersion"));
    text(row, json_str(info, "containerRuntimeVersion"));
}

static void rolebinding_cells(cJSON *row, const cJSON *o, int64_t now)
{
    const cJSON *ref = json_get(o, "roleRef"), *s;
    AUTO_FREE char *role =
        str_fmt("%s/%s", json_str_or(ref, "kind", ""), json_str_or(ref, "name", ""));
    static const char *const words[] = {"User", "Group", "ServiceAccount"};
    name(row, o);
    text(row, role);
    age(row, o, now);
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        AUTO_BUF b = {0};
        cJSON_ArrayForEach(s, json_get(o, "subjects")) if (str_eq(json_str(s, "kind"), words[i]))
            buf_fmt(&b, "%s%s%s%s", b.len ? ", " : "",
                i == 2 ? json_str_or(s, "namespace", "") : "", i == 2 ? "/" : "",
                json_str_or(s, "name", ""));
        text(row, buf_cstr(&b));
    }
}

#define NAME                                                                                       \
    {                                                                                              \
        "Name", "string", "name", 0, ".metadata.name"                                              \
    }
#define AGE                                                                                        \
    {                                                                                              \
        "Age", "string", NULL, 0, NULL                                                             \
    }
#define S(n)                                                                                       \
    {                                                                                              \
        n, "string", NULL, 0, NULL                                                                 \
    }
#define W(n)                                                                                       \
    {                                                                                              \
        n, "string", NULL, 1, NULL                                                                 \
    }
#define P(n, type, path)                                                                           \
    {                                                                                              \
        n, type, NULL, 0, path                                                                     \
    }
#define BORN ".metadata.creationTimestamp"

static const struct column pod_columns[] = {NAME, S("Ready"), S("Status"), S("Restarts"), AGE,
    W("IP"), W("Node"), W("Nominated Node"), W("Readiness Gates")};
static const struct column job_columns[] = {NAME, S("Status"), S("Completions"), S("Duration"), AGE,
    W("Containers"), W("Images"), W("Selector")};
static const struct column event_columns[] = {S("Last Seen"), S("Type"), S("Reason"), S("Object"),
    W("Subobject"), W("Source"), S("Message"), W("First Seen"), W("Count"),
    {"Name", "string", "name", 1, NULL}};
static const struct column configmap_columns[] = {NAME, S("Data"), AGE};
static const struct column secret_columns[] = {NAME, S("Type"), S("Data"), AGE};
static const struct column service_columns[] = {
    NAME, S("Type"), S("Cluster-IP"), S("External-IP"), S("Port(s)"), AGE, W("Selector")};
static const struct column serviceaccount_columns[] = {NAME, S("Secrets"), AGE};
static const struct column namespace_columns[] = {
    NAME, P("Status", "string", ".status.phase"), P("Age", "date", BORN)};
static const struct column node_columns[] = {NAME, S("Status"), S("Roles"), AGE, S("Version"),
    W("Internal-IP"), W("External-IP"), W("OS-Image"), W("Kernel-Version"), W("Container-Runtime")};
static const struct column lease_columns[] = {
    NAME, P("Holder", "string", ".spec.holderIdentity"), P("Age", "date", BORN)};
static const struct column role_columns[] = {NAME, P("Created At", "string", BORN)};
static const struct column rolebinding_columns[] = {
    NAME, S("Role"), AGE, W("Users"), W("Groups"), W("ServiceAccounts")};
static const struct column sparkapplication_columns[] = {NAME,
    P("Suspend", "boolean", ".spec.suspend"),
    P("Status", "string", ".status.applicationState.state"),
    P("Attempts", "string", ".status.executionAttempts"),
    P("Start", "string", ".status.lastSubmissionAttemptTime"),
    P("Finish", "string", ".status.terminationTime"), P("Age", "date", BORN)};
static const struct column scheduled_columns[] = {NAME, P("Schedule", "string", ".spec.schedule"),
    P("TimeZone", "string", ".spec.timeZone"), P("Suspend", "boolean", ".spec.suspend"),
    P("Last Run", "date", ".status.lastRun"), P("Last Run Name", "string", ".status.lastRunName"),
    P("Age", "date", BORN)};

#define PRINTER(id, which, fn)                                                                     \
    {                                                                                              \
        KIND_##id, which##_columns, ARRAY_LEN(which##_columns), fn                                 \
    }
static const struct printer printers[] = {
    PRINTER(CONFIGMAPS, configmap, configmap_cells),
    PRINTER(CRDS, role, NULL),
    PRINTER(EVENTS, event, event_cells),
    PRINTER(JOBS, job, job_cells),
    PRINTER(LEASES, lease, NULL),
    PRINTER(NAMESPACES, namespace, NULL),
    PRINTER(NEWEVENTS, event, event_cells),
    PRINTER(NODES, node, node_cells),
    PRINTER(PODS, pod, pod_cells),
    PRINTER(ROLEBINDINGS, rolebinding, rolebinding_cells),
    PRINTER(ROLES, role, NULL),
    PRINTER(SCHEDULEDSPARKAPPLICATIONS, scheduled, NULL),
    PRINTER(SECRETS, secret, secret_cells),
    PRINTER(SERVICEACCOUNTS, serviceaccount, serviceaccount_cells),
    PRINTER(SERVICES, service, service_cells),
    PRINTER(SPARKAPPLICATIONS, sparkapplication, NULL),
};

const struct printer *printer_of(const struct kind *k)
{
    for (size_t i = 0; i < ARRAY_LEN(printers); i++)
        if (k == &kind_builtin[printers[i].kind])
            return &printers[i];
    return NULL;
}
