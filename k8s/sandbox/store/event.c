// SPDX-License-Identifier: MIT
#include "k8s/sandbox/store/event.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

#include <string.h>

enum { MESSAGE_MAX = 1024, KEPT = 1000 };

// An Event is named after its object, with a hash of its text: so a repetition is found at once.
static char *event_name(
    const cJSON *about, const char *field, const char *reason, const char *message)
{
    const char *const parts[] = {object_uid(about), field, reason, message};
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        for (const char *p = parts[i]; *p; p++)
            h = (h ^ (unsigned char)*p) * 1099511628211u;
    return str_fmt("%.200s.%016llx", object_name(about), (unsigned long long)h);
}

static cJSON *reference(const struct kind *k, const cJSON *about, const char *field)
{
    AUTO_FREE char *api = kind_api_version(k);
    cJSON *o = cJSON_CreateObject();
    json_set_str(o, "kind", k->kind);
    if (*object_namespace(about))
        json_set_str(o, "namespace", object_namespace(about));
    json_set_str(o, "name", object_name(about));
    json_set_str(o, "uid", object_uid(about));
    json_set_str(o, "apiVersion", api);
    json_set_str(o, "resourceVersion", json_path_str(about, "metadata.resourceVersion"));
    if (*field)
        json_set_str(o, "fieldPath", field);
    return o;
}

static cJSON *event_new(struct event_source source, const char *type, const char *reason,
    const char *message, int64_t now)
{
    cJSON *o = cJSON_CreateObject(), *from = NULL;
    json_set_str(o, "apiVersion", "v1");
    json_set_str(o, "kind", "Event");
    json_set_str(o, "reason", reason);
    json_set_str(o, "message", message);
    json_set_str(o, "type", type);
    from = json_object_at(o, "source");
    json_set_str(from, "component", source.component);
    if (source.host)
        json_set_str(from, "host", source.host);
    json_set_str(o, "reportingComponent", source.component);
    json_set_str(o, "reportingInstance", source.host ? source.host : "");
    object_set_time(o, "firstTimestamp", now);
    object_set_time(o, "lastTimestamp", now);
    json_set(o, "eventTime", cJSON_CreateNull());
    json_set_int(o, "count", 1);
    return o;
}

// The API server lets Events expire after an hour; here the oldest ones of a namespace are removed.
static void trim(store *s, const char *ns)
{
    AUTO_LIST all = store_list(s, KIND(EVENTS), ns);
    const snapshot *oldest = NULL;
    if (all.n <= KEPT)
        return;
    for (size_t i = 0; i < all.n; i++)
        if (!oldest || all.items[i]->version < oldest->version)
            oldest = all.items[i];
    store_delete(s, KIND(EVENTS), ns, oldest->name, NULL, NULL, NULL);
}

void event_record(store *s, struct event_source source, const struct kind *kind, const cJSON *about,
    const char *field, const char *type, const char *reason, const char *fmt, ...)
{
    AUTO_BUF message = {0};
    va_list args;
    va_start(args, fmt);
    buf_vfmt(&message, fmt, args);
    va_end(args);
    if (message.len > MESSAGE_MAX)
        message.data[message.len = MESSAGE_MAX] = 0;
    field = field ? field : "";
    const char *ns = *object_namespace(about) ? object_namespace(about) : "default";
    AUTO_FREE char *name = event_name(about, field, reason, buf_cstr(&message));
    cJSON *o = store_copy(s, KIND(EVENTS), ns, name);
    if (o) {
        json_set_int(o, "count", json_int_or(o, "count", 1) + 1);
        object_set_time(o, "lastTimestamp", store_now(s));
        store_update(s, KIND(EVENTS), o, STORE_ALL, false, NULL);
        return;
    }
    o = event_new(source, type, reason, buf_cstr(&message), store_now(s));
    json_set_str(json_object_at(o, "metadata"), "name", name);
    json_set_str(json_object_at(o, "metadata"), "namespace", ns);
    json_set(o, "involvedObject", reference(kind, about, field));
    store_create(s, KIND(EVENTS), o, STORE_ALL, false, NULL);
    trim(s, ns);
}
