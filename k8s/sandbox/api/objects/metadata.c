// SPDX-License-Identifier: MIT
#include "k8s/sandbox/api/objects/metadata.h"

#include "base/mem.h"
#include "base/str.h"
#include "k8s/sandbox/api/objects/status.h"
#include "k8s/sandbox/store/object.h"

#include <string.h>

static bool is_standard(const char *finalizer)
{
    return str_eq(finalizer, "foregroundDeletion") || str_eq(finalizer, "orphan") ||
           str_eq(finalizer, "kubernetes");
}

static void check_finalizer_names(const cJSON *list, cJSON **causes)
{
    const cJSON *f;
    int i = 0;
    cJSON_ArrayForEach(f, list)
    {
        AUTO_FREE char *field = str_fmt("metadata.finalizers[%d]", i++);
        if (cJSON_IsString(f) && !strchr(f->valuestring, '/') && !is_standard(f->valuestring))
            causes_add(causes, "FieldValueInvalid", field,
                "Invalid value: \"%s\": name is neither a standard finalizer name nor is it fully "
                "qualified",
                f->valuestring);
    }
}

// An object that is being deleted may lose finalizers, but gets no new ones.
static void check_new_finalizers(const cJSON *json, const cJSON *old, cJSON **causes)
{
    const cJSON *f;
    if (!old || !object_is_deleting(old))
        return;
    AUTO_BUF added = {0};
    cJSON_ArrayForEach(
        f, json_path(json, "metadata.finalizers")) if (cJSON_IsString(f) &&
                                                       !object_has_finalizer(old, f->valuestring))
        buf_fmt(&added, "%s\"%s\"", added.len ? ", " : "", f->valuestring);
    if (added.len)
        causes_add(causes, "FieldValueForbidden", "metadata.finalizers",
            "Forbidden: no new finalizers can be added if the object is being deleted, found new "
            "finalizers []string{%s}",
            buf_cstr(&added));
}

static void check_owners(const cJSON *list, cJSON **causes)
{
    static const struct {
        const char *key, *field, *why;
    } needed[] = {
        {"apiVersion", "metadata.ownerReferences.apiVersion", "version must not be empty"},
        {"kind", "metadata.ownerReferences.kind", "must not be empty"},
        {"name", "metadata.ownerReferences.name", "must not be empty"},
        {"uid", "metadata.ownerReferences.uid", "must not be empty"},
    };
    const cJSON *ref;
    int controllers = 0;
    cJSON_ArrayForEach(ref, list)
    {
        for (size_t i = 0; i < ARRAY_LEN(needed); i++)
            if (!*json_str_or(ref, needed[i].key, ""))
                causes_add(causes, "FieldValueInvalid", needed[i].field, "Invalid value: \"\": %s",
                    needed[i].why);
        controllers += json_bool_or(ref, "controller", false);
    }
    if (controllers > 1)
        causes_add(causes, "FieldValueInvalid", "metadata.ownerReferences",
            "Invalid value: Only one reference can have Controller set to true");
}

void metadata_check(const struct kind *k, const cJSON *json, const cJSON *old, cJSON **causes)
{
    if (!(k->flags & KIND_IS_CUSTOM))
        check_finalizer_names(json_path(json, "metadata.finalizers"), causes);
    check_new_finalizers(json, old, causes);
    check_owners(json_path(json, "metadata.ownerReferences"), causes);
}
