// SPDX-License-Identifier: MIT
#include "k8s/sandbox/api/openapi.h"

#include "base/mem.h"
#include "base/str.h"
#include "k8s/sandbox/api/objects/schema.h"

#include <stdio.h>
#include <string.h>

static const char *path_of(const struct kind *k, char *out, size_t n)
{
    if (*k->group)
        snprintf(out, n, "apis/%s/%s", k->group, k->version);
    else
        snprintf(out, n, "api/%s", k->version);
    return out;
}

static cJSON *index_of(const struct request *r)
{
    cJSON *o = cJSON_CreateObject(), *paths = json_object_at(o, "paths");
    const struct kind *k;
    char path[300];
    for (size_t i = 0; (k = kinds_at(r->api->kinds, i)); i++) {
        AUTO_FREE char *url =
            str_fmt("/openapi/v3/%s?hash=%s", path_of(k, path, sizeof path), r->api->version);
        json_set_str(json_object_at(paths, path), "serverRelativeURL", url);
    }
    return o;
}

static const char *type_word(enum schema_type t)
{
    switch (t) {
    case SCHEMA_INT:
        return "integer";
    case SCHEMA_BOOL:
        return "boolean";
    case SCHEMA_NUMBER:
        return "number";
    case SCHEMA_OBJECT:
    case SCHEMA_ANY:
        return "object";
    default:
        return "string";
    }
}

static void add_schema(cJSON *schemas, const struct schema *s);

// "A quantity is a string or a number", and the like: as servers describe these types.
static void add_choice(cJSON *schemas, const char *name, const char *other, const char *format)
{
    if (json_get(schemas, name))
        return;
    cJSON *o = json_object_at(schemas, name), *list = json_array_at(o, "oneOf");
    const char *const choices[] = {"string", other};
    json_set_str(o, "format", format);
    for (size_t i = 0; i < ARRAY_LEN(choices); i++) {
        cJSON *one = cJSON_CreateObject();
        json_set_str(one, "type", choices[i]);
        cJSON_AddItemToArray(list, one);
    }
}

static cJSON *reference_to(const char *name)
{
    AUTO_FREE char *ref = str_fmt("#/components/schemas/%s", name);
    cJSON *o = cJSON_CreateObject(), *target = cJSON_CreateObject();
    json_set_str(target, "$ref", ref);
    cJSON_AddItemToArray(json_array_at(o, "allOf"), target);
    return o;
}

static cJSON *reference(cJSON *schemas, const struct schema *s)
{
    if (s->type == SCHEMA_QUANTITY) {
        add_choice(schemas, "Quantity", "number", NULL);
        return reference_to("Quantity");
    }
    if (s->type == SCHEMA_INT_OR_STRING) {
        add_choice(schemas, "IntOrString", "integer", "int-or-string");
        return reference_to("IntOrString");
    }
    if (s->type == SCHEMA_OBJECT) {
        add_schema(schemas, s);
        return reference_to(s->name);
    }
    cJSON *o = cJSON_CreateObject();
    if (s->type == SCHEMA_ANY)
        json_set_bool(o, "x-kubernetes-preserve-unknown-fields", true);
    else
        json_set_str(o, "type", type_word(s->type));
    if (s->type == SCHEMA_TIME || s->type == SCHEMA_MICRO_TIME)
        json_set_str(o, "format", "date-time");
    return o;
}

static cJSON *property(cJSON *schemas, const struct schema_field *f)
{
    cJSON *inner = reference(schemas, f->type), *o;
    if (f->shape == SHAPE_ONE)
        return inner;
    o = cJSON_CreateObject();
    json_set_str(o, "type", f->shape == SHAPE_LIST ? "array" : "object");
    json_set(o, f->shape == SHAPE_LIST ? "items" : "additionalProperties", inner);
    if (f->keys && *f->keys)
        json_set_str(o, "x-kubernetes-patch-merge-key", f->keys);
    if (f->keys)
        json_set_str(o, "x-kubernetes-patch-strategy", "merge");
    return o;
}

static void add_properties(cJSON *schemas, cJSON *o, const struct schema *s)
{
    for (size_t i = 0; i < s->n; i++) {
        if (s->fields[i].shape == SHAPE_INLINE) {
            add_properties(schemas, o, s->fields[i].type);
            continue;
        }
        json_set(
            json_object_at(o, "properties"), s->fields[i].name, property(schemas, &s->fields[i]));
        if (s->fields[i].required)
            cJSON_AddItemToArray(
                json_array_at(o, "required"), cJSON_CreateString(s->fields[i].name));
    }
}

static void add_schema(cJSON *schemas, const struct schema *s)
{
    if (json_get(schemas, s->name))
        return;
    cJSON *o = json_object_at(schemas, s->name);
    json_set_str(o, "type", "object");
    add_properties(schemas, o, s);
}

static cJSON *group_version_kind(const struct kind *k)
{
    cJSON *o = cJSON_CreateObject();
    json_set_str(o, "group", k->group);
    json_set_str(o, "version", k->version);
    json_set_str(o, "kind", k->kind);
    return o;
}

// Adds a path. kubectl looks whether its PATCH takes fieldValidation, so that the server validates.
static void add_path(cJSON *paths, const struct kind *k)
{
    char base[300];
    bool namespaced = k->flags & KIND_NAMESPACED;
    AUTO_FREE char *path = str_fmt("/%s/%s%s/{name}", path_of(k, base, sizeof base),
        namespaced ? "namespaces/{namespace}/" : "", k->resource);
    cJSON *patch = json_object_at(json_object_at(paths, path), "patch");
    static const char *const parameters[] = {"dryRun", "fieldManager", "fieldValidation", "force"};
    for (size_t i = 0; i < ARRAY_LEN(parameters); i++) {
        cJSON *p = cJSON_CreateObject();
        json_set_str(p, "name", parameters[i]);
        json_set_str(p, "in", "query");
        json_set_str(json_object_at(p, "schema"), "type", i == 3 ? "boolean" : "string");
        cJSON_AddItemToArray(json_array_at(patch, "parameters"), p);
    }
    json_object_at(patch, "responses");
    json_set_str(patch, "x-kubernetes-action", "patch");
    json_set(patch, "x-kubernetes-group-version-kind", group_version_kind(k));
}

static void add_kind(cJSON *o, const struct kind *k)
{
    cJSON *schemas = json_object_at(json_object_at(o, "components"), "schemas");
    const struct schema *s = schema_of(k);
    const char *name = s ? s->name : k->kind;
    if (s)
        add_schema(schemas, s);
    cJSON *own = json_object_at(schemas, name);
    json_set_str(own, "type", "object");
    cJSON_AddItemToArray(
        json_array_at(own, "x-kubernetes-group-version-kind"), group_version_kind(k));
    add_path(json_object_at(o, "paths"), k);
}

cJSON *openapi_document(const kinds *all, const char *wanted, const char *version)
{
    cJSON *o = cJSON_CreateObject(), *info = json_object_at(o, "info");
    const struct kind *k;
    bool found = false;
    char path[300];
    json_set_str(o, "openapi", "3.0.0");
    json_set_str(info, "title", "firesteel sandbox");
    json_set_str(info, "version", version);
    for (size_t i = 0; (k = kinds_at(all, i)); i++)
        if (!wanted || str_eq(path_of(k, path, sizeof path), wanted)) {
            add_kind(o, k);
            found = true;
        }
    if (found)
        return o;
    cJSON_Delete(o);
    return NULL;
}

// For kinds that kubectl does not find, it falls back to version 2 in protobuf. An empty document
// (a gnostic Document whose field 1 is "2.0") tells it that there is no such kind.
static void serve_v2(struct request *r)
{
    static const char document_v2[] = "\n\x03"
                                      "2.0";
    reply_text(r, 200, "application/com.github.proto-openapi.spec.v2.v1.0+protobuf", document_v2,
        sizeof document_v2 - 1);
}

bool openapi_serve(struct request *r, char *const *path)
{
    static const char prefix[] = "/openapi/v3/";
    size_t n = strv_len(path);
    if (n < 2 || !str_eq(path[0], "openapi"))
        return false;
    if (n == 2 && str_eq(path[1], "v2"))
        return serve_v2(r), true;
    if (!str_eq(path[1], "v3"))
        return false;
    const char *wanted = http_path(r->x) + sizeof prefix - 1;
    cJSON *o = n == 2 ? index_of(r) : openapi_document(r->api->kinds, wanted, r->api->version);
    if (o)
        reply_json(r, 200, o);
    return o != NULL;
}
