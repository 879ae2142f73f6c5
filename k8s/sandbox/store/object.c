// SPDX-License-Identifier: MIT
#include "k8s/sandbox/store/object.h"

#include "base/clock.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

static const cJSON *meta(const cJSON *o)
{
    return json_get(o, "metadata");
}

const char *object_name(const cJSON *o)
{
    return json_str_or(meta(o), "name", "");
}

const char *object_namespace(const cJSON *o)
{
    return json_str_or(meta(o), "namespace", "");
}

const char *object_uid(const cJSON *o)
{
    return json_str_or(meta(o), "uid", "");
}

int64_t object_version(const cJSON *o)
{
    int64_t version = 0;
    const char *text = json_str(meta(o), "resourceVersion");
    return text && str_to_int(text, &version) ? version : 0;
}

bool object_is_deleting(const cJSON *o)
{
    return json_str(meta(o), "deletionTimestamp") != NULL;
}

const char *object_label(const cJSON *o, const char *key)
{
    return json_str(json_get(meta(o), "labels"), key);
}

const char *object_annotation(const cJSON *o, const char *key)
{
    return json_str(json_get(meta(o), "annotations"), key);
}

void object_set_label(cJSON *o, const char *key, const char *value)
{
    json_set_str(json_object_at(json_object_at(o, "metadata"), "labels"), key, value);
}

void object_set_annotation(cJSON *o, const char *key, const char *value)
{
    json_set_str(json_object_at(json_object_at(o, "metadata"), "annotations"), key, value);
}

static int finalizer_index(const cJSON *o, const char *name)
{
    int i = 0;
    const cJSON *f;
    cJSON_ArrayForEach(f, json_get(meta(o), "finalizers"))
    {
        if (cJSON_IsString(f) && str_eq(f->valuestring, name))
            return i;
        i++;
    }
    return -1;
}

bool object_has_finalizer(const cJSON *o, const char *name)
{
    return finalizer_index(o, name) >= 0;
}

void object_add_finalizer(cJSON *o, const char *name)
{
    if (!object_has_finalizer(o, name))
        cJSON_AddItemToArray(
            json_array_at(json_object_at(o, "metadata"), "finalizers"), cJSON_CreateString(name));
}

void object_remove_finalizer(cJSON *o, const char *name)
{
    int i = finalizer_index(o, name);
    if (i < 0)
        return;
    cJSON *m = json_object_at(o, "metadata"), *list = json_array_at(m, "finalizers");
    cJSON_DeleteItemFromArray(list, i);
    if (cJSON_GetArraySize(list) == 0)
        cJSON_DeleteItemFromObjectCaseSensitive(m, "finalizers");
}

void object_set_controller(cJSON *o, const cJSON *owner)
{
    cJSON *ref = cJSON_CreateObject();
    json_set_str(ref, "apiVersion", json_str(owner, "apiVersion"));
    json_set_str(ref, "kind", json_str(owner, "kind"));
    json_set_str(ref, "name", object_name(owner));
    json_set_str(ref, "uid", object_uid(owner));
    json_set_bool(ref, "controller", true);
    json_set_bool(ref, "blockOwnerDeletion", true);
    cJSON_AddItemToArray(json_array_at(json_object_at(o, "metadata"), "ownerReferences"), ref);
}

const char *object_controller_uid(const cJSON *o)
{
    const cJSON *ref;
    cJSON_ArrayForEach(
        ref, json_get(meta(o), "ownerReferences")) if (json_bool_or(ref, "controller",
                                                           false)) return json_str(ref, "uid");
    return NULL;
}

const cJSON *object_condition(const cJSON *o, const char *type)
{
    const cJSON *c;
    cJSON_ArrayForEach(
        c, json_path(o, "status.conditions")) if (str_eq(json_str(c, "type"), type)) return c;
    return NULL;
}

static bool set_changed(cJSON *o, const char *key, const char *value)
{
    if (str_eq(json_str(o, key), value))
        return false;
    if (value)
        json_set_str(o, key, value);
    else
        cJSON_DeleteItemFromObjectCaseSensitive(o, key);
    return true;
}

bool object_set_condition(cJSON *o, const char *type, const char *status, const char *reason,
    const char *message, int64_t now)
{
    cJSON *c = (cJSON *)object_condition(o, type);
    if (!c) {
        c = cJSON_CreateObject();
        json_set_str(c, "type", type);
        cJSON_AddItemToArray(json_array_at(json_object_at(o, "status"), "conditions"), c);
    }
    bool moved = set_changed(c, "status", status);
    if (moved)
        object_set_time(c, "lastTransitionTime", now);
    bool changed = set_changed(c, "reason", reason);
    return set_changed(c, "message", message) || changed || moved;
}

void object_set_time(cJSON *o, const char *key, int64_t wall_ns)
{
    AUTO_BUF b = {0};
    clock_rfc3339(&b, wall_ns, CLOCK_SECONDS);
    json_set_str(o, key, buf_cstr(&b));
}

int64_t object_time(const cJSON *o, const char *key)
{
    int64_t ns = 0;
    const char *text = json_str(o, key);
    return text && clock_parse_rfc3339(text, &ns, NULL) == 0 ? ns : 0;
}
