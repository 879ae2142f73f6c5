// SPDX-License-Identifier: MIT
#include "k8s/sandbox/api/objects/schema.h"

#include "base/mem.h"
#include "base/str.h"
#include "k8s/sandbox/api/objects/status.h"

#include <string.h>

// All types are declared first, so that they can refer to each other; then their fields.
#define TYPE(name, ...) static const struct schema schema_##name;
#include "k8s/sandbox/api/objects/schema.def"
#undef TYPE

static const struct schema schema_String = {"string", SCHEMA_STRING, NULL, 0};
static const struct schema schema_Int = {"integer", SCHEMA_INT, NULL, 0};
static const struct schema schema_Bool = {"boolean", SCHEMA_BOOL, NULL, 0};
static const struct schema schema_Bytes = {"bytes", SCHEMA_BYTES, NULL, 0};
static const struct schema schema_Quantity = {"Quantity", SCHEMA_QUANTITY, NULL, 0};
static const struct schema schema_IntOrString = {"IntOrString", SCHEMA_INT_OR_STRING, NULL, 0};
static const struct schema schema_Time = {"Time", SCHEMA_TIME, NULL, 0};
static const struct schema schema_MicroTime = {"MicroTime", SCHEMA_MICRO_TIME, NULL, 0};
static const struct schema schema_Any = {"object", SCHEMA_ANY, NULL, 0};

#define FIELD(n, name, type)       {n, #name, &schema_##type, SHAPE_ONE, NULL, false, false},
#define OPTION(n, name, type)      {n, #name, &schema_##type, SHAPE_ONE, NULL, false, true},
#define REQUIRED(n, name, type)    {n, #name, &schema_##type, SHAPE_ONE, NULL, true, false},
#define LIST(n, name, type)        {n, #name, &schema_##type, SHAPE_LIST, NULL, false, false},
#define SET(n, name, type)         {n, #name, &schema_##type, SHAPE_LIST, "", false, false},
#define MERGE(n, name, type, keys) {n, #name, &schema_##type, SHAPE_LIST, keys, false, false},
#define MAP(n, name, type)         {n, #name, &schema_##type, SHAPE_MAP, NULL, false, false},
#define INLINE(n, type)            {n, NULL, &schema_##type, SHAPE_INLINE, NULL, false, false},
#define TYPE(name, ...)                                                                            \
    static const struct schema_field fields_##name[] = {__VA_ARGS__};                              \
    static const struct schema schema_##name = {                                                   \
        #name, SCHEMA_OBJECT, fields_##name, ARRAY_LEN(fields_##name)};
#include "k8s/sandbox/api/objects/schema.def"
#undef TYPE

static const struct schema *const by_kind[KIND_COUNT] = {
    [KIND_CONFIGMAPS] = &schema_ConfigMap,
    [KIND_EVENTS] = &schema_Event,
    [KIND_NAMESPACES] = &schema_Namespace,
    [KIND_NODES] = &schema_Node,
    [KIND_PODS] = &schema_Pod,
    [KIND_SECRETS] = &schema_Secret,
    [KIND_SERVICEACCOUNTS] = &schema_ServiceAccount,
    [KIND_SERVICES] = &schema_Service,
    [KIND_JOBS] = &schema_Job,
    [KIND_LEASES] = &schema_Lease,
    [KIND_NEWEVENTS] = &schema_EventsEvent,
    [KIND_MPIJOBS] = &schema_MPIJob,
    [KIND_ROLES] = &schema_Role,
    [KIND_ROLEBINDINGS] = &schema_RoleBinding,
    [KIND_SCHEDULEDSPARKAPPLICATIONS] = &schema_ScheduledSparkApplication,
    [KIND_SELFSUBJECTACCESSREVIEWS] = &schema_SelfSubjectAccessReview,
    [KIND_SELFSUBJECTREVIEWS] = &schema_SelfSubjectReview,
    [KIND_SELFSUBJECTRULESREVIEWS] = &schema_SelfSubjectRulesReview,
    [KIND_SPARKAPPLICATIONS] = &schema_SparkApplication,
};

const struct schema *schema_of(const struct kind *k)
{
    for (size_t i = 0; i < KIND_COUNT; i++)
        if (k == &kind_builtin[i])
            return by_kind[i];
    return NULL;
}

const struct schema_field *schema_field(const struct schema *s, const char *name)
{
    for (size_t i = 0; s && i < s->n; i++) {
        const struct schema_field *f = &s->fields[i];
        if (f->shape == SHAPE_INLINE)
            f = schema_field(f->type, name);
        if (f && f->name && str_eq(f->name, name))
            return f;
    }
    return NULL;
}

const struct schema *schema_delete_options(void)
{
    return &schema_DeleteOptions;
}

static const char *word_for(const cJSON *v)
{
    if (cJSON_IsString(v))
        return "string";
    if (cJSON_IsBool(v))
        return "boolean";
    if (cJSON_IsArray(v))
        return "array";
    return cJSON_IsObject(v) ? "object" : "number";
}

static bool is_number(const cJSON *v)
{
    return cJSON_IsNumber(v) || cJSON_IsRaw(v);
}

static bool fits(const struct schema *s, const cJSON *v)
{
    int64_t whole;
    switch (s->type) {
    case SCHEMA_OBJECT:
        return cJSON_IsObject(v);
    case SCHEMA_STRING:
    case SCHEMA_BYTES:
    case SCHEMA_TIME:
    case SCHEMA_MICRO_TIME:
        return cJSON_IsString(v);
    case SCHEMA_INT:
        return json_int(v, &whole);
    case SCHEMA_BOOL:
        return cJSON_IsBool(v);
    case SCHEMA_NUMBER:
        return is_number(v);
    case SCHEMA_QUANTITY:
    case SCHEMA_INT_OR_STRING:
        return cJSON_IsString(v) || is_number(v);
    default:
        return true;
    }
}

static void mistyped(
    struct schema_report *report, const char *path, const char *wanted, const cJSON *v)
{
    AUTO_FREE char *text = json_to_str(v);
    bool small = cJSON_IsObject(v) || cJSON_IsArray(v);
    causes_add(&report->mistyped, "FieldValueTypeInvalid", path,
        "Invalid value: %s: must be of type %s, not %s", small ? word_for(v) : text, wanted,
        word_for(v));
}

static void check_fields(
    const struct schema *s, cJSON *o, const char *path, bool prune, struct schema_report *report);

static void check_value(
    const struct schema *s, cJSON *v, const char *path, bool prune, struct schema_report *report)
{
    if (!fits(s, v))
        mistyped(report, path, s->type == SCHEMA_OBJECT ? "object" : s->name, v);
    else if (s->type == SCHEMA_OBJECT)
        check_fields(s, v, path, prune, report);
}

static void check_field(const struct schema_field *f, cJSON *v, const char *path, bool prune,
    struct schema_report *report)
{
    if (f->shape == SHAPE_ONE) {
        check_value(f->type, v, path, prune, report);
        return;
    }
    bool list = f->shape == SHAPE_LIST;
    if (list ? !cJSON_IsArray(v) : !cJSON_IsObject(v)) {
        mistyped(report, path, list ? "array" : "object", v);
        return;
    }
    cJSON *item;
    int i = 0;
    cJSON_ArrayForEach(item, v)
    {
        AUTO_FREE char *inner =
            list ? str_fmt("%s[%d]", path, i++) : str_fmt("%s.%s", path, item->string);
        check_value(f->type, item, inner, prune, report);
    }
}

static void check_fields(
    const struct schema *s, cJSON *o, const char *path, bool prune, struct schema_report *report)
{
    for (cJSON *v = o->child, *next; v; v = next) {
        next = v->next;
        AUTO_FREE char *inner = *path ? str_fmt("%s.%s", path, v->string) : mem_strdup(v->string);
        const struct schema_field *f = schema_field(s, v->string);
        if (f && !cJSON_IsNull(v)) {
            check_field(f, v, inner, prune, report);
            continue;
        }
        if (!f)
            report->unknown = strv_add(report->unknown, inner);
        if (f || prune)
            cJSON_Delete(cJSON_DetachItemViaPointer(o, v));
    }
}

void schema_check(const struct schema *s, cJSON *o, bool prune, struct schema_report *report)
{
    *report = (struct schema_report){0};
    if (s)
        check_fields(s, o, "", prune, report);
}

void schema_report_done(struct schema_report *report)
{
    strv_free(report->unknown);
    cJSON_Delete(report->mistyped);
    *report = (struct schema_report){0};
}
