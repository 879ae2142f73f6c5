// SPDX-License-Identifier: MIT
#include "k8s/sandbox/api/objects/validate.h"

#include "base/mem.h"
#include "base/str.h"
#include "k8s/sandbox/api/objects/metadata.h"
#include "k8s/sandbox/api/objects/schema.h"
#include "k8s/sandbox/api/objects/status.h"
#include "k8s/sandbox/store/object.h"

#include <string.h>

static bool is_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_label(const char *s, size_t n)
{
    if (!n || n > 63 || !is_alnum(s[0]) || !is_alnum(s[n - 1]))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!is_alnum(s[i]) && s[i] != '-')
            return false;
    return true;
}

static bool is_subdomain(const char *s)
{
    if (strlen(s) > 253)
        return false;
    for (;;) {
        size_t n = strcspn(s, ".");
        // In a subdomain a label may be longer than 63; only its characters are checked.
        if (!n || !is_label(s, n > 63 ? 63 : n))
            return false;
        if (!s[n])
            return is_alnum(s[n - 1]);
        s += n + 1;
    }
}

static const char subdomain_text[] =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', "
    "and must start and end with an alphanumeric character (e.g. 'example.com', regex used for "
    "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
static const char label_text[] =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must "
    "start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for "
    "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
static const char label_1035_text[] =
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

static bool is_1035(const char *s)
{
    return is_label(s, strlen(s)) && s[0] >= 'a';
}

static void invalid(cJSON **causes, const char *field, const char *value, const char *why)
{
    causes_add(causes, "FieldValueInvalid", field, "Invalid value: \"%s\": %s", value, why);
}

static void required(cJSON **causes, const char *field, const char *why)
{
    causes_add(
        causes, "FieldValueRequired", field, *why ? "Required value: %s" : "Required value%s", why);
}

static void check_name(const struct kind *k, const char *name, cJSON **causes)
{
    const char *field = "metadata.name";
    if (!*name)
        required(causes, field, "name or generateName is required");
    else if (k == KIND(SERVICES) && !is_1035(name))
        invalid(causes, field, name, label_1035_text);
    else if (k == KIND(NAMESPACES) && !is_label(name, strlen(name)))
        invalid(causes, field, name, label_text);
    else if (k == KIND(ROLES) || k == KIND(ROLEBINDINGS)) {
        if (strpbrk(name, "/%") || str_eq(name, ".") || str_eq(name, ".."))
            invalid(causes, field, name, "may not contain '/'");
    } else if (!is_subdomain(name))
        invalid(causes, field, name, subdomain_text);
}

static bool is_word(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char c = s[i] >= 'A' && s[i] <= 'Z' ? 'a' : s[i];
        bool inner = i && i + 1 < n && (c == '-' || c == '_' || c == '.');
        if (!is_alnum(c) && !inner)
            return false;
    }
    return n <= 63;
}

static void check_labels(const cJSON *json, cJSON **causes)
{
    const cJSON *l;
    cJSON_ArrayForEach(l, json_path(json, "metadata.labels"))
    {
        const char *value = cJSON_IsString(l) ? l->valuestring : "",
                   *slash = strchr(l->string, '/');
        const char *name = slash ? slash + 1 : l->string;
        if (!*name || !is_word(name, strlen(name)))
            invalid(causes, "metadata.labels", l->string,
                "name part must consist of alphanumeric characters, '-', '_' or '.', and must "
                "start "
                "and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or "
                "'123-abc', regex used for validation is "
                "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')");
        if (strlen(value) > 63)
            invalid(causes, "metadata.labels", value, "must be no more than 63 characters");
        else if (!is_word(value, strlen(value)))
            invalid(causes, "metadata.labels", value,
                "a valid label must be an empty string or consist of alphanumeric characters, '-', "
                "'_' or '.', and must start and end with an alphanumeric character (e.g. "
                "'MyValue',  or 'my_value',  or '12345', regex used for validation is "
                "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')");
    }
}

static void check_enum(const cJSON *o, const char *key, const char *prefix,
    const char *const *values, size_t n, cJSON **causes)
{
    const char *value = json_str(o, key);
    AUTO_BUF supported = {0};
    for (size_t i = 0; i < n; i++) {
        if (!value || str_eq(values[i], value))
            return;
        buf_fmt(&supported, "%s\"%s\"", i ? ", " : "", values[i]);
    }
    AUTO_FREE char *field = str_fmt("%s.%s", prefix, key);
    causes_add(causes, "FieldValueNotSupported", field,
        "Unsupported value: \"%s\": supported values: %s", value, buf_cstr(&supported));
}
#define CHECK_ENUM(o, key, prefix, causes, ...)                                                    \
    check_enum(o, key, prefix, (const char *const[]){__VA_ARGS__},                                 \
        ARRAY_LEN(((const char *const[]){__VA_ARGS__})), causes)

static void check_at_least(
    const cJSON *o, const char *key, const char *prefix, int64_t least, cJSON **causes)
{
    int64_t value;
    if (!json_int(json_get(o, key), &value) || value >= least)
        return;
    AUTO_FREE char *field = str_fmt("%s.%s", prefix, key);
    causes_add(causes, "FieldValueInvalid", field,
        "Invalid value: %lld: %s in body should be greater than or equal to %lld", (long long)value,
        field, (long long)least);
}

static bool names_volume(const cJSON *spec, const char *name)
{
    const cJSON *v;
    cJSON_ArrayForEach(
        v, json_get(spec, "volumes")) if (str_eq(json_str(v, "name"), name)) return true;
    return false;
}

static void check_mounts(const cJSON *spec, const cJSON *c, const char *at, cJSON **causes)
{
    const cJSON *m;
    int i = 0;
    cJSON_ArrayForEach(m, json_get(c, "volumeMounts"))
    {
        AUTO_FREE char *field = str_fmt("%s.volumeMounts[%d].name", at, i);
        AUTO_FREE char *path = str_fmt("%s.volumeMounts[%d].mountPath", at, i++);
        const char *name = json_str_or(m, "name", "");
        if (!*name)
            required(causes, field, "");
        else if (!names_volume(spec, name))
            causes_add(causes, "FieldValueNotFound", field, "Not found: \"%s\"", name);
        if (!*json_str_or(m, "mountPath", ""))
            required(causes, path, "");
    }
}

static bool is_duplicate(const cJSON *list, const cJSON *item, const char *key)
{
    for (const cJSON *o = list->child; o && o != item; o = o->next)
        if (str_eq(json_str(o, key), json_str(item, key)))
            return true;
    return false;
}

static void check_container(
    const cJSON *spec, const cJSON *list, const cJSON *c, const char *at, cJSON **causes)
{
    const char *name = json_str_or(c, "name", "");
    AUTO_FREE char *name_field = str_fmt("%s.name", at);
    AUTO_FREE char *image_field = str_fmt("%s.image", at);
    if (!*name)
        required(causes, name_field, "");
    else if (!is_label(name, strlen(name)))
        invalid(causes, name_field, name, label_text);
    else if (is_duplicate(list, c, "name"))
        causes_add(causes, "FieldValueDuplicate", name_field, "Duplicate value: \"%s\"", name);
    if (!*json_str_or(c, "image", ""))
        required(causes, image_field, "");
    CHECK_ENUM(c, "imagePullPolicy", at, causes, "Always", "IfNotPresent", "Never");
    const cJSON *v;
    int i = 0;
    cJSON_ArrayForEach(v, json_get(c, "env"))
    {
        AUTO_FREE char *field = str_fmt("%s.env[%d].name", at, i++);
        if (!*json_str_or(v, "name", ""))
            required(causes, field, "");
    }
    check_mounts(spec, c, at, causes);
}

static void check_pod_spec(const cJSON *spec, const char *at, cJSON **causes)
{
    static const char *const lists[] = {"initContainers", "containers"};
    AUTO_FREE char *containers = str_fmt("%s.containers", at);
    if (!cJSON_GetArraySize(json_get(spec, "containers")))
        required(causes, containers, "");
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        const cJSON *list = json_get(spec, lists[i]), *c;
        int n = 0;
        cJSON_ArrayForEach(c, list)
        {
            AUTO_FREE char *inner = str_fmt("%s.%s[%d]", at, lists[i], n++);
            check_container(spec, list, c, inner, causes);
        }
    }
    CHECK_ENUM(spec, "restartPolicy", at, causes, "Always", "OnFailure", "Never");
}

// A copy of a pod's spec without the parts that may change: the rest can then be compared.
static cJSON *fixed_part(const cJSON *spec)
{
    static const char *const free_fields[] = {
        "activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds", "schedulingGates"};
    cJSON *copy = cJSON_Duplicate(spec, true), *c;
    for (size_t i = 0; i < ARRAY_LEN(free_fields); i++)
        cJSON_DeleteItemFromObjectCaseSensitive(copy, free_fields[i]);
    cJSON_ArrayForEach(c, json_get(copy, "containers"))
        cJSON_DeleteItemFromObjectCaseSensitive(c, "image");
    cJSON_ArrayForEach(c, json_get(copy, "initContainers"))
        cJSON_DeleteItemFromObjectCaseSensitive(c, "image");
    return copy;
}

static void check_pod(const cJSON *json, const cJSON *old, cJSON **causes)
{
    check_pod_spec(json_get(json, "spec"), "spec", causes);
    if (!old)
        return;
    AUTO_JSON *before = fixed_part(json_get(old, "spec"));
    AUTO_JSON *after = fixed_part(json_get(json, "spec"));
    if (!json_equal(before, after))
        causes_add(causes, "FieldValueForbidden", "spec",
            "Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
            "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
            "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to "
            "be set to 1 if it was previously negative)");
}

static void check_immutable(const cJSON *json, const cJSON *old, const char *path, cJSON **causes)
{
    const cJSON *was = json_path(old, path), *is = json_path(json, path);
    if (!old || (!was && !is) || (was && is && json_equal(was, is)))
        return;
    AUTO_FREE char *value = is ? json_to_str(is) : mem_strdup("null");
    causes_add(causes, "FieldValueInvalid", path, "Invalid value: %s: field is immutable", value);
}

static void check_job(const cJSON *json, const cJSON *old, cJSON **causes)
{
    const cJSON *spec = json_get(json, "spec"), *pod = json_path(spec, "template.spec");
    check_pod_spec(pod, "spec.template.spec", causes);
    if (str_eq(json_str(pod, "restartPolicy"), "Always"))
        required(
            causes, "spec.template.spec.restartPolicy", "valid values: \"OnFailure\", \"Never\"");
    check_at_least(spec, "parallelism", "spec", 0, causes);
    check_at_least(spec, "completions", "spec", 0, causes);
    check_at_least(spec, "backoffLimit", "spec", 0, causes);
    CHECK_ENUM(spec, "completionMode", "spec", causes, "NonIndexed", "Indexed");
    if (str_eq(json_str(spec, "completionMode"), "Indexed") && !json_get(spec, "completions"))
        required(causes, "spec.completions", "when completion mode is Indexed");
    check_immutable(json, old, "spec.completions", causes);
    check_immutable(json, old, "spec.selector", causes);
    check_immutable(json, old, "spec.template", causes);
}

static void check_service(const cJSON *json, cJSON **causes)
{
    const cJSON *spec = json_get(json, "spec");
    bool may_lack = str_eq(json_str(spec, "type"), "ExternalName") ||
                    str_eq(json_str(spec, "clusterIP"), "None");
    if (!may_lack && !cJSON_GetArraySize(json_get(spec, "ports")))
        required(causes, "spec.ports", "");
    CHECK_ENUM(
        spec, "type", "spec", causes, "ClusterIP", "ExternalName", "LoadBalancer", "NodePort");
}

static void check_frozen_data(const cJSON *json, const cJSON *old, cJSON **causes)
{
    const cJSON *was = json_get(old, "data"), *is = json_get(json, "data");
    if (!json_bool_or(old, "immutable", false))
        return;
    if ((was || is) && (!was || !is || !json_equal(was, is)))
        causes_add(causes, "FieldValueForbidden", "data",
            "Forbidden: field is immutable when `immutable` is set");
}

// The required fields of a type, as a CRD's schema demands them.
static void check_required(const struct schema *s, const cJSON *o, const char *at, cJSON **causes)
{
    for (size_t i = 0; s && i < s->n; i++) {
        const struct schema_field *f = &s->fields[i];
        if (f->shape == SHAPE_INLINE)
            continue;
        const cJSON *v = json_get(o, f->name);
        AUTO_FREE char *path = *at ? str_fmt("%s.%s", at, f->name) : mem_strdup(f->name);
        if (f->required && !v)
            required(causes, path, "");
        if (v && f->shape == SHAPE_ONE && f->type->type == SCHEMA_OBJECT &&
            !str_eq(f->name, "metadata") && !str_eq(f->name, "status"))
            check_required(f->type, v, path, causes);
    }
}

static void check_spark_spec(const cJSON *spec, const char *at, cJSON **causes)
{
    AUTO_FREE char *driver = str_fmt("%s.driver", at);
    AUTO_FREE char *executor = str_fmt("%s.executor", at);
    AUTO_FREE char *restart = str_fmt("%s.restartPolicy", at);
    CHECK_ENUM(spec, "type", at, causes, "Java", "Python", "Scala", "R");
    CHECK_ENUM(spec, "mode", at, causes, "cluster", "client");
    CHECK_ENUM(
        json_get(spec, "restartPolicy"), "type", restart, causes, "Never", "Always", "OnFailure");
    check_at_least(json_get(spec, "driver"), "cores", driver, 1, causes);
    check_at_least(json_get(spec, "executor"), "cores", executor, 1, causes);
    check_at_least(json_get(spec, "executor"), "instances", executor, 1, causes);
}

void validate(const struct kind *k, const cJSON *json, const cJSON *old, cJSON **causes)
{
    const char *generate = json_path_str(json, "metadata.generateName");
    if (*object_name(json) || !generate)
        check_name(k, object_name(json), causes);
    check_labels(json, causes);
    metadata_check(k, json, old, causes);
    if (k->flags & KIND_IS_CUSTOM)
        check_required(schema_of(k), json, "", causes);
    if (k == KIND(PODS))
        check_pod(json, old, causes);
    else if (k == KIND(JOBS))
        check_job(json, old, causes);
    else if (k == KIND(SERVICES))
        check_service(json, causes);
    else if (k == KIND(CONFIGMAPS) || k == KIND(SECRETS))
        check_frozen_data(json, old, causes);
    else if (k == KIND(SPARKAPPLICATIONS))
        check_spark_spec(json_get(json, "spec"), "spec", causes);
    else if (k == KIND(SCHEDULEDSPARKAPPLICATIONS))
        check_spark_spec(json_path(json, "spec.template"), "spec.template", causes);
}

// As in internal/webhook/sparkapplication_validator.go of the operator 2.4.
bool validate_spark(const struct kind *k, const cJSON *json, err *e)
{
    if (k != KIND(SPARKAPPLICATIONS))
        return true;
    const char *name = object_name(json);
    const cJSON *spec = json_get(json, "spec");
    if (*name && !is_1035(name))
        return err_set(e, ERR_FORBIDDEN, "invalid SparkApplication name \"%s\": %s", name,
                   label_1035_text),
               false;
    bool templates = json_path(spec, "driver.template") || json_path(spec, "executor.template");
    if (templates && json_str_or(spec, "sparkVersion", "3")[0] < '3')
        return err_set(
                   e, ERR_FORBIDDEN, "pod template feature requires Spark version 3.0.0 or higher"),
               false;
    if (json_get(spec, "nodeSelector") &&
        (json_path(spec, "driver.nodeSelector") || json_path(spec, "executor.nodeSelector")))
        return err_set(e, ERR_FORBIDDEN,
                   "node selector cannot be defined at both SparkApplication and Driver/Executor"),
               false;
    return true;
}
