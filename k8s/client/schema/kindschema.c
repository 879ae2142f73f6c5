// SPDX-License-Identifier: MIT
#include "k8s/client/schema/kindschema.h"

#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/schema/kindprivate.h"

#include <string.h>

enum { MOST = 5000 }; // schemas of one kind

static const char prefix[] = "#/components/schemas/";

static const char *ref_name(const cJSON *schema)
{
    const char *ref = json_str(schema, "$ref");
    return ref && str_starts(ref, prefix) ? ref + strlen(prefix) : NULL;
}

static void group_of(const char *api_version, char *group, size_t size, const char **version)
{
    const char *slash = strchr(api_version, '/');
    size_t n = slash ? (size_t)(slash - api_version) : 0;
    n = n < size ? n : size - 1;
    memcpy(group, api_version, n);
    group[n] = '\0';
    *version = slash ? slash + 1 : api_version;
}

static const cJSON *find_root(const cJSON *schemas, const char *api_version, const char *kind)
{
    char group[256];
    const char *version;
    const cJSON *schema, *gvk;
    group_of(api_version, group, sizeof group, &version);
    cJSON_ArrayForEach(schema, schemas)
    {
        cJSON_ArrayForEach(gvk, json_get(schema, "x-kubernetes-group-version-kind"))
        {
            if (str_eq(json_str(gvk, "kind"), kind) && str_eq(json_str(gvk, "version"), version) &&
                str_eq(json_str_or(gvk, "group", ""), group))
                return schema;
        }
    }
    return NULL;
}

// Copies the schemas that a schema refers to.
static void pull(const cJSON *from, cJSON *to, const cJSON *node, int depth)
{
    const char *name = ref_name(node);
    const cJSON *named = name ? json_get(from, name) : NULL, *one;
    if (depth > KIND_DEPTH || cJSON_GetArraySize(to) > MOST)
        return;
    if (named && !json_get(to, name)) {
        cJSON *copy = cJSON_Duplicate(named, true);
        cJSON_AddItemToObject(to, name, copy);
        pull(from, to, copy, depth + 1);
    }
    if (!cJSON_IsObject(node) && !cJSON_IsArray(node))
        return;
    cJSON_ArrayForEach(one, node)
    {
        pull(from, to, one, depth + 1);
    }
}

cJSON *kindschema_pick(const cJSON *document, const char *api_version, const char *kind)
{
    const cJSON *schemas = json_path(document, "components.schemas");
    const cJSON *root = find_root(schemas, api_version, kind);
    if (!root)
        return NULL;
    cJSON *picked = cJSON_CreateObject(), *own = json_object_at(picked, "schemas");
    json_set_str(picked, "root", root->string);
    cJSON_AddItemToObject(own, root->string, cJSON_Duplicate(root, true));
    pull(schemas, own, root, 0);
    return picked;
}

cJSON *kindschema_kinds(const cJSON *document)
{
    cJSON *list = cJSON_CreateArray();
    const cJSON *schema, *gvk;
    cJSON_ArrayForEach(schema, json_path(document, "components.schemas"))
    {
        gvk = json_get(schema, "x-kubernetes-group-version-kind");
        if (cJSON_GetArraySize(gvk) != 1) // DeleteOptions and the like have many
            continue;
        const char *group = json_str_or(gvk->child, "group", "");
        const char *version = json_str_or(gvk->child, "version", "");
        AUTO_FREE char *api = *group ? str_fmt("%s/%s", group, version) : mem_strdup(version);
        cJSON *one = cJSON_CreateObject();
        json_set_str(one, "apiVersion", api);
        json_set_str(one, "kind", json_str_or(gvk->child, "kind", ""));
        cJSON_AddItemToArray(list, one);
    }
    return list;
}

const cJSON *kind_resolved(const cJSON *picked, const cJSON *schema)
{
    for (int i = 0; schema && i < KIND_DEPTH; i++) {
        const char *name = ref_name(schema);
        const cJSON *all = json_get(schema, "allOf");
        if (name)
            schema = json_get(json_get(picked, "schemas"), name);
        else if (cJSON_GetArraySize(all) == 1 && !json_get(schema, "properties"))
            schema = all->child;
        else
            return schema;
    }
    return schema;
}

static bool is_required(const cJSON *schema, const char *name)
{
    const cJSON *one;
    cJSON_ArrayForEach(one, json_get(schema, "required"))
    {
        if (cJSON_IsString(one) && str_eq(one->valuestring, name))
            return true;
    }
    return false;
}

const cJSON *kind_values(const cJSON *schema)
{
    const cJSON *values = json_get(schema, "additionalProperties");
    return cJSON_IsObject(values) ? values : NULL;
}

bool kind_is_open(const cJSON *schema)
{
    const cJSON *fields = json_get(schema, "properties");
    return !fields || !fields->child ||
           json_bool_or(schema, "x-kubernetes-preserve-unknown-fields", false) ||
           cJSON_IsTrue(json_get(schema, "additionalProperties")) || kind_values(schema);
}

const cJSON *kind_root(const cJSON *picked)
{
    return json_get(json_get(picked, "schemas"), json_str_or(picked, "root", ""));
}

const cJSON *kindschema_at(const cJSON *picked, const char *const *path)
{
    const cJSON *schema = kind_root(picked);
    for (; schema && *path; path++) {
        const cJSON *s = kind_resolved(picked, schema);
        const cJSON *field = json_get(json_get(s, "properties"), *path);
        schema = str_eq(*path, "[]") ? json_get(s, "items") : field ? field : kind_values(s);
    }
    return schema;
}

void kindschema_fields(const cJSON *picked, const cJSON *schema, kindschema_field *fn, void *arg)
{
    const cJSON *s = kind_resolved(picked, schema), *one;
    cJSON_ArrayForEach(one, json_get(s, "properties"))
    {
        fn(arg, one->string, one, is_required(s, one->string));
    }
}

static const char *last_part(const char *name)
{
    const char *dot = name ? strrchr(name, '.') : NULL;
    return dot ? dot + 1 : name;
}

static void add_type(const cJSON *picked, const cJSON *schema, int depth, buf *out)
{
    const cJSON *all = json_get(schema, "allOf"), *s = kind_resolved(picked, schema);
    const char *name = ref_name(schema) ? ref_name(schema) : ref_name(all ? all->child : NULL);
    const char *type = json_str_or(s, "type", "");
    if (depth > KIND_DEPTH)
        return;
    if (json_get(s, "items")) {
        buf_str(out, "[]");
        add_type(picked, json_get(s, "items"), depth + 1, out);
    } else if (kind_values(s)) {
        buf_str(out, "map[string]");
        add_type(picked, kind_values(s), depth + 1, out);
    } else if (name && (!*type || str_eq(type, "object"))) {
        buf_str(out, last_part(name));
    } else {
        buf_str(out, !*type || str_eq(type, "object") ? "Object" : type);
    }
}

char *kindschema_type(const cJSON *picked, const cJSON *schema)
{
    AUTO_BUF out = {0};
    add_type(picked, schema, 0, &out);
    return mem_strdup(buf_cstr(&out));
}

const cJSON *kindschema_values(const cJSON *picked, const cJSON *schema)
{
    const cJSON *own = json_get(schema, "enum");
    return own ? own : json_get(kind_resolved(picked, schema), "enum");
}

const char *kindschema_words(const cJSON *picked, const cJSON *schema)
{
    const char *own = json_str(schema, "description");
    return own && *own ? own : json_str_or(kind_resolved(picked, schema), "description", "");
}
