// SPDX-License-Identifier: MIT
#include "script/api/pods/pod.h"

#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/state/container.h"

void k8s_pod_done(struct pod_choice *p)
{
    if (p->pod != p->object)
        cJSON_Delete(p->pod);
    cJSON_Delete(p->object);
    *p = (struct pod_choice){0};
}

char *k8s_pod_text(const struct pod_choice *p)
{
    return str_fmt("pod %s in namespace %s", p->name, p->ns);
}

// 2: it is ready; 1: it runs; 0: it does not, or ends.
static int fitness(const cJSON *pod)
{
    const cJSON *condition;
    if (!str_eq(json_path_str(pod, "status.phase"), "Running") ||
        json_path(pod, "metadata.deletionTimestamp"))
        return 0;
    cJSON_ArrayForEach(condition, json_path(pod, "status.conditions"))
    {
        if (str_eq(json_str(condition, "type"), "Ready"))
            return str_eq(json_str(condition, "status"), "True") ? 2 : 1;
    }
    return 1;
}

static cJSON *best_of(cJSON *pods)
{
    cJSON *pod, *best = NULL;
    int most = 0;
    cJSON_ArrayForEach(pod, pods)
    {
        int fit = fitness(pod);
        if (fit > most) {
            most = fit;
            best = pod;
        }
    }
    return best ? cJSON_DetachItemViaPointer(pods, best) : NULL;
}

static cJSON *find_pod(struct target *t, const cJSON *object, err *e)
{
    struct pods_of whose;
    if (k8s_pods_of(object, false, &whose, e) != 0)
        return NULL;
    AUTO_JSON *pods = whose.labels ? k8s_items(t, &t->patience, "v1", "Pod", t->ns,
                                         &(struct list_query){.labels = whose.labels}, NULL)
                                   : NULL;
    cJSON *pod = best_of(pods);
    if (!pod)
        err_set(e, ERR_NOT_FOUND,
            "%s %s in namespace %s has no pod that runs (%d have its labels): k8s.why tells more",
            t->resource->singular, t->name, t->ns, cJSON_GetArraySize(pods));
    k8s_pods_done(&whose);
    return pod;
}

int k8s_pods_can(struct target *t, const char *sub, err *e)
{
    bool exec = str_eq(sub, "exec");
    const struct resource *pods = client_resource_of(t->client, &t->patience, "v1", "Pod", e);
    if (!pods)
        return -1;
    if (exec ? pods->execs : pods->forwards)
        return 0;
    return err_set(e, ERR_INVALID, "the server of context %s %s", client_config(t->client)->context,
        exec ? "starts nothing in pods: it has no exec" : "forwards no ports of pods");
}

cJSON *k8s_pod_for(struct target *t, const cJSON *object, err *e)
{
    bool is_pod = str_eq(json_str(object, "kind"), "Pod");
    return is_pod ? cJSON_Duplicate(object, true) : find_pod(t, object, e);
}

struct search {
    const char *name;
    bool found;
};

static void look_at_one(void *arg, const char *name, const char *role)
{
    struct search *s = arg;
    s->found |= str_eq(s->name, name);
}

static int choose_container(struct pod_choice *p, const char *named, buf *note, err *e)
{
    struct search search = {.name = named};
    AUTO_BUF others = {0};
    p->container = named ? named : container_default(p->pod);
    if (named)
        containers_each(p->pod, look_at_one, &search);
    containers_note(&others, p->pod, named ? "" : p->container);
    if (named && !search.found)
        return err_set(e, ERR_NOT_FOUND, "pod %s has no container %s; it has %s", p->name, named,
            buf_cstr(&others));
    if (!named && others.len)
        buf_fmt(note, "-- container %s; there are also: %s --\n", p->container, others.data);
    return 0;
}

static int choose(struct pod_choice *p, const char *container, buf *note, err *e)
{
    bool is_pod = str_eq(json_str(p->object, "kind"), "Pod");
    p->pod = is_pod ? p->object : find_pod(&p->target, p->object, e);
    if (!p->pod)
        return -1;
    p->name = json_path_str(p->pod, "metadata.name");
    p->ns = json_path_str(p->pod, "metadata.namespace");
    const char *phase = json_path_str(p->pod, "status.phase");
    if (str_eq(phase, "Succeeded") || str_eq(phase, "Failed"))
        return err_set(e, ERR_INVALID,
            "pod %s in namespace %s has ended (%s): its log is what is left of it", p->name, p->ns,
            phase);
    return choose_container(p, container, note, e);
}

int k8s_pod_choose(const struct target *t, cJSON *object, const char *container, buf *note,
    struct pod_choice *out, err *e)
{
    *out = (struct pod_choice){.target = *t, .object = object};
    if (object && choose(out, container, note, e) == 0)
        return 0;
    k8s_pod_done(out);
    return -1;
}

int k8s_pod_of(call *c, const cJSON *args, struct pod_choice *out, err *e)
{
    struct target t;
    AUTO_BUF note = {0};
    if (k8s_target(c, args, true, &t, e) != 0)
        return -1;
    cJSON *object = k8s_object(c, &t, e);
    if (k8s_pod_choose(&t, object, json_str(args, "container"), &note, out, e) != 0)
        return -1;
    if (note.len)
        call_output(c, "stderr", note.data, note.len);
    return 0;
}
