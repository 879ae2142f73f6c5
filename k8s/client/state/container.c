// SPDX-License-Identifier: MIT
#include "k8s/client/state/container.h"

#include "base/mem.h"
#include "base/str.h"

static const struct {
    const char *specs, *statuses, *role;
} lists[] = {
    {"spec.initContainers", "status.initContainerStatuses", "init"},
    {"spec.containers", "status.containerStatuses", ""},
    {"spec.ephemeralContainers", "status.ephemeralContainerStatuses", "debug"},
};

static const char *role_of(const cJSON *spec, const char *role)
{
    bool sidecar = str_eq(role, "init") && str_eq(json_str(spec, "restartPolicy"), "Always");
    return sidecar ? "sidecar" : role;
}

void containers_each(
    const cJSON *pod, void (*fn)(void *arg, const char *name, const char *role), void *arg)
{
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        const cJSON *c;
        cJSON_ArrayForEach(c, json_path(pod, lists[i].specs))
        {
            if (json_str(c, "name"))
                fn(arg, json_str(c, "name"), role_of(c, lists[i].role));
        }
    }
}

size_t containers_count(const cJSON *pod)
{
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        n += (size_t)cJSON_GetArraySize(json_path(pod, lists[i].specs));
    return n;
}

const char *container_default(const cJSON *pod)
{
    const cJSON *annotations = json_path(pod, "metadata.annotations");
    const char *named = json_str(annotations, "kubectl.kubernetes.io/default-container");
    return named ? named : json_path_str(pod, "spec.containers[0].name");
}

struct note {
    buf *out;
    const char *taken;
    size_t n;
};

static void note_one(void *arg, const char *name, const char *role)
{
    struct note *note = arg;
    if (str_eq(name, note->taken))
        return;
    buf_fmt(note->out, "%s%s%s%s%s", note->n++ ? ", " : "", name, *role ? " (" : "", role,
        *role ? ")" : "");
}

void containers_note(buf *out, const cJSON *pod, const char *taken)
{
    containers_each(pod, note_one, &(struct note){out, taken, 0});
}

static const cJSON *named(const cJSON *list, const char *name)
{
    const cJSON *c;
    cJSON_ArrayForEach(c, list)
    {
        if (str_eq(json_str(c, "name"), name))
            return c;
    }
    return NULL;
}

const cJSON *container_status(const cJSON *pod, const char *name)
{
    if (!name)
        return json_path(pod, "status.containerStatuses[0]");
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        const cJSON *found = named(json_path(pod, lists[i].statuses), name);
        if (found)
            return found;
    }
    return NULL;
}

const cJSON *container_first(const cJSON *pod, bool (*is)(const cJSON *status))
{
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        const cJSON *s;
        if (str_eq(lists[i].role, "debug"))
            continue;
        cJSON_ArrayForEach(s, json_path(pod, lists[i].statuses))
        {
            if (is(s))
                return s;
        }
    }
    return NULL;
}

// The restart policy of a container: the pod's, or another one if it is an init or a debug
// container.
static const char *policy_of(const cJSON *pod, const char *name)
{
    const char *policy = json_path_str(pod, "spec.restartPolicy");
    const cJSON *init = name ? named(json_path(pod, lists[0].specs), name) : NULL;
    const cJSON *debug = name ? named(json_path(pod, lists[2].specs), name) : NULL;
    if (debug)
        return "Never";
    if (init)
        return str_eq(json_str(init, "restartPolicy"), "Always") ? "Always"
               : str_eq(policy, "Never")                         ? "Never"
                                                                 : "OnFailure";
    return policy;
}

bool container_is_over(const cJSON *pod, const char *name)
{
    const char *phase = json_path_str(pod, "status.phase"), *policy = policy_of(pod, name);
    if (str_eq(phase, "Succeeded") || str_eq(phase, "Failed"))
        return true;
    const cJSON *ended = json_path(container_status(pod, name), "state.terminated");
    return ended && (str_eq(policy, "Never") || json_path(pod, "metadata.deletionTimestamp") ||
                        (str_eq(policy, "OnFailure") && json_int_or(ended, "exitCode", 1) == 0));
}
