// SPDX-License-Identifier: MIT
#include "base/json/jsonmerge.h"

#include "base/mem.h"

static void merge_into(cJSON *target, const cJSON *patch)
{
    const cJSON *p;
    cJSON_ArrayForEach(p, patch)
    {
        cJSON *old = (cJSON *)json_get(target, p->string);
        if (cJSON_IsNull(p)) {
            cJSON_DeleteItemFromObjectCaseSensitive(target, p->string);
        } else if (cJSON_IsObject(p)) {
            if (!cJSON_IsObject(old))
                json_set(target, p->string, cJSON_CreateObject());
            merge_into((cJSON *)json_get(target, p->string), p);
        } else {
            json_set(target, p->string, cJSON_Duplicate(p, true));
        }
    }
}

cJSON *json_merge(const cJSON *object, const cJSON *patch)
{
    cJSON *result = cJSON_Duplicate(cJSON_IsObject(patch) ? object : patch, true);
    if (cJSON_IsObject(patch))
        merge_into(result, patch);
    return result;
}

// The patch for a member that both objects have.
static cJSON *member_between(const cJSON *from, const cJSON *to)
{
    if (cJSON_IsObject(from) && cJSON_IsObject(to))
        return json_merge_between(from, to);
    return json_equal(from, to) ? NULL : cJSON_Duplicate(to, true);
}

cJSON *json_merge_between(const cJSON *from, const cJSON *to)
{
    AUTO_JSON *patch = cJSON_CreateObject();
    const cJSON *member;
    cJSON_ArrayForEach(member, to)
    {
        const cJSON *old = json_get(from, member->string);
        cJSON *change = old ? member_between(old, member) : cJSON_Duplicate(member, true);
        if (change)
            json_set(patch, member->string, change);
    }
    cJSON_ArrayForEach(member, from)
    {
        if (!json_get(to, member->string))
            cJSON_AddNullToObject(patch, member->string);
    }
    return patch->child ? STEAL(patch) : NULL;
}
