// SPDX-License-Identifier: MIT
#include "k8s/client/describe/events.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/connect/client.h"

#include <stdlib.h>
#include <string.h>

// When was it last seen? Old events count with lastTimestamp, new ones have a series or eventTime;
// those of events.k8s.io call the old ones deprecated.
const char *event_stamp(const cJSON *event)
{
    static const char *const places[] = {"lastTimestamp", "series.lastObservedTime",
        "deprecatedLastTimestamp", "eventTime", "firstTimestamp", "metadata.creationTimestamp"};
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        int64_t at;
        const char *text = json_path_str(event, places[i]);
        if (text && clock_parse_rfc3339(text, &at, NULL) == 0)
            return text;
    }
    return NULL;
}

int64_t event_time(const cJSON *event)
{
    int64_t at = 0;
    const char *text = event_stamp(event);
    return text && clock_parse_rfc3339(text, &at, NULL) == 0 ? at : 0;
}

// Stamps are whole seconds. Within a second, events are sorted by version: the one written first
// comes first. This needs versions that are numbers (which nobody guarantees).
static int by_time(const void *a, const void *b)
{
    const cJSON *x = *(cJSON *const *)a, *y = *(cJSON *const *)b;
    int64_t tx = event_time(x), ty = event_time(y);
    const char *vx = json_path_str(x, "metadata.resourceVersion");
    const char *vy = json_path_str(y, "metadata.resourceVersion");
    int64_t nx = 0, ny = 0;
    if (tx == ty && vx && vy && str_to_int(vx, &nx) && str_to_int(vy, &ny))
        return (nx > ny) - (nx < ny);
    return (tx > ty) - (tx < ty);
}

cJSON *events_sorted(cJSON *list)
{
    cJSON *items = cJSON_DetachItemFromObjectCaseSensitive(list, "items");
    cJSON_Delete(list);
    cJSON *sorted = cJSON_CreateArray();
    size_t n = items ? (size_t)cJSON_GetArraySize(items) : 0;
    cJSON **event = mem_array(n + 1, sizeof(cJSON *));
    for (size_t i = 0; i < n; i++)
        event[i] = cJSON_DetachItemFromArray(items, 0);
    qsort(event, n, sizeof *event, by_time);
    for (size_t i = 0; i < n; i++)
        cJSON_AddItemToArray(sorted, event[i]);
    free(event);
    cJSON_Delete(items);
    return sorted;
}

cJSON *client_events(client *c, const struct patience *p, const char *ns, const char *kind,
    const char *name, const char *uid, err *e)
{
    const struct resource *r = client_resource_of(c, p, "v1", "Event", e);
    if (!r)
        return NULL;
    AUTO_BUF fields = {0};
    if (name)
        buf_fmt(&fields, "involvedObject.name=%s", name);
    if (kind)
        buf_fmt(&fields, "%sinvolvedObject.kind=%s", fields.len ? "," : "", kind);
    if (uid)
        buf_fmt(&fields, "%sinvolvedObject.uid=%s", fields.len ? "," : "", uid);
    // Events of cluster-wide objects are kept in "default".
    cJSON *list = client_list(
        c, p, r, ns ? ns : "default", &(struct list_query){.fields = buf_cstr(&fields)}, e);
    return list ? events_sorted(list) : NULL;
}
