// SPDX-License-Identifier: MIT
#include "script/api/preflight/reach.h"

#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/kinds/known.h"
#include "k8s/client/state/condition.h"

#include <string.h>

#define QUEUE_LABEL   "kueue.x-k8s.io/queue-name"
#define DEFAULT_CLASS "storageclass.kubernetes.io/is-default-class"

// Objects of a resource: NULL: the server has no such kind (*served is false), or they cannot be
// read.
static cJSON *all_of(struct flight *f, const char *resource, const char *ns, bool *served)
{
    const struct resource *r = client_resource(f->t.client, flight_ask(f), resource, NULL);
    *served = r != NULL;
    AUTO_JSON *list =
        r ? client_list(f->t.client, flight_ask(f), r, ns, &(struct list_query){0}, NULL) : NULL;
    return list ? cJSON_DetachItemFromObjectCaseSensitive(list, "items") : NULL;
}

static const cJSON *named(const cJSON *all, const char *name)
{
    const cJSON *one;
    cJSON_ArrayForEach(one, all)
    {
        if (str_eq(known_name(one), name))
            return one;
    }
    return NULL;
}

static char *names_of(const cJSON *all)
{
    AUTO_BUF names = {0};
    const cJSON *one;
    cJSON_ArrayForEach(one, all)
    {
        buf_fmt(&names, "%s%s", names.len ? ", " : "", known_name(one));
    }
    return names.len ? buf_take(&names) : mem_strdup("none");
}

// ---- queues

static const cJSON *inactive(const cJSON *queue)
{
    const cJSON *c = condition_find(queue, "Active");
    return str_eq(json_str(c, "status"), "False") ? c : NULL;
}

static void check_admits(struct flight *f, const char *kind, const cJSON *queue)
{
    const cJSON *c = inactive(queue);
    AUTO_FREE char *what = str_fmt("%s %s admits nothing now: %s", kind, known_name(queue),
        json_str_or(c, "message", "it is not active"));
    if (c)
        flight_add(f, FLIGHT_WARNING, what,
            "it would wait until who runs the cluster lets the queue go on");
}

static void check_kueue(struct flight *f, const char *queue)
{
    bool served;
    AUTO_JSON *all = all_of(f, "localqueues.kueue.x-k8s.io", f->ns, &served);
    AUTO_FREE char *there = names_of(all);
    if (!served) {
        flight_add(f, FLIGHT_WARNING,
            "its label " QUEUE_LABEL " names a queue, and this cluster has no Kueue: nothing holds "
            "it",
            NULL);
        return;
    }
    const cJSON *own = named(all, queue);
    if (all && !own) {
        AUTO_FREE char *what =
            str_fmt("namespace %s has no queue %s: it would be held for ever", f->ns, queue);
        AUTO_FREE char *next = str_fmt("queues that are there: %s", there);
        flight_add(f, FLIGHT_ERROR, what, next);
        return;
    }
    const char *cluster = json_path_str(own, "spec.clusterQueue");
    AUTO_JSON *wide = cluster ? all_of(f, "clusterqueues.kueue.x-k8s.io", NULL, &served) : NULL;
    const cJSON *of = named(wide, cluster);
    if (of && inactive(of))
        check_admits(f, "ClusterQueue", of);
    else
        check_admits(f, "queue", own);
}

static void check_volcano(struct flight *f)
{
    bool served;
    const char *queue = json_path_str(f->object, "spec.queue");
    AUTO_JSON *all = queue ? all_of(f, "queues.scheduling.volcano.sh", NULL, &served) : NULL;
    AUTO_FREE char *there = names_of(all);
    if (!all || named(all, queue))
        return;
    AUTO_FREE char *what = str_fmt("Volcano has no queue %s", queue);
    AUTO_FREE char *next = str_fmt("queues that are there: %s", there);
    flight_add(f, FLIGHT_ERROR, what, next);
}

void flight_queue(struct flight *f)
{
    const char *queue = json_str(json_path(f->object, "metadata.labels"), QUEUE_LABEL);
    if (queue && !(f->open && strstr(queue, f->open)))
        check_kueue(f, queue);
    if (known_is(f->object, "batch.volcano.sh", "Job"))
        check_volcano(f);
}

void flight_runtime(struct flight *f)
{
    if (!known_is(f->object, "trainer.kubeflow.org", "TrainJob"))
        return;
    const cJSON *ref = json_path(f->object, "spec.runtimeRef");
    const char *name = json_str(ref, "name");
    const char *kind = json_str_or(ref, "kind", "ClusterTrainingRuntime");
    bool wide = str_eq(kind, "ClusterTrainingRuntime"), served;
    AUTO_JSON *all = name && !(f->open && strstr(name, f->open))
                         ? all_of(f,
                               wide ? "clustertrainingruntimes.trainer.kubeflow.org"
                                    : "trainingruntimes.trainer.kubeflow.org",
                               wide ? NULL : f->ns, &served)
                         : NULL;
    AUTO_FREE char *there = names_of(all);
    if (!all || named(all, name))
        return;
    AUTO_FREE char *what = str_fmt("there is no %s %s", kind, name);
    AUTO_FREE char *next = str_fmt("runtimes of this kind that are there: %s", there);
    flight_add(f, FLIGHT_ERROR, what, next);
}

// ---- webhooks

static bool has(const cJSON *list, const char *word)
{
    const cJSON *one;
    cJSON_ArrayForEach(one, list)
    {
        if (cJSON_IsString(one) &&
            (str_eq(one->valuestring, word) || str_eq(one->valuestring, "*") ||
                str_eq(one->valuestring, "*/*")))
            return true;
    }
    return false;
}

static bool stands_before(const cJSON *hook, const char *group, const char *resource)
{
    const cJSON *rule;
    cJSON_ArrayForEach(rule, json_get(hook, "rules"))
    {
        if (has(json_get(rule, "operations"), "CREATE") &&
            has(json_get(rule, "apiGroups"), group) && has(json_get(rule, "resources"), resource))
            return true;
    }
    return false;
}

// Does a selector certainly leave the namespace out: by its name, or by labels that it asks for?
static bool leaves_out(const cJSON *selector, const char *ns)
{
    const cJSON *one;
    if (json_get(selector, "matchLabels") && json_get(selector, "matchLabels")->child)
        return true; // perhaps; then nothing is said
    cJSON_ArrayForEach(one, json_get(selector, "matchExpressions"))
    {
        bool by_name = str_eq(json_str(one, "key"), "kubernetes.io/metadata.name");
        bool in = str_eq(json_str(one, "operator"), "In");
        bool not_in = str_eq(json_str(one, "operator"), "NotIn");
        bool listed = has(json_get(one, "values"), ns);
        if ((by_name && in && !listed) || (by_name && not_in && listed) || (!by_name && !not_in))
            return true;
    }
    return false;
}

static bool is_selective(const cJSON *hook)
{
    const cJSON *selector = json_get(hook, "objectSelector");
    return selector && selector->child;
}

// Has the Service an endpoint that is ready? true also when that cannot be asked.
static bool is_served(struct flight *f, const char *ns, const char *service)
{
    AUTO_FREE char *labels = str_fmt("kubernetes.io/service-name=%s", service);
    AUTO_JSON *slices = k8s_items(&f->t, flight_ask(f), "discovery.k8s.io/v1", "EndpointSlice", ns,
        &(struct list_query){.labels = labels}, NULL);
    const cJSON *slice, *endpoint;
    cJSON_ArrayForEach(slice, slices)
    {
        cJSON_ArrayForEach(endpoint, json_get(slice, "endpoints"))
        {
            if (json_bool_or(json_get(endpoint, "conditions"), "ready", true))
                return true;
        }
    }
    return !slices;
}

static void check_hook(struct flight *f, const cJSON *hook)
{
    const struct resource *r = f->t.resource;
    const char *service = json_path_str(hook, "clientConfig.service.name"),
               *home = json_path_str(hook, "clientConfig.service.namespace");
    bool own = stands_before(hook, r->group, r->plural);
    bool pods = f->n_needs && stands_before(hook, "", "pods");
    if (!service || !home || str_eq(json_str(hook, "failurePolicy"), "Ignore") || (!own && !pods) ||
        is_selective(hook) || leaves_out(json_get(hook, "namespaceSelector"), f->ns) ||
        is_served(f, home, service))
        return;
    AUTO_FREE char *what =
        str_fmt("webhook %s stands before %s, and nothing answers it: Service %s in "
                "namespace %s has no endpoint that is ready",
            json_str_or(hook, "name", "?"), own ? r->plural : "its pods", service, home);
    AUTO_FREE char *next =
        str_fmt("what is behind it has to become ready: kubectl get pods --namespace=%s", home);
    flight_add(f, FLIGHT_ERROR, what, next);
}

// All webhooks, read once for all objects.
static const cJSON *hooks_of(struct flight *f)
{
    static const char *const kinds[] = {
        "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"};
    if (f->hooks)
        return f->hooks;
    f->hooks = cJSON_CreateArray();
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        AUTO_JSON *all = k8s_items(&f->t, flight_ask(f), "admissionregistration.k8s.io/v1",
            kinds[i], NULL, &(struct list_query){0}, NULL);
        cJSON *configuration, *hook;
        cJSON_ArrayForEach(configuration, all)
        {
            cJSON *list = cJSON_GetObjectItemCaseSensitive(configuration, "webhooks");
            while ((hook = cJSON_DetachItemFromArray(list, 0)))
                cJSON_AddItemToArray(f->hooks, hook);
        }
    }
    return f->hooks;
}

void flight_hooks(struct flight *f)
{
    const cJSON *hook;
    cJSON_ArrayForEach(hook, hooks_of(f))
    {
        check_hook(f, hook);
    }
}

// ---- claims

static bool has_default(const cJSON *classes)
{
    const cJSON *class;
    cJSON_ArrayForEach(class, classes)
    {
        const cJSON *notes = json_path(class, "metadata.annotations");
        if (str_eq(json_str(notes, DEFAULT_CLASS), "true"))
            return true;
    }
    return false;
}

static bool has_free_volume(const cJSON *volumes)
{
    const cJSON *volume;
    cJSON_ArrayForEach(volume, volumes)
    {
        if (str_eq(json_path_str(volume, "status.phase"), "Available"))
            return true;
    }
    return false;
}

void flight_claim(struct flight *f)
{
    bool served;
    const char *class = json_path_str(f->object, "spec.storageClassName");
    if (!known_is(f->object, "", "PersistentVolumeClaim") ||
        json_path_str(f->object, "spec.volumeName"))
        return;
    AUTO_JSON *classes = all_of(f, "storageclasses.storage.k8s.io", NULL, &served);
    AUTO_FREE char *there = names_of(classes);
    AUTO_FREE char *next = str_fmt("set spec.storageClassName; classes that are there: %s", there);
    if (!classes ||
        (class && (!*class || named(classes, class) || (f->open && strstr(class, f->open)))))
        return;
    if (class) {
        AUTO_FREE char *what = str_fmt(
            "claim %s names storage class %s, which is not there", known_name(f->object), class);
        flight_add(f, FLIGHT_ERROR, what, next);
        return;
    }
    AUTO_JSON *volumes =
        has_default(classes) ? NULL : all_of(f, "persistentvolumes", NULL, &served);
    AUTO_FREE char *what =
        str_fmt("claim %s names no storage class, and no class is the default: its "
                "pods would wait for a volume",
            known_name(f->object));
    if (!has_default(classes))
        flight_add(f, has_free_volume(volumes) ? FLIGHT_WARNING : FLIGHT_ERROR, what,
            classes->child
                ? next
                : "the cluster makes no volumes by itself: who runs it has to add a storage "
                  "class, or a PersistentVolume that fits");
}
