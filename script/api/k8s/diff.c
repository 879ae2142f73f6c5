// SPDX-License-Identifier: MIT
// The k8s bindings that compare and explain: what an apply would change, and what fields mean.
#include "base/data/linediff.h"
#include "base/json/yaml.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/describe/explain.h"
#include "k8s/manifest/manifest.h"
#include "script/api/k8s/k8s.h"

static const char mask[] = "***";

// Values are shown as kubectl shows them: whether they differ, but not what they are.
static void mask_values(cJSON *live, cJSON *merged)
{
    cJSON *item;
    cJSON_ArrayForEach(item, json_get(live, "data"))
    {
        cJSON *to = (cJSON *)json_get(merged, "data");
        const cJSON *other = json_get(to, item->string);
        bool differs = other && !json_equal(item, other);
        if (other)
            json_set_str(to, item->string, differs ? "*** (after)" : mask);
        cJSON_SetValuestring(item, differs ? "*** (before)" : mask);
    }
}

static void mask_new_values(cJSON *merged, const cJSON *live)
{
    cJSON *data = (cJSON *)json_get(merged, "data"), *item;
    cJSON_ArrayForEach(item, data)
    {
        if (!json_get(json_get(live, "data"), item->string) && cJSON_IsString(item))
            cJSON_SetValuestring(item, mask);
    }
}

// kubectl apply without --server-side keeps the whole object in an annotation.
static void mask_annotation(cJSON *object)
{
    static const char key[] = "kubectl.kubernetes.io/last-applied-configuration";
    cJSON *annotations = (cJSON *)json_get(json_get(object, "metadata"), "annotations");
    if (json_get(annotations, key))
        json_set_str(annotations, key, mask);
}

static void mask_secret(cJSON *live, cJSON *merged)
{
    if (!str_eq(json_str(merged, "kind"), "Secret"))
        return;
    mask_new_values(merged, live);
    mask_values(live, merged);
    mask_annotation(live);
    mask_annotation(merged);
}

// An apply keeps the labels by which firesteel knows its objects, and gives them to new ones: no
// difference of the manifest.
static void keep_labels(const cJSON *live, cJSON *metadata)
{
    k8s_keep_marks(live, metadata);
    cJSON *labels = json_object_at(metadata, "labels");
    if (!json_get(labels, LABEL_MANAGED_BY))
        json_set_str(labels, LABEL_MANAGED_BY,
            json_str(json_path(live, "metadata.labels"), LABEL_MANAGED_BY));
    if (!labels->child)
        cJSON_DeleteItemFromObjectCaseSensitive(metadata, "labels");
}

static void print_object(cJSON *object, buf *out)
{
    if (!object)
        return;
    cJSON_DeleteItemFromObjectCaseSensitive((cJSON *)json_get(object, "metadata"), "managedFields");
    yaml_print(out, object);
}

// The name of the files that kubectl compares: "apps.v1.Deployment.NAMESPACE.NAME".
static char *file_name(const struct target *t)
{
    const struct resource *r = t->resource;
    return str_fmt("%s%s%s.%s.%s.%s", r->group, *r->group ? "." : "", r->version, r->kind,
        r->namespaced ? t->ns : "", t->name);
}

static void take_difference(const struct target *t, cJSON *live, cJSON *merged, cJSON *result)
{
    AUTO_BUF text = {0}, old = {0}, new_ = {0};
    AUTO_FREE char *name = file_name(t);
    AUTO_FREE char *from = str_fmt("LIVE/%s", name);
    AUTO_FREE char *to = str_fmt("MERGED/%s", name);
    mask_secret(live, merged);
    print_object(live, &old);
    print_object(merged, &new_);
    buf_fmt(&text, "diff -u -N %s %s\n", from, to);
    bool differs = linediff(&text, from, to, buf_cstr(&old), buf_cstr(&new_));
    json_set_bool(result, "differs", differs);
    json_set_str(result, "name", name);
    if (differs)
        json_set(result, "text", k8s_text(&text));
}

int k8s_diff(call *c, const cJSON *args, cJSON **result, err *e)
{
    const cJSON *given = json_get(args, "object");
    struct target t;
    if (k8s_target(c, given, false, &t, e) != 0)
        return -1;
    const char *ns = json_path_str(given, "metadata.namespace");
    t.ns = ns ? ns : t.ns;
    t.name = json_path_str(given, "metadata.name");
    if (!t.name)
        return err_set(e, ERR_USAGE, "k8s.diff: a %s needs metadata.name", t.resource->kind);
    err why = {0};
    AUTO_JSON *live = k8s_object(c, &t, &why);
    if (!live && why.code != ERR_NOT_FOUND)
        return err_set(e, why.code, "%s", why.text);
    AUTO_JSON *object = cJSON_Duplicate(given, true);
    keep_labels(live, json_object_at(object, "metadata"));
    AUTO_JSON *merged = client_apply(
        t.client, &t.patience, t.resource, object, json_bool_or(args, "force", false), true, e);
    if (!merged)
        return -1;
    *result = cJSON_CreateObject();
    take_difference(&t, live, merged, *result);
    return 0;
}

static int explain_target_of(call *c, const cJSON *args, struct target *t, char ***path, err *e)
{
    const char *words = json_str(args, "words"), *field = json_str_or(args, "field", "");
    if (!words) {
        *path = *field ? strv_split(field, '.') : mem_array(1, sizeof **path);
        return k8s_target(c, args, false, t, e);
    }
    *t = (struct target){.client = bind_client(c, e), .patience = bind_patience(c)};
    *path = NULL;
    if (!t->client)
        return -1;
    t->resource =
        explain_target(t->client, &t->patience, words, json_str(args, "api_version"), path, e);
    return t->resource ? 0 : -1;
}

int k8s_explain_kind(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct target t;
    char **path;
    AUTO_BUF text = {0};
    int done = explain_target_of(c, args, &t, &path, e);
    AUTO_JSON *document = done == 0 ? client_openapi(t.client, &t.patience, t.resource, e) : NULL;
    if (document)
        done =
            explain(&text, document, t.resource, path, json_bool_or(args, "recursive", false), e);
    strv_free(path);
    if (!document || done != 0)
        return -1;
    *result = k8s_text(&text);
    return 0;
}
