// SPDX-License-Identifier: MIT
#include "k8s/sandbox/api/discovery.h"

#include "base/mem.h"
#include "base/str.h"

#include <string.h>

static cJSON *strings(const char *const *items, size_t n)
{
    cJSON *a = cJSON_CreateArray();
    for (size_t i = 0; i < n; i++)
        cJSON_AddItemToArray(a, cJSON_CreateString(items[i]));
    return a;
}

static cJSON *verbs_of(const struct kind *k, const char *subresource)
{
    static const char *const all[] = {
        "create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"};
    static const char *const status[] = {"get", "patch", "update"};
    static const char *const singly[] = {
        "create", "delete", "get", "list", "patch", "update", "watch"};
    if (k->flags & KIND_IS_REVIEW)
        return strings((const char *const[]){"create"}, 1);
    if (!subresource && k == KIND(NAMESPACES))
        return strings(singly, ARRAY_LEN(singly));
    if (!subresource)
        return strings(all, ARRAY_LEN(all));
    return str_eq(subresource, "log") ? strings((const char *const[]){"get"}, 1)
                                      : strings(status, ARRAY_LEN(status));
}

static cJSON *comma_list(const char *text)
{
    char **items = strv_split(text, ',');
    cJSON *a = strings((const char *const *)items, strv_len(items));
    strv_free(items);
    return a;
}

// The plain form: APIVersions, APIGroupList, APIResourceList.
static cJSON *list_new(const char *kind, const char *api)
{
    cJSON *l = cJSON_CreateObject();
    json_set_str(l, "kind", kind);
    json_set_str(l, "apiVersion", api);
    return l;
}

static void add_resource(cJSON *resources, const struct kind *k, const char *subresource)
{
    cJSON *o = cJSON_CreateObject();
    AUTO_FREE char *name =
        subresource ? str_fmt("%s/%s", k->resource, subresource) : mem_strdup(k->resource);
    json_set_str(o, "name", name);
    json_set_str(o, "singularName", subresource ? "" : k->singular);
    json_set_bool(o, "namespaced", k->flags & KIND_NAMESPACED);
    json_set_str(o, "kind", k->kind);
    json_set(o, "verbs", verbs_of(k, subresource));
    if (!subresource && *k->short_names)
        json_set(o, "shortNames", comma_list(k->short_names));
    if (!subresource && *k->categories)
        json_set(o, "categories", comma_list(k->categories));
    cJSON_AddItemToArray(resources, o);
}

static cJSON *resource_list(const struct request *r, const char *group, const char *version)
{
    AUTO_FREE char *api = *group ? str_fmt("%s/%s", group, version) : mem_strdup(version);
    cJSON *l = list_new("APIResourceList", "v1");
    json_set_str(l, "groupVersion", api);
    cJSON *resources = json_array_at(l, "resources");
    const struct kind *k;
    for (size_t i = 0; (k = kinds_at(r->api->kinds, i)); i++) {
        if (!str_eq(k->group, group) || !str_eq(k->version, version))
            continue;
        add_resource(resources, k, NULL);
        if (k->flags & KIND_HAS_LOG)
            add_resource(resources, k, "log");
        if (k->flags & KIND_HAS_STATUS)
            add_resource(resources, k, "status");
    }
    if (cJSON_GetArraySize(resources))
        return l;
    cJSON_Delete(l);
    return NULL;
}

// The object in an array whose key has this value; if there is none, `make_new` makes it.
static cJSON *find_or_add(cJSON *array, const char *key, const char *value)
{
    cJSON *item;
    cJSON_ArrayForEach(item, array) if (str_eq(json_str(item, key), value)) return item;
    item = cJSON_CreateObject();
    json_set_str(item, key, value);
    cJSON_AddItemToArray(array, item);
    return item;
}

static cJSON *group_list(const struct request *r)
{
    cJSON *l = list_new("APIGroupList", "v1"), *groups = json_array_at(l, "groups");
    const struct kind *k;
    for (size_t i = 0; (k = kinds_at(r->api->kinds, i)); i++) {
        if (!*k->group)
            continue;
        AUTO_FREE char *api = kind_api_version(k);
        cJSON *g = find_or_add(groups, "name", k->group);
        cJSON *v = find_or_add(json_array_at(g, "versions"), "groupVersion", api);
        json_set_str(v, "version", k->version);
        if (!json_get(g, "preferredVersion"))
            json_set(g, "preferredVersion", cJSON_Duplicate(v, true));
    }
    return l;
}

// kube-apiserver names group and version for custom resources only.
static cJSON *response_kind(const struct kind *k)
{
    bool custom = k->flags & KIND_IS_CUSTOM;
    cJSON *o = cJSON_CreateObject();
    json_set_str(o, "group", custom ? k->group : "");
    json_set_str(o, "version", custom ? k->version : "");
    json_set_str(o, "kind", k->kind);
    return o;
}

static void add_subresource(cJSON *o, const struct kind *k, const char *name)
{
    cJSON *s = cJSON_CreateObject();
    json_set_str(s, "subresource", name);
    json_set(s, "responseKind", response_kind(k));
    json_set(s, "verbs", verbs_of(k, name));
    cJSON_AddItemToArray(json_array_at(o, "subresources"), s);
}

static cJSON *aggregated_resource(const struct kind *k)
{
    cJSON *o = cJSON_CreateObject();
    json_set_str(o, "resource", k->resource);
    json_set(o, "responseKind", response_kind(k));
    json_set_str(o, "scope", k->flags & KIND_NAMESPACED ? "Namespaced" : "Cluster");
    json_set_str(o, "singularResource", k->singular);
    json_set(o, "verbs", verbs_of(k, NULL));
    if (*k->short_names)
        json_set(o, "shortNames", comma_list(k->short_names));
    if (*k->categories)
        json_set(o, "categories", comma_list(k->categories));
    if (k->flags & KIND_HAS_LOG)
        add_subresource(o, k, "log");
    if (k->flags & KIND_HAS_STATUS)
        add_subresource(o, k, "status");
    return o;
}

// The aggregated form: one answer for all groups, versions and resources.
static cJSON *aggregated(const struct request *r, const char *form, bool core)
{
    AUTO_FREE char *api = str_fmt("apidiscovery.k8s.io/%s", form);
    cJSON *l = list_new("APIGroupDiscoveryList", api), *items = json_array_at(l, "items");
    json_set(l, "metadata", cJSON_CreateObject());
    const struct kind *k;
    for (size_t i = 0; (k = kinds_at(r->api->kinds, i)); i++) {
        if (core != !*k->group)
            continue;
        cJSON *g = NULL, *item;
        cJSON_ArrayForEach(
            item, items) if (str_eq(json_path_str(item, "metadata.name") ?: "", k->group)) g = item;
        if (!g) {
            g = cJSON_CreateObject();
            cJSON *meta = json_object_at(g, "metadata");
            if (!core)
                json_set_str(meta, "name", k->group);
            cJSON_AddItemToArray(items, g);
        }
        cJSON *v = find_or_add(json_array_at(g, "versions"), "version", k->version);
        json_set_str(v, "freshness", "Current");
        cJSON_AddItemToArray(json_array_at(v, "resources"), aggregated_resource(k));
    }
    return l;
}

// "v2", "v2beta1", or NULL when the client does not ask for the aggregated form first.
static const char *aggregated_form(const struct request *r)
{
    const char *accept = http_request_header(r->x, "Accept");
    if (!accept || !strstr(accept, "as=APIGroupDiscoveryList"))
        return NULL;
    const char *end = strchr(accept, ',');
    AUTO_FREE char *first = mem_strndup(accept, end ? (size_t)(end - accept) : strlen(accept));
    if (strstr(first, "v=v2beta1"))
        return "v2beta1";
    return strstr(first, "v=v2") ? "v2" : NULL;
}

static void reply_aggregated(struct request *r, const char *form, bool core)
{
    AUTO_FREE char *type =
        str_fmt("application/json;g=apidiscovery.k8s.io;v=%s;as=APIGroupDiscoveryList", form);
    AUTO_JSON *l = aggregated(r, form, core);
    AUTO_BUF b = {0};
    json_print(&b, l);
    http_respond(r->x, 200, type, buf_cstr(&b), b.len);
}

static cJSON *api_versions(void)
{
    cJSON *l = cJSON_CreateObject();
    json_set_str(l, "kind", "APIVersions");
    json_set(l, "versions", strings((const char *const[]){"v1"}, 1));
    json_set(l, "serverAddressByClientCIDRs", cJSON_CreateArray());
    return l;
}

static cJSON *version(const struct request *r)
{
    cJSON *v = cJSON_CreateObject();
    AUTO_FREE char *git = str_fmt("v1.33.0+firesteel-%s", r->api->version);
    json_set_str(v, "major", "1");
    json_set_str(v, "minor", "33");
    json_set_str(v, "gitVersion", git);
    json_set_str(v, "gitCommit", "");
    json_set_str(v, "gitTreeState", "clean");
    json_set_str(v, "buildDate", "1970-01-01T00:00:00Z");
    json_set_str(v, "goVersion", "none");
    json_set_str(v, "compiler", "C");
    json_set_str(v, "platform", "linux/amd64");
    return v;
}

static bool serve_roots(struct request *r, bool core)
{
    const char *form = aggregated_form(r);
    http_set_header(r->x, "Vary", "Accept");
    if (form)
        reply_aggregated(r, form, core);
    else
        reply_json(r, 200, core ? api_versions() : group_list(r));
    return true;
}

static bool serve_group(struct request *r, const char *group)
{
    AUTO_JSON *all = group_list(r);
    cJSON *g;
    cJSON_ArrayForEach(g, json_get(all, "groups")) if (str_eq(json_str(g, "name"), group))
    {
        cJSON *copy = cJSON_Duplicate(g, true);
        json_set_str(copy, "kind", "APIGroup");
        json_set_str(copy, "apiVersion", "v1");
        reply_json(r, 200, copy);
        return true;
    }
    return false;
}

static bool serve_resources(struct request *r, const char *group, const char *wanted)
{
    cJSON *l = resource_list(r, group, wanted);
    if (l)
        reply_json(r, 200, l);
    return l != NULL;
}

bool discovery_serve(struct request *r, char *const *path)
{
    size_t n = strv_len(path);
    bool core = n && str_eq(path[0], "api"), groups = n && str_eq(path[0], "apis");
    if (!str_eq(http_method(r->x), "GET"))
        return false;
    if (n == 1 && str_eq(path[0], "version"))
        return reply_json(r, 200, version(r)), true;
    if (n == 1 && (core || groups))
        return serve_roots(r, core);
    if (n == 2 && core)
        return serve_resources(r, "", path[1]);
    if (n == 2 && groups)
        return serve_group(r, path[1]);
    return n == 3 && groups && serve_resources(r, path[1], path[2]);
}
