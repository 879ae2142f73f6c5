// SPDX-License-Identifier: MIT
#include "k8s/client/state/need.h"

#include "base/data/quantity.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/kinds/known.h"

#include <stdlib.h>
#include <string.h>

// A quantity in the words of a manifest: a text or a number. 0 when it cannot be read.
static int64_t milli_of(const cJSON *value)
{
    int64_t milli = 0;
    if (cJSON_IsNumber(value))
        return (int64_t)(value->valuedouble * 1000);
    if (!cJSON_IsString(value) || quantity_parse(value->valuestring, &milli, NULL) != 0)
        return 0;
    return milli;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

// A container without a request of its own requests its limit.
static const cJSON *requested(const cJSON *container, const char *what)
{
    const cJSON *resources = json_get(container, "resources");
    const cJSON *request = json_get(json_get(resources, "requests"), what);
    return request ? request : json_get(json_get(resources, "limits"), what);
}

static void add_devices(const cJSON *container, struct need *n)
{
    const cJSON *limit;
    cJSON_ArrayForEach(limit, json_path(container, "resources.limits"))
    {
        if (strchr(limit->string, '/') && milli_of(limit) > 0) {
            n->device = limit->string;
            n->devices += milli_of(limit) / 1000;
        }
    }
}

// The scheduler's sum: containers run together; init containers one after the other before them.
static void take_spec(const cJSON *spec, struct need *n)
{
    const cJSON *c;
    int64_t cpu = 0, bytes = 0;
    bool cpu_open = false, bytes_open = false;
    cJSON_ArrayForEach(c, json_get(spec, "containers"))
    {
        const cJSON *limits = json_path(c, "resources.limits");
        int64_t limit_cpu = milli_of(json_get(limits, "cpu")),
                limit_bytes = milli_of(json_get(limits, "memory")) / 1000;
        n->limit_cpu += limit_cpu;
        n->limit_bytes += limit_bytes;
        cpu_open |= !limit_cpu;
        bytes_open |= !limit_bytes;
        n->milli_cpu += milli_of(requested(c, "cpu"));
        n->bytes += milli_of(requested(c, "memory")) / 1000;
        add_devices(c, n);
    }
    cJSON_ArrayForEach(c, json_get(spec, "initContainers"))
    {
        cpu = larger(cpu, milli_of(requested(c, "cpu")));
        bytes = larger(bytes, milli_of(requested(c, "memory")) / 1000);
    }
    n->limit_cpu = cpu_open ? 0 : n->limit_cpu;
    n->limit_bytes = bytes_open ? 0 : n->limit_bytes;
    n->milli_cpu = larger(n->milli_cpu, cpu);
    n->bytes = larger(n->bytes, bytes);
    n->account = json_str(spec, "serviceAccountName");
    n->secrets = json_get(spec, "imagePullSecrets");
}

static void add_template(
    const cJSON *template, const char *role, int64_t count, struct need *out, size_t *n)
{
    if (!template || *n == NEEDS_MAX)
        return;
    struct need *need = &out[(*n)++];
    *need = (struct need){.role = role, .count = count, .metadata = json_get(template, "metadata")};
    take_spec(json_get(template, "spec"), need);
}

// ---- Spark: https://spark.apache.org/docs/3.5.7/running-on-kubernetes.html

// What the operator's webhook alone applies: without one it is silently ignored (protocols.md).
static const char *const webhook_fields[] = {"gpu", "env", "envFrom", "volumeMounts", "affinity",
    "tolerations", "securityContext", "podSecurityContext", "sidecars", "initContainers",
    "hostNetwork", "nodeSelector", "configMaps", "priorityClassName", "schedulerName", "lifecycle"};

static const char *webhook_field(const cJSON *part)
{
    for (size_t i = 0; i < ARRAY_LEN(webhook_fields); i++) {
        const cJSON *field = json_get(part, webhook_fields[i]);
        bool is_gpu = str_eq(webhook_fields[i], "gpu");
        if (field && (!is_gpu || json_int_or(field, "quantity", 0) > 0))
            return webhook_fields[i];
    }
    return NULL;
}

// memory plus its overhead: a tenth for the JVM, four tenths for others, at least 384 MiB.
static int64_t spark_memory(const cJSON *app, const cJSON *part)
{
    static const int64_t least = 384ll << 20;
    const char *type = json_path_str(app, "spec.type");
    const char *memory = json_str_or(part, "memory", "1g");
    const char *overhead = json_str(part, "memoryOverhead");
    const char *factor = json_path_str(app, "spec.memoryOverheadFactor");
    bool jvm = str_eq(type, "Java") || str_eq(type, "Scala");
    int64_t bytes = 0, more = 0;
    if (quantity_parse_jvm(memory, &bytes, NULL) != 0)
        return 0;
    if (overhead && quantity_parse_jvm(overhead, &more, NULL) == 0)
        return bytes + more;
    double share = factor ? strtod(factor, NULL) : jvm ? 0.1 : 0.4;
    return bytes + larger(least, (int64_t)((double)bytes * share));
}

static void add_spark(
    const cJSON *app, const char *role, int64_t count, struct need *out, size_t *n)
{
    const cJSON *part = json_path(app, str_eq(role, "driver") ? "spec.driver" : "spec.executor");
    const cJSON *request = json_get(part, "coreRequest"), *gpu = json_get(part, "gpu");
    struct need *need = &out[(*n)++];
    *need = (struct need){.role = role,
        .count = count,
        .milli_cpu = request ? milli_of(request) : 1000 * json_int_or(part, "cores", 1),
        .bytes = spark_memory(app, part),
        .account = json_str(part, "serviceAccount"),
        .secrets = json_path(app, "spec.imagePullSecrets"),
        .metadata = part,
        .webhook = webhook_field(part)};
    if (json_int_or(gpu, "quantity", 0) > 0) {
        need->device = json_str(gpu, "name");
        need->devices = json_int_or(gpu, "quantity", 0);
    }
}

// Argo's pods come and go; what all of them need is the account.
static void add_workflow(const cJSON *spec, struct need *out, size_t *n)
{
    out[(*n)++] = (struct need){.role = "workflow",
        .account = json_str(spec, "serviceAccountName"),
        .secrets = json_get(spec, "imagePullSecrets")};
}

// "A[].B" with "[i]" for "[]".
static char *element(const char *path, size_t n, int i)
{
    AUTO_FREE char *text = mem_strndup(path, n);
    char *each = strstr(text, "[]");
    return each ? str_fmt("%.*s[%d]%s", (int)(each - text), text, i, each + 2) : STEAL(text);
}

// Of ROLE=TEMPLATE*COUNT…, for the i-th element of its list. Returns false when there is no such.
static bool add_asked(const cJSON *object, const char *role, const char *paths, size_t length,
    int i, struct need *out, size_t *n)
{
    const cJSON *template = NULL;
    int64_t count = 1;
    for (const char *at = paths, *end = paths + length; at < end;) {
        size_t one = strcspn(at, "*,");
        AUTO_FREE char *path = element(at, one, i);
        const cJSON *value = json_path(object, path);
        int64_t times = 1;
        if (at == paths)
            template = value;
        else if (json_int(value, &times) && __builtin_mul_overflow(count, times, &count))
            count = INT64_MAX;
        at += one + 1;
    }
    add_template(template, role, count, out, n);
    return template && *n < NEEDS_MAX;
}

// A kind's `asks` (kinds/known.h). Roles are words of the table, which lasts.
static void add_asks(const cJSON *object, const char *asks, struct need *out, size_t *n)
{
    static const char *const roles[] = {
        "pod", "launcher", "worker", "head", "master", "chief", "evaluator", "ps"};
    const char *part;
    for (size_t length; (length = known_part(&asks, &part));) {
        const char *equals = memchr(part, '=', length), *role = "pod";
        for (size_t i = 0; equals && i < ARRAY_LEN(roles); i++)
            if (strlen(roles[i]) == (size_t)(equals - part) && str_starts(part, roles[i]))
                role = roles[i];
        const char *paths = equals ? equals + 1 : part;
        size_t rest = length - (size_t)(paths - part);
        bool many = memmem(paths, rest, "[]", 2) != NULL;
        for (int i = 0; add_asked(object, role, paths, rest, i, out, n) && many;)
            i++;
    }
}

void need_of_pod(const cJSON *pod, struct need *out)
{
    size_t n = 0;
    add_template(pod, "pod", 1, out, &n);
}

size_t needs_of(const cJSON *object, struct need *out)
{
    const struct known *row = known_of(object);
    const cJSON *spec = json_get(object, "spec");
    size_t n = 0;
    if (known_is(object, "", "Pod"))
        add_template(object, "pod", 1, out, &n);
    else if (known_is(object, "argoproj.io", "Workflow"))
        add_workflow(spec, out, &n);
    else if (known_is(object, "argoproj.io", "CronWorkflow"))
        add_workflow(json_get(spec, "workflowSpec"), out, &n);
    else if (known_is(object, "sparkoperator.k8s.io", "SparkApplication")) {
        add_spark(object, "driver", 1, out, &n);
        add_spark(
            object, "executor", json_int_or(json_get(spec, "executor"), "instances", 1), out, &n);
    } else if (row) {
        add_asks(object, row->asks, out, &n);
    }
    return n;
}
