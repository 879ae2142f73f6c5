// SPDX-License-Identifier: MIT
#include "k8s/sandbox/nodes/schedule.h"

#include "base/data/quantity.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/sandbox/store/event.h"

#include <string.h>

static int64_t amount_of(const cJSON *quantity)
{
    AUTO_FREE char *text = quantity ? json_to_str(quantity) : NULL;
    int64_t milli = 0;
    if (quantity)
        quantity_parse(quantity->valuestring ? quantity->valuestring : text, &milli, NULL);
    return milli;
}

// Pods share CPU and memory with the whole machine, and are never refused for them; devices (names
// with a slash) must be there.
static const char *missing_device(const cJSON *pod, const cJSON *node)
{
    const cJSON *container, *limit;
    cJSON_ArrayForEach(container, json_path(pod, "spec.containers"))
    {
        cJSON_ArrayForEach(limit, json_path(container, "resources.limits"))
        {
            const cJSON *have = json_get(json_path(node, "status.allocatable"), limit->string);
            if (strchr(limit->string, '/') && amount_of(limit) > amount_of(have))
                return limit->string;
        }
    }
    return NULL;
}

static bool selector_matches(const cJSON *pod, const cJSON *node)
{
    const cJSON *want;
    cJSON_ArrayForEach(want, json_path(pod, "spec.nodeSelector"))
    {
        if (!str_eq(object_label(node, want->string), want->valuestring))
            return false;
    }
    return true;
}

char *schedule_fit(const cJSON *pod, const cJSON *node)
{
    const char *device = missing_device(pod, node);
    if (device)
        return str_fmt("0/1 nodes are available: 1 Insufficient %s. preemption: 0/1 nodes are "
                       "available: 1 No preemption victims found for incoming pod.",
            device);
    if (!selector_matches(pod, node))
        return mem_strdup("0/1 nodes are available: 1 node(s) didn't match Pod's node "
                          "affinity/selector. preemption: 0/1 nodes are available: 1 Preemption is "
                          "not helpful for scheduling.");
    return NULL;
}

int schedule_pod(store *s, const snapshot *pod, const snapshot *node, err *e)
{
    struct event_source source = {"default-scheduler", NULL};
    AUTO_FREE char *why = schedule_fit(pod->json, node->json);
    cJSON *copy = cJSON_Duplicate(pod->json, true);
    if (why) {
        if (object_set_condition(copy, "PodScheduled", "False", "Unschedulable", why, store_now(s)))
            event_record(
                s, source, KIND(PODS), pod->json, NULL, "Warning", "FailedScheduling", "%s", why);
    } else {
        json_set_str(json_object_at(copy, "spec"), "nodeName", node->name);
        object_set_condition(copy, "PodScheduled", "True", NULL, NULL, store_now(s));
    }
    AUTO_FREE char *ns = mem_strdup(pod->ns), *name = mem_strdup(pod->name);
    AUTO_FREE char *to = mem_strdup(node->name);
    const snapshot *now = store_update(s, KIND(PODS), copy, STORE_ALL, false, e);
    if (now && !why)
        event_record(s, source, KIND(PODS), now->json, NULL, "Normal", "Scheduled",
            "Successfully assigned %s/%s to %s", ns, name, to);
    return now ? 0 : -1;
}
