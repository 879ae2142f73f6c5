// SPDX-License-Identifier: MIT
#include "k8s/sandbox/store/snapshot.h"
#include "base/mem.h"
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>

snapshot *snapshot_ref(const snapshot *s)
{
    snapshot *counted = (snapshot *)s;
    if (counted)
        counted->refs++;
    return counted;
}

void snapshot_unref(const snapshot *s)
{
    snapshot *counted = (snapshot *)s;
    if (!counted || --counted->refs)
        return;
    cJSON_Delete((cJSON *)counted->json);
    free(counted);
}

// Maps a uid to one bit of 64 (FNV-1a): enough to skip almost all objects without comparing text.
uint64_t snapshot_owner_bit(const char *uid)
{
    uint64_t h = 14695981039346656037u;
    for (; *uid; uid++)
        h = (h ^ (unsigned char)*uid) * 1099511628211u;
    return UINT64_C(1) << (h >> 58);
}

snapshot *snapshot_new(const struct kind *k, cJSON *json, int64_t version)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)version);
    json_set_str(json_object_at(json, "metadata"), "resourceVersion", text);

    snapshot *s = mem_alloc(sizeof *s);
    *s = (snapshot){
        .kind = k,
        .json = json,
        .version = version,
        .ns = object_namespace(json),
        .name = object_name(json),
        .uid = object_uid(json),
        .refs = 1,
    };
    const cJSON *ref;
    cJSON_ArrayForEach(ref, json_path(json, "metadata.ownerReferences")) s->owners |=
        snapshot_owner_bit(json_str_or(ref, "uid", ""));
    return s;
}

bool snapshot_is_owned_by(const snapshot *s, const char *uid)
{
    if (!(s->owners & snapshot_owner_bit(uid)))
        return false;
    const cJSON *ref;
    cJSON_ArrayForEach(
        ref, json_path(s->json, "metadata.ownerReferences")) if (str_eq(json_str(ref, "uid"),
                                                                     uid)) return true;
    return false;
}
