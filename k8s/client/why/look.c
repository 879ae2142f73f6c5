// SPDX-License-Identifier: MIT
#include "k8s/client/why/look.h"

#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/describe/events.h"
#include "k8s/client/kinds/known.h"
#include "k8s/client/state/condition.h"
#include "k8s/client/state/state.h"
#include "k8s/client/why/whypod.h"

#include <string.h>

enum {
    NODES_ASKED = 5,
    CLAIMS_ASKED = 5, // one by one
    NODES_LISTED = 200,
    RELATIVES = 500, // objects of one kind that are looked through
    OWNERS = 60,     // that are asked for, of a kind of which nothing is known
    GENERATIONS = 8
};

struct looking {
    const struct why_source *from;
    const cJSON *object;
    const char *ns;
    buf seen, missed;
};

static void add_to_list(buf *list, const char *words)
{
    buf_fmt(list, "%s%s", list->len ? ", " : "", words);
}

// `words` were looked at, or could not be: then why tells the reason.
static void note(struct looking *l, const char *words, const err *why)
{
    AUTO_BUF missed = {0};
    if (!why->code) {
        add_to_list(&l->seen, words);
        return;
    }
    buf_fmt(&missed, "%s (%s)", words, str_short(why->text, 300).text);
    add_to_list(&l->missed, buf_cstr(&missed));
}

static cJSON *list(
    struct looking *l, const char *kind, const char *ns, const struct list_query *query, err *e)
{
    return l->from->list(l->from->arg, kind, ns, query, e);
}

static cJSON *get(struct looking *l, const char *kind, const char *ns, const char *name, err *e)
{
    return l->from->get(l->from->arg, kind, ns, name, e);
}

static const char *uid_of(const cJSON *object)
{
    return json_path_str(object, "metadata.uid");
}

static bool is_pod(const cJSON *object)
{
    return known_is(object, "", "Pod");
}

// ---- the family

static bool is_owned_by(const cJSON *object, const char *uid)
{
    const cJSON *owner;
    cJSON_ArrayForEach(owner, json_path(object, "metadata.ownerReferences"))
    {
        if (uid && str_eq(json_str(owner, "uid"), uid))
            return true;
    }
    return false;
}

static void take_owned(cJSON *from, const char *uid, cJSON *to)
{
    for (cJSON *one = from ? from->child : NULL, *next; one; one = next) {
        next = one->next;
        if (is_owned_by(one, uid))
            cJSON_AddItemToArray(to, cJSON_DetachItemViaPointer(from, one));
    }
}

// What the object makes, and what that makes: JobSets, Jobs, RayClusters.
static void add_relatives(struct looking *l, const cJSON *object, cJSON *relatives, int depth)
{
    const struct known *row = known_of(object);
    const char *at = row ? row->makes : NULL, *part;
    for (size_t n; depth < GENERATIONS && (n = known_part(&at, &part));) {
        AUTO_FREE char *kind = mem_strndup(part, n);
        AUTO_JSON *all = list(l, kind, l->ns, &(struct list_query){.limit = RELATIVES}, NULL);
        AUTO_JSON *own = cJSON_CreateArray();
        take_owned(all, uid_of(object), own);
        for (cJSON *one; (one = cJSON_DetachItemFromArray(own, 0));) {
            cJSON_AddItemToArray(relatives, one);
            add_relatives(l, one, relatives, depth + 1);
        }
    }
}

static cJSON *ask_relatives(struct looking *l)
{
    cJSON *relatives = cJSON_CreateArray();
    add_relatives(l, l->object, relatives, 0);
    int n = cJSON_GetArraySize(relatives);
    AUTO_FREE char *words = str_fmt("%d object%s that it has made", n, n == 1 ? "" : "s");
    if (n)
        note(l, words, &(err){0});
    return relatives;
}

// Pods of the object by its kind's labels, and those of what it has made.
static cJSON *pods_by_labels(struct looking *l, const cJSON *relatives, err *e)
{
    AUTO_FREE char *labels = known_pods(l->object);
    cJSON *pods = labels ? list(l, "pods", l->ns, &(struct list_query){.labels = labels}, e)
                         : cJSON_CreateArray();
    const cJSON *one;
    if (!pods || pods->child)
        return pods;
    cJSON_ArrayForEach(one, relatives)
    {
        AUTO_FREE char *selector = known_pods(one);
        AUTO_JSON *some =
            selector ? list(l, "pods", l->ns, &(struct list_query){.labels = selector}, NULL)
                     : NULL;
        take_owned(some, uid_of(one), pods);
    }
    return pods;
}

// Owners of pods that were asked for once: by uid, an object or null.
static const cJSON *owner_by(struct looking *l, cJSON *owners, const cJSON *reference)
{
    const char *uid = json_str_or(reference, "uid", "");
    const cJSON *there = json_get(owners, uid);
    if (there || cJSON_GetArraySize(owners) >= OWNERS)
        return there;
    AUTO_FREE char *kind = str_fmt(
        "%s %s", json_str_or(reference, "apiVersion", ""), json_str_or(reference, "kind", ""));
    cJSON *owner = get(l, kind, l->ns, json_str_or(reference, "name", ""), NULL);
    cJSON_AddItemToObject(owners, uid, owner ? owner : cJSON_CreateNull());
    return json_get(owners, uid);
}

static bool descends(struct looking *l, cJSON *owners, const cJSON *object, int generations)
{
    const cJSON *reference;
    cJSON_ArrayForEach(reference, json_path(object, "metadata.ownerReferences"))
    {
        const char *uid = uid_of(l->object);
        if (uid && str_eq(json_str(reference, "uid"), uid))
            return true;
        const cJSON *owner = generations ? owner_by(l, owners, reference) : NULL;
        if (cJSON_IsObject(owner) && descends(l, owners, owner, generations - 1))
            return true;
    }
    return false;
}

// Of a kind of which nothing is known: every pod is asked whose it is.
static cJSON *pods_by_owners(struct looking *l, cJSON *relatives, err *e)
{
    AUTO_JSON *all = list(l, "pods", l->ns, &(struct list_query){.limit = RELATIVES}, e);
    AUTO_JSON *owners = cJSON_CreateObject();
    if (!all)
        return NULL;
    cJSON *pods = cJSON_CreateArray();
    for (cJSON *pod = all->child, *next; pod; pod = next) {
        next = pod->next;
        if (descends(l, owners, pod, GENERATIONS))
            cJSON_AddItemToArray(pods, cJSON_DetachItemViaPointer(all, pod));
    }
    for (cJSON *owner = owners->child, *next; owner; owner = next) {
        next = owner->next;
        if (cJSON_IsObject(owner) && descends(l, owners, owner, GENERATIONS))
            cJSON_AddItemToArray(relatives, cJSON_Duplicate(owner, true));
    }
    return pods;
}

static bool has_family(const cJSON *object)
{
    const struct known *row = known_of(object);
    const char *version = json_str_or(object, "apiVersion", "v1");
    return row ? row->pods || row->makes : !str_eq(version, "v1");
}

// All pods of the object, an array; NULL: it has none that are known, or we may not read them.
static cJSON *ask_pods(struct looking *l, cJSON *relatives)
{
    err why = {0};
    if (is_pod(l->object) || !has_family(l->object))
        return NULL;
    cJSON *pods = pods_by_labels(l, relatives, &why);
    if (pods && !pods->child && !known_of(l->object)) {
        cJSON_Delete(pods);
        pods = pods_by_owners(l, relatives, &why);
    }
    int n = cJSON_GetArraySize(pods);
    AUTO_FREE char *words = str_fmt("%d pod%s", n, n == 1 ? "" : "s");
    note(l, why.code ? "its pods" : words, &why);
    return pods;
}

// ---- events

static bool is_about(const cJSON *event, const cJSON *object)
{
    const char *uid = uid_of(object);
    return uid && str_eq(json_path_str(event, "involvedObject.uid"), uid);
}

static bool is_about_any(const cJSON *event, const cJSON *objects)
{
    const cJSON *one;
    cJSON_ArrayForEach(one, objects)
    {
        if (is_about(event, one))
            return true;
    }
    return false;
}

// The events that `fields` chooses, about the object, its relatives and its pods, oldest first.
static cJSON *ask_events(
    struct looking *l, const cJSON *pods, const cJSON *relatives, const char *fields, err *e)
{
    const char *ns = json_path_str(l->object, "metadata.namespace");
    cJSON *found =
        list(l, "events", ns ? ns : "default", &(struct list_query){.fields = fields}, e);
    if (!found)
        return NULL;
    cJSON *whole = cJSON_CreateObject();
    json_set(whole, "items", found);
    cJSON *all = events_sorted(whole), *kept = cJSON_CreateArray(), *event;
    while ((event = cJSON_DetachItemFromArray(all, 0))) {
        bool keep = is_about(event, l->object) || is_about_any(event, pods) ||
                    is_about_any(event, relatives);
        if (keep)
            cJSON_AddItemToArray(kept, event);
        else
            cJSON_Delete(event);
    }
    cJSON_Delete(all);
    return kept;
}

static cJSON *ask_warnings(struct looking *l, const cJSON *pods, const cJSON *relatives)
{
    err why = {0};
    cJSON *warnings = ask_events(l, pods, relatives, "type=Warning", &why);
    note(l, "warnings about it", &why);
    return warnings;
}

// ---- nodes

static const cJSON *placed(const cJSON *pod)
{
    return condition_find(pod, "PodScheduled");
}

static bool is_pending(const cJSON *pod)
{
    return str_eq(json_path_str(pod, "status.phase"), "Pending");
}

// `test` of the object, if it is a pod, or of any of its pods.
static bool any_pod(struct looking *l, const cJSON *pods, bool (*test)(const cJSON *pod))
{
    const cJSON *pod;
    if (is_pod(l->object))
        return test(l->object);
    cJSON_ArrayForEach(pod, pods)
    {
        if (test(pod))
            return true;
    }
    return false;
}

static bool is_bound_and_pending(const cJSON *pod)
{
    return is_pending(pod) && json_path_str(pod, "spec.nodeName");
}

// Pulls take long and are no warnings.
static cJSON *ask_pulls(struct looking *l, const cJSON *pods)
{
    err why = {0};
    if (!any_pod(l, pods, is_bound_and_pending))
        return NULL;
    cJSON *pulls = ask_events(l, pods, NULL, "reason=Pulling", &why);
    note(l, "what its nodes pull", &why);
    return pulls;
}

static bool finds_no_node(const cJSON *pod)
{
    return is_pending(pod) && str_eq(json_str(placed(pod), "status"), "False");
}

static bool has_named(const cJSON *objects, const char *name)
{
    const cJSON *one;
    cJSON_ArrayForEach(one, objects)
    {
        if (str_eq(known_name(one), name))
            return true;
    }
    return false;
}

static void add_node_of(struct looking *l, const cJSON *pod, cJSON *nodes, err *e)
{
    ERR_GUARD(e);
    const char *name = json_path_str(pod, "spec.nodeName"),
               *phase = json_path_str(pod, "status.phase");
    bool over = str_eq(phase, "Succeeded") || str_eq(phase, "Failed");
    if (!name || over || e->code || cJSON_GetArraySize(nodes) >= NODES_ASKED ||
        has_named(nodes, name))
        return;
    cJSON *node = get(l, "nodes", NULL, name, e);
    if (node)
        cJSON_AddItemToArray(nodes, node);
    if (e->code == ERR_NOT_FOUND) // it has gone, with its machine
        err_clear(e);
}

// The nodes that its pods are on; with a pod that finds none a page of all.
static cJSON *ask_nodes(struct looking *l, const cJSON *pods)
{
    err why = {0};
    const cJSON *pod;
    cJSON *nodes = NULL;
    if (any_pod(l, pods, finds_no_node))
        nodes = list(l, "nodes", NULL, &(struct list_query){.limit = NODES_LISTED}, &why);
    nodes = nodes ? nodes : cJSON_CreateArray();
    if (is_pod(l->object))
        add_node_of(l, l->object, nodes, &why);
    cJSON_ArrayForEach(pod, pods)
    {
        add_node_of(l, pod, nodes, &why);
    }
    if (nodes->child || why.code)
        note(l, nodes->child ? "their nodes" : "nodes", &why);
    return nodes;
}

// ---- claims

static bool waits_for_claim(const cJSON *pod)
{
    return finds_no_node(pod) &&
           strcasestr(json_str_or(placed(pod), "message", ""), "persistentvolumeclaim");
}

static void add_claims_of(struct looking *l, const cJSON *pod, cJSON *claims, err *e)
{
    const cJSON *volume;
    if (!waits_for_claim(pod))
        return;
    cJSON_ArrayForEach(volume, json_path(pod, "spec.volumes"))
    {
        const char *name = json_path_str(volume, "persistentVolumeClaim.claimName");
        bool asks = name && !has_named(claims, name) && cJSON_GetArraySize(claims) < CLAIMS_ASKED;
        cJSON *claim = asks ? get(l, "persistentvolumeclaims", l->ns, name, e) : NULL;
        if (claim)
            cJSON_AddItemToArray(claims, claim);
    }
}

// Those that its pods wait for, or the object itself.
static cJSON *ask_claims(struct looking *l, const cJSON *pods)
{
    err why = {0};
    const cJSON *pod;
    cJSON *claims = cJSON_CreateArray();
    if (known_is(l->object, "", "PersistentVolumeClaim"))
        cJSON_AddItemToArray(claims, cJSON_Duplicate(l->object, true));
    if (is_pod(l->object))
        add_claims_of(l, l->object, claims, &why);
    cJSON_ArrayForEach(pod, pods)
    {
        add_claims_of(l, pod, claims, &why);
    }
    if (claims->child || why.code)
        note(l, "its claims", &why);
    return claims;
}

static cJSON *ask_classes(struct looking *l, const cJSON *claims)
{
    err why = {0};
    if (!claims->child)
        return NULL;
    cJSON *classes = list(l, "storageclasses.storage.k8s.io", NULL, &(struct list_query){0}, &why);
    note(l, "storage classes", &why);
    return classes;
}

// ---- queues

// What holds an object: Kueue's Workload has its uid in a label.
static cJSON *workloads_of(struct looking *l, const cJSON *object, err *e)
{
    const char *uid = uid_of(object);
    AUTO_FREE char *labels = str_fmt("kueue.x-k8s.io/job-uid=%s", uid ? uid : "");
    return list(l, "workloads.kueue.x-k8s.io", l->ns, &(struct list_query){.labels = labels}, e);
}

static const cJSON *controller_of(const cJSON *object)
{
    const cJSON *owner;
    cJSON_ArrayForEach(owner, json_path(object, "metadata.ownerReferences"))
    {
        if (json_bool_or(owner, "controller", false))
            return owner;
    }
    return NULL;
}

// Of the object, or of the nearest owner that has one: there is one for the topmost.
static cJSON *kueue_holders(struct looking *l, err *e)
{
    AUTO_JSON *above = NULL;
    const cJSON *object = l->object;
    for (int i = 0; i < GENERATIONS && object; i++) {
        cJSON *found = workloads_of(l, object, e);
        if (!found || found->child)
            return found;
        cJSON_Delete(found);
        const cJSON *owner = controller_of(object);
        AUTO_FREE char *kind =
            str_fmt("%s %s", json_str_or(owner, "apiVersion", ""), json_str_or(owner, "kind", ""));
        cJSON *next = owner ? get(l, kind, l->ns, json_str_or(owner, "name", ""), NULL) : NULL;
        cJSON_Delete(above);
        above = next;
        object = next;
    }
    return cJSON_CreateArray();
}

static cJSON *volcano_holders(struct looking *l, const cJSON *relatives)
{
    cJSON *holders = cJSON_CreateArray();
    const cJSON *one;
    cJSON_ArrayForEach(one, relatives)
    {
        if (known_is(one, "scheduling.volcano.sh", "PodGroup"))
            cJSON_AddItemToArray(holders, cJSON_Duplicate(one, true));
    }
    return holders;
}

static bool names_queue(const cJSON *object)
{
    return json_str(json_path(object, "metadata.labels"), "kueue.x-k8s.io/queue-name") != NULL;
}

static cJSON *ask_holders(struct looking *l, const cJSON *pods, const cJSON *relatives)
{
    err why = {0};
    if (known_is(l->object, "kueue.x-k8s.io", "Workload")) {
        cJSON *own = cJSON_CreateArray();
        cJSON_AddItemToArray(own, cJSON_Duplicate(l->object, true));
        return own;
    }
    cJSON *volcano = volcano_holders(l, relatives);
    bool waits = known_is_suspended(l->object) || names_queue(l->object);
    if (volcano->child || !waits || (pods && pods->child && !known_is_suspended(l->object)))
        return volcano;
    cJSON_Delete(volcano);
    cJSON *found = kueue_holders(l, &why);
    if (why.code != ERR_NOT_FOUND) // there is no Kueue
        note(l, "its Workload", &why);
    return found;
}

// The LocalQueue and the ClusterQueue of a Workload.
static cJSON *ask_queues(struct looking *l, const cJSON *holders)
{
    const char *name = json_path_str(holders ? holders->child : NULL, "spec.queueName");
    err why = {0};
    cJSON *local = name ? get(l, "localqueues.kueue.x-k8s.io", l->ns, name, &why) : NULL;
    if (!local && why.code == ERR_NOT_FOUND) // which are there?
        return list(l, "localqueues.kueue.x-k8s.io", l->ns, &(struct list_query){0}, NULL);
    const char *cluster = json_path_str(local, "spec.clusterQueue");
    cJSON *all = cluster ? get(l, "clusterqueues.kueue.x-k8s.io", NULL, cluster, &why) : NULL;
    cJSON *queues = cJSON_CreateArray();
    if (local)
        cJSON_AddItemToArray(queues, local);
    if (all)
        cJSON_AddItemToArray(queues, all);
    if (name)
        note(l, "its queue", &why);
    return queues;
}

// Its place among those that wait (Kueue's visibility API); NULL: that is not served, or not
// allowed.
static cJSON *ask_place(struct looking *l, const cJSON *holders)
{
    static const char *const versions[] = {"v1beta2", "v1beta1"};
    const cJSON *holder = holders ? holders->child : NULL;
    const char *queue = json_path_str(holder, "spec.queueName");
    for (size_t i = 0; queue && i < ARRAY_LEN(versions); i++) {
        AUTO_FREE char *path = str_fmt("/apis/visibility.kueue.x-k8s.io/%s/namespaces/%s/"
                                       "localqueues/%s/pendingworkloads?limit=1000",
            versions[i], l->ns, queue);
        AUTO_JSON *all = l->from->ask(l->from->arg, path, NULL);
        const cJSON *items = json_get(all, "items"), *item;
        cJSON_ArrayForEach(item, items)
        {
            if (!str_eq(known_name(item), known_name(holder)))
                continue;
            cJSON *place = cJSON_Duplicate(item, true);
            json_set_int(place, "of", cJSON_GetArraySize(items));
            return place;
        }
        if (all)
            return NULL;
    }
    return NULL;
}

// ---- logs and operators

// The log of the pod that says most: of a driver that waits or has failed, else of a container that
// ended badly and has left no message.
static void ask_log(struct looking *l, const cJSON *pods, int64_t now, buf *log)
{
    bool spark = known_is(l->object, "sparkoperator.k8s.io", "SparkApplication");
    struct state s = state_of(l->object);
    const cJSON *pod = is_pod(l->object) ? l->object : NULL, *one, *end = NULL;
    const char *container = NULL;
    cJSON_ArrayForEach(one, pods)
    {
        if (spark && known_is_main(one))
            pod = one;
    }
    if (spark && !str_eq(s.text, "RUNNING") && s.outcome != OUTCOME_BAD)
        pod = NULL;
    if (!spark && !pod)
        pod = whypod_worst(pods, now);
    if (!pod)
        return;
    bool previous = false;
    if (!spark && !(end = whypod_silent_end(pod, &container, &previous)))
        return;
    l->from->log(l->from->arg, l->ns, known_name(pod), container, previous, log);
    if (log->len)
        note(l, "the last lines of its log", &(err){0});
}

static cJSON *ask_operators(struct looking *l)
{
    const struct known *row = known_of(l->object);
    const cJSON *status = json_get(l->object, "status");
    struct list_query q = {.labels = row ? row->operators : NULL};
    return q.labels && (!status || !status->child) ? list(l, "deployments.apps", NULL, &q, NULL)
                                                   : NULL;
}

// "its status, 2 pods; could not look at nodes (…)"
static void say_looked(const struct looking *l, buf *out)
{
    buf_fmt(out, "%s%s%s", buf_cstr(&l->seen), l->missed.len ? "; could not look at " : "",
        buf_cstr(&l->missed));
}

bool why_look(const struct why_source *source, const cJSON *object, const char *ns, int64_t now,
    struct why *out)
{
    struct looking l = {.from = source, .object = object, .ns = ns};
    const struct known *row = known_of(object);
    add_to_list(&l.seen, "its status");
    AUTO_JSON *relatives = row && row->makes ? ask_relatives(&l) : cJSON_CreateArray();
    AUTO_JSON *pods = ask_pods(&l, relatives);
    AUTO_JSON *warnings = ask_warnings(&l, pods, relatives);
    AUTO_JSON *pulls = ask_pulls(&l, pods);
    AUTO_JSON *nodes = ask_nodes(&l, pods);
    AUTO_JSON *claims = ask_claims(&l, pods);
    AUTO_JSON *classes = ask_classes(&l, claims);
    AUTO_JSON *holders = ask_holders(&l, pods, relatives);
    AUTO_JSON *queues = ask_queues(&l, holders);
    AUTO_JSON *place = ask_place(&l, holders);
    AUTO_JSON *operators = ask_operators(&l);
    AUTO_BUF log = {0};
    ask_log(&l, pods, now, &log);
    bool found = why_of(&(struct why_facts){.object = object,
                            .relatives = relatives,
                            .pods = pods,
                            .events = warnings,
                            .pulls = pulls,
                            .nodes = nodes,
                            .claims = claims,
                            .classes = classes,
                            .holders = holders,
                            .queues = queues,
                            .place = place,
                            .log = log.len ? buf_cstr(&log) : NULL,
                            .operators = operators},
        now, out);
    say_looked(&l, &out->looked);
    buf_done(&l.seen);
    buf_done(&l.missed);
    return found;
}
