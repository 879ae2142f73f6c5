// SPDX-License-Identifier: MIT
// What the pods of a run ask for and use, for its journal (script/journal/runs/cost.h): for each
// pod requests and limits, from when to when it had its node, and the most that was measured. It
// lives on the loop's thread for as long as the kernel; nobody waits for it, and where it may not
// look it records nothing.
//
//   an object is made ──> place: watch of its pods ──┐
//                                metrics.k8s.io ─────┴──> pod ──> recorded, when it has changed
#include "base/clock.h"
#include "base/data/hashmap.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/kinds/known.h"
#include "k8s/client/state/need.h"
#include "k8s/manifest/manifest.h"
#include "script/api/k8s/k8s.h"

#include <pthread.h>
#include <string.h>

enum { MEASURE_MS = 15000, PLACES_MOST = 32, PODS_MOST = 2000 };

struct meter {
    call_record_fn *record;
    void *arg;
    struct place *first;
    hashmap *pods; // by uid, to the address of a struct pod
    int n_pods;
    double begun;         // Unix seconds
    pthread_mutex_t lock; // calls of branches come from several threads
    char **known;         // the places, in words
};

// Where pods are looked for.
struct place {
    struct meter *meter;
    client *client;
    struct resource resource; // of pods
    char *ns, *labels;
    watch *watch;
    usage *usage; // NULL: nothing tells what they use
    struct place *next;
};

struct pod {
    cJSON *record;
    struct used told, peak; // told: as recorded
    bool measured, changed;
};

static void *make(call *c, err *e)
{
    struct meter *m = mem_alloc(sizeof *m);
    *m = (struct meter){.pods = hashmap_new(), .begun = (double)(clock_wall() / CLOCK_SEC)};
    pthread_mutex_init(&m->lock, NULL);
    m->known = mem_array(1, sizeof *m->known);
    m->record = call_recorder(c, &m->arg);
    return m;
}

static void close_place(struct place *p)
{
    watch_close(STEAL(p->watch));
    usage_close(STEAL(p->usage));
}

static void free_pod(void *arg, size_t value)
{
    struct pod *pod = (struct pod *)value;
    cJSON_Delete(pod->record);
    free(pod);
}

static void drop(void *arg)
{
    struct meter *m = arg;
    while (m->first) {
        struct place *p = m->first;
        m->first = p->next;
        close_place(p);
        free(p->ns);
        free(p->labels);
        free(p);
    }
    hashmap_each(m->pods, free_pod, NULL);
    hashmap_free(m->pods);
    strv_free(m->known);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

// ---- pods

static struct pod *find(const struct meter *m, const char *uid)
{
    size_t at;
    return uid && hashmap_get(m->pods, uid, strlen(uid), &at) ? (struct pod *)at : NULL;
}

static void set_number(struct pod *pod, cJSON *to, const char *name, double value)
{
    const cJSON *old = json_get(to, name);
    if (value <= 0 || (cJSON_IsNumber(old) && old->valuedouble == value))
        return;
    json_set(to, name, cJSON_CreateNumber(value));
    pod->changed = true;
}

static double seconds_at(const cJSON *object, const char *path)
{
    const char *text = json_path_str(object, path);
    int64_t at;
    return text && clock_parse_rfc3339(text, &at, NULL) == 0 ? (double)at / CLOCK_SEC : 0;
}

// When the last of its containers ended; 0: none says it.
static double end_of(const cJSON *object)
{
    double end = 0;
    const cJSON *status;
    cJSON_ArrayForEach(status, json_path(object, "status.containerStatuses"))
    {
        double at = seconds_at(status, "state.terminated.finishedAt");
        end = at > end ? at : end;
    }
    return end;
}

static bool is_over(const cJSON *object)
{
    const char *phase = json_path_str(object, "status.phase");
    return str_eq(phase, "Succeeded") || str_eq(phase, "Failed");
}

// "executor", "launcher"; else the kind of its owner: "Job", "ReplicaSet".
static void set_role(cJSON *record, const cJSON *object)
{
    const cJSON *owner = cJSON_GetArrayItem(json_path(object, "metadata.ownerReferences"), 0);
    const char *role = known_role(object);
    AUTO_FREE char *of =
        owner ? str_fmt("%s pod", json_str_or(owner, "kind", "")) : mem_strdup("pod");
    json_set_str(record, "role", role ? role : of);
}

static struct pod *pod_of(struct meter *m, const char *uid, const cJSON *object)
{
    struct pod *pod = find(m, uid);
    if (pod || m->n_pods >= PODS_MOST)
        return pod;
    m->n_pods++;
    pod = mem_alloc(sizeof *pod);
    *pod = (struct pod){.record = cJSON_CreateObject(), .changed = true};
    json_set_str(pod->record, "name", json_path_str(object, "metadata.name"));
    json_set_str(pod->record, "namespace", json_path_str(object, "metadata.namespace"));
    set_role(pod->record, object);
    hashmap_set(m->pods, uid, strlen(uid), (uintptr_t)pod);
    return pod;
}

static void take_need(struct pod *pod, const cJSON *object)
{
    struct need need;
    need_of_pod(object, &need);
    set_number(pod, pod->record, "cpu", (double)need.milli_cpu);
    set_number(pod, pod->record, "memory", (double)need.bytes);
    if (need.limit_cpu || need.limit_bytes) {
        cJSON *limits = json_object_at(pod->record, "limits");
        set_number(pod, limits, "cpu", (double)need.limit_cpu);
        set_number(pod, limits, "memory", (double)need.limit_bytes);
    }
    if (need.device)
        set_number(pod, json_object_at(pod->record, "devices"), need.device, (double)need.devices);
}

static void record(struct meter *m, const char *uid, struct pod *pod)
{
    if (!pod->changed)
        return;
    pod->changed = false;
    pod->told = pod->peak;
    if (pod->measured) {
        cJSON *peak = json_object_at(pod->record, "peak");
        json_set_int(peak, "cpu", pod->peak.milli_cpu);
        json_set_int(peak, "memory", pod->peak.bytes);
    }
    m->record(m->arg, "pod", uid, cJSON_Duplicate(pod->record, true));
}

// Pods of an object that was there before count from now on.
static double since_of(const struct place *p, const cJSON *object)
{
    double since = seconds_at(object, "status.startTime");
    bool own = json_str(json_path(object, "metadata.labels"), LABEL_RUN) != NULL;
    return since && !own && since < p->meter->begun ? p->meter->begun : since;
}

static void on_event(void *arg, enum watch_change change, const cJSON *object)
{
    struct place *p = arg;
    const char *uid = json_path_str(object, "metadata.uid");
    double since = since_of(p, object);
    bool gone = change == WATCH_DELETED;
    if (!uid || (!gone && (!since || !json_path_str(object, "spec.nodeName"))))
        return;
    struct pod *pod = gone ? find(p->meter, uid) : pod_of(p->meter, uid, object);
    if (!pod)
        return;
    if (since) { // of one that is missing in a new list nothing else is known
        take_need(pod, object);
        set_number(pod, pod->record, "since", since);
    }
    double end = is_over(object) || gone ? end_of(object) : 0;
    if ((is_over(object) || gone) && !json_get(pod->record, "until"))
        set_number(pod, pod->record, "until", end > 0 ? end : (double)(clock_wall() / CLOCK_SEC));
    const char *name = json_path_str(object, "metadata.name");
    if (p->usage && (gone || is_over(object)))
        usage_forget(p->usage, p->ns, name);
    else if (p->usage)
        usage_follow(p->usage, p->ns, name, uid);
    record(p->meter, uid, pod);
}

static void on_synced(void *arg)
{
    struct place *p = arg;
    usage_begin(p->usage);
}

// Who may not look records nothing; a server that is away comes back.
static void on_away(void *arg, const err *reason)
{
    if (reason->code == ERR_FORBIDDEN || reason->code == ERR_UNAUTHORIZED)
        close_place(arg);
}

// ---- use

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

// A small rise is recorded with the next large one, or at the pod's end.
static bool is_rise(int64_t now, int64_t told)
{
    return now > told + told / 10;
}

static void on_used(void *arg, const char *uid, const struct used *used)
{
    struct place *p = arg;
    struct pod *pod = find(p->meter, uid);
    if (!pod || !used)
        return;
    pod->peak.milli_cpu = larger(pod->peak.milli_cpu, used->milli_cpu);
    pod->peak.bytes = larger(pod->peak.bytes, used->bytes);
    pod->changed = !pod->measured || is_rise(pod->peak.milli_cpu, pod->told.milli_cpu) ||
                   is_rise(pod->peak.bytes, pod->told.bytes);
    pod->measured = true;
    record(p->meter, uid, pod);
}

// ---- places

static const struct watch_ops watching = {.event = on_event, .synced = on_synced, .away = on_away};
static const struct usage_ops measuring = {.changed = on_used};

struct order {
    struct meter *meter;
    struct place *place;
    const struct resource *used;
};

static void begin(void *arg)
{
    AUTO_FREE struct order *o = arg;
    struct place *p = o->place;
    p->next = o->meter->first;
    o->meter->first = p;
    if (o->used)
        p->usage = usage_open(p->client,
            &(struct usage_spec){
                .resource = o->used, .ns = p->ns, .labels = p->labels, .every_ms = MEASURE_MS},
            &measuring, p);
    p->watch = watch_open(p->client,
        &(struct watch_spec){
            .resource = &p->resource, .ns = p->ns, .labels = p->labels, .most = PODS_MOST},
        &watching, p);
}

// Is nobody there yet? From now on somebody is.
static bool is_new(struct meter *m, const struct target *t, const char *ns, const char *labels)
{
    AUTO_FREE char *words = str_fmt("%p %s %s", (void *)t->client, ns, labels);
    pthread_mutex_lock(&m->lock);
    bool new = strv_len(m->known) < PLACES_MOST;
    for (char **k = m->known; *k && new; k++)
        new = !str_eq(*k, words);
    if (new)
        m->known = strv_add(m->known, words);
    pthread_mutex_unlock(&m->lock);
    return new;
}

static void look_at(
    call *c, struct meter *m, const struct target *t, const char *ns, const char *labels)
{
    struct patience quick = k8s_quick(t);
    const struct resource *pods = client_resource_of(t->client, &quick, "v1", "Pod", NULL);
    if (!pods)
        return;
    struct order *o = mem_alloc(sizeof *o);
    struct place *p = mem_alloc(sizeof *p);
    *p = (struct place){.meter = m,
        .client = t->client,
        .resource = *pods,
        .ns = mem_strdup(ns),
        .labels = mem_strdup(labels)};
    *o = (struct order){m, p, usage_ask(t->client, &quick, pods, NULL)};
    loop_post(call_loop(c), begin, o);
}

// Have its pods the run's label (manifest_label)?
static bool labels_pods(const cJSON *part)
{
    for (const cJSON *item = part ? part->child : NULL; item; item = item->next)
        if (str_eq(item->string, LABEL_RUN) || labels_pods(item))
            return true;
    return false;
}

static void measure(call *c, const struct target *t, const char *ns, const char *labels)
{
    struct meter *m = call_shared(c, "meter", make, drop, NULL);
    if (is_new(m, t, ns, labels))
        look_at(c, m, t, ns, labels);
}

void k8s_meter_run(call *c, const struct target *t, const char *ns)
{
    AUTO_FREE char *run = manifest_label_value(call_run(c));
    AUTO_FREE char *labels = str_fmt("%s=%s", LABEL_RUN, run);
    measure(c, t, ns, labels);
}

void k8s_meter(call *c, const struct target *t, const cJSON *object)
{
    const char *ns = json_path_str(object, "metadata.namespace");
    bool own = known_is(object, "", "Pod") || labels_pods(json_get(object, "spec"));
    AUTO_FREE char *labels = own ? NULL : known_pods(object);
    if (ns && own)
        k8s_meter_run(c, t, ns);
    else if (ns && labels)
        measure(c, t, ns, labels);
}
