// SPDX-License-Identifier: MIT
#include "k8s/sandbox/api/objects/alias.h"

#include "base/mem.h"
#include "base/str.h"

// The fields that have another name in events.k8s.io/v1 (k8s.io/api/events/v1) than in core v1.
static const struct {
    const char *core, *events;
} fields[] = {
    {"involvedObject", "regarding"},
    {"message", "note"},
    {"reportingComponent", "reportingController"},
    {"source", "deprecatedSource"},
    {"firstTimestamp", "deprecatedFirstTimestamp"},
    {"lastTimestamp", "deprecatedLastTimestamp"},
    {"count", "deprecatedCount"},
};

const struct kind *alias_stored(const struct kind *k)
{
    return k == KIND(NEWEVENTS) ? KIND(EVENTS) : k;
}

static void rename_field(cJSON *o, const char *from, const char *to)
{
    cJSON *value = cJSON_DetachItemFromObjectCaseSensitive(o, from);
    if (value)
        json_set(o, to, value);
}

static void set_type(cJSON *o, const struct kind *k)
{
    AUTO_FREE char *api = kind_api_version(k);
    json_set_str(o, "apiVersion", api);
    json_set_str(o, "kind", k->kind);
}

cJSON *alias_present(const struct kind *k, const cJSON *stored)
{
    cJSON *o = cJSON_Duplicate(stored, true);
    if (k == KIND(NEWEVENTS))
        for (size_t i = 0; i < ARRAY_LEN(fields); i++)
            rename_field(o, fields[i].core, fields[i].events);
    set_type(o, k);
    return o;
}

cJSON *alias_accept(const struct kind *k, cJSON *json)
{
    if (k == KIND(NEWEVENTS)) {
        for (size_t i = 0; i < ARRAY_LEN(fields); i++)
            rename_field(json, fields[i].events, fields[i].core);
        set_type(json, KIND(EVENTS));
    }
    return json;
}
