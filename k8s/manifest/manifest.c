// SPDX-License-Identifier: MIT
#include "k8s/manifest/manifest.h"

#include "base/json/yaml.h"
#include "base/mem.h"
#include "base/str.h"

#include <ctype.h>
#include <string.h>

enum { LABEL_MOST = 63 };

// An item of a ConfigMapList that does not say so is a ConfigMap: servers leave that out.
static void complete(cJSON *item, const cJSON *list)
{
    const char *kind = json_str(list, "kind"), *version = json_str(list, "apiVersion");
    size_t n = strlen(kind) - strlen("List");
    if (!cJSON_IsObject(item) || !n || json_get(item, "kind") || json_get(item, "apiVersion"))
        return;
    AUTO_FREE char *own = mem_strndup(kind, n);
    json_set_str(item, "apiVersion", version);
    json_set_str(item, "kind", own);
}

// Adds the object to the list; a list of objects is split.
static int take(cJSON *out, cJSON *object, const char *where, err *e)
{
    AUTO_JSON *owned = object;
    if (!cJSON_IsObject(object))
        return err_set(e, ERR_INVALID, "%s is no object: it needs apiVersion and kind", where);
    const char *kind = json_str(object, "kind");
    cJSON *items = (cJSON *)json_get(object, "items");
    if (kind && str_ends(kind, "List") && cJSON_IsArray(items)) {
        for (int i = 1; items->child; i++) {
            AUTO_FREE char *place = str_fmt("%s, item %d", where, i);
            complete(items->child, owned);
            if (take(out, cJSON_DetachItemFromArray(items, 0), place, e) != 0)
                return -1;
        }
        return 0;
    }
    static const char *const needed[] = {"apiVersion", "kind"};
    for (size_t i = 0; i < ARRAY_LEN(needed); i++) {
        const char *value = json_str(object, needed[i]);
        if (!value || !*value)
            return err_set(e, ERR_INVALID, "%s has no %s", where, needed[i]);
    }
    const cJSON *m = json_get(object, "metadata");
    if (!json_str(m, "name") && !json_str(m, "generateName"))
        return err_set(e, ERR_INVALID, "%s (%s) has no metadata.name", where, kind);
    if (manifest_check_lengths(object, e) != 0)
        return err_wrap(e, "%s (%s)", where, kind);
    cJSON_AddItemToArray(out, STEAL(owned));
    return 0;
}

static int take_all(cJSON *out, cJSON *documents, const char *name, err *e)
{
    bool many = cJSON_GetArraySize(documents) > 1;
    for (int i = 1; documents->child; i++) {
        AUTO_FREE char *where = many ? str_fmt("%s: document %d", name, i) : mem_strdup(name);
        if (take(out, cJSON_DetachItemFromArray(documents, 0), where, e) != 0)
            return -1;
    }
    if (!out->child)
        return err_set(e, ERR_INVALID, "%s: there is no object in it", name);
    return 0;
}

cJSON *manifest_parse(const char *name, const char *text, size_t n, err *e)
{
    AUTO_JSON *documents = yaml_parse(text, n, e);
    if (!documents) {
        err_wrap(e, "%s", name);
        return NULL;
    }
    AUTO_JSON *out = cJSON_CreateArray();
    return take_all(out, documents, name, e) == 0 ? STEAL(out) : NULL;
}

cJSON *manifest_from_json(const cJSON *value, err *e)
{
    AUTO_JSON *documents = cJSON_IsArray(value) ? cJSON_Duplicate(value, 1) : cJSON_CreateArray();
    if (cJSON_IsObject(value))
        cJSON_AddItemToArray(documents, cJSON_Duplicate(value, 1));
    AUTO_JSON *out = cJSON_CreateArray();
    return take_all(out, documents, "the table", e) == 0 ? STEAL(out) : NULL;
}

char *manifest_label_value(const char *text)
{
    char *value = mem_strndup(text, LABEL_MOST);
    for (char *c = value; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("-_.", *c))
            *c = '-';
    size_t n = strlen(value); // it must begin and end with a letter or digit
    while (n && !isalnum((unsigned char)value[n - 1]))
        value[--n] = '\0';
    size_t skip = 0;
    while (value[skip] && !isalnum((unsigned char)value[skip]))
        skip++;
    memmove(value, value + skip, n - skip + 1);
    return value;
}

static void set_label(cJSON *labels, const char *name, const char *value)
{
    if (!json_get(labels, name))
        json_set_str(labels, name, value);
}

static void label(cJSON *holder, const char *run)
{
    cJSON *labels = json_object_at(holder, "labels");
    AUTO_FREE char *value = manifest_label_value(run);
    set_label(labels, LABEL_MANAGED_BY, "firesteel");
    if (*value)
        set_label(labels, LABEL_RUN, value);
}

static void label_template(const cJSON *owner, const char *path, const char *run)
{
    cJSON *template = (cJSON *)json_path(owner, path);
    if (cJSON_IsObject(template))
        label(json_object_at(template, "metadata"), run);
}

static void label_pods(cJSON *object, const char *run)
{
    const char *kind = json_str(object, "kind");
    static const char *const roles[] = {"spec.driver", "spec.executor"};
    if (str_eq(kind, "Job"))
        label_template(object, "spec.template", run);
    if (str_eq(kind, "SparkApplication")) {
        for (size_t i = 0; i < ARRAY_LEN(roles); i++) {
            cJSON *role = (cJSON *)json_path(object, roles[i]);
            if (cJSON_IsObject(role))
                label(role, run);
        }
    }
    const cJSON *replica;
    cJSON_ArrayForEach(replica, json_path(object, "spec.mpiReplicaSpecs"))
    {
        label_template(replica, "template", run);
    }
}

void manifest_label(cJSON *object, const char *run, bool with_pods)
{
    label(json_object_at(object, "metadata"), run);
    if (with_pods)
        label_pods(object, run);
}
