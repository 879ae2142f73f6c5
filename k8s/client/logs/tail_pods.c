// SPDX-License-Identifier: MIT
// Which pods a tail reads: one, those of a selector, or those that descend from an object; and when
// no more can come.
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/connect/status.h"
#include "k8s/client/logs/tail_private.h"
#include "k8s/client/state/container.h"
#include "k8s/client/state/state.h"

void tail_stop_looking(tail *t)
{
    family_close(STEAL(t->family));
    watch_close(STEAL(t->watch));
    watch_close(STEAL(t->owner));
    operation_cancel(STEAL(t->asking));
    loop_timer_free(STEAL(t->retry));
}

struct adding {
    tail *tail;
    const cJSON *pod;
    const char *name;
};

static void add_container(void *arg, const char *name, const char *role)
{
    struct adding *a = arg;
    tail_add_reader(a->tail, a->pod, a->name, name);
}

static void note_container(tail *t, const cJSON *pod)
{
    const char *taken = container_default(pod);
    if (t->noted || t->container || t->all_containers || containers_count(pod) < 2)
        return;
    t->noted = true;
    AUTO_BUF text = {0};
    buf_fmt(&text, "the log is that of container %s of pod %s, which also has ", taken,
        json_path_str(pod, "metadata.name"));
    containers_note(&text, pod, taken);
    buf_str(&text, ": container= names one, all_containers = true reads all");
    t->note = buf_take(&text);
    tail_soon(t);
}

static void add_pod(tail *t, const cJSON *pod, const char *container)
{
    const char *name = json_path_str(pod, "metadata.name");
    if (!name)
        return;
    note_container(t, pod);
    if (container)
        tail_add_reader(t, pod, name, container);
    else if (t->all_containers)
        containers_each(pod, add_container, &(struct adding){t, pod, name});
    else
        tail_add_reader(t, pod, name, t->container ? t->container : container_default(pod));
}

static void on_relative(void *arg, const cJSON *pod, bool is)
{
    tail *t = arg;
    if (is)
        add_pod(t, pod, NULL);
    tail_soon(t);
}

static void on_pod(void *arg, enum watch_change change, const cJSON *pod)
{
    tail *t = arg;
    if (change != WATCH_DELETED) {
        t->family ? family_ask(t->family, pod) : add_pod(t, pod, NULL);
        return;
    }
    for (struct reader *r = t->readers; r; r = r->next)
        if (str_eq(r->uid, json_path_str(pod, "metadata.uid")))
            r->deleted = true;
    tail_soon(t);
}

static void on_synced(void *arg)
{
    tail *t = arg;
    t->listed = true;
    if (!t->follow || t->last_look)
        tail_finish(t);
}

static void ask_pod(void *arg);

// Without following, a refusal is the end; with following, we retry forever, as watches do.
static void on_away(void *arg, const err *reason)
{
    tail *t = arg;
    if (reason->code == ERR_NONE || (t->follow && reason->code != ERR_FORBIDDEN))
        return;
    if (t->pod) { // if we may not watch the pod, we may perhaps get it
        tail_stop_looking(t);
        t->retry = loop_timer_new(client_loop(t->client), ask_pod, t);
        loop_timer_start(t->retry, 0, 0);
        return;
    }
    t->error = *reason;
    tail_finish(t);
}

static const struct watch_ops pod_ops = {.event = on_pod, .synced = on_synced, .away = on_away};

static void watch_pods(tail *t)
{
    // Pods need no discovery: every server has them.
    t->pods = (struct resource){
        .group = "", .version = "v1", .plural = "pods", .kind = "Pod", .namespaced = true};
    AUTO_FREE char *field = t->pod ? str_fmt("metadata.name=%s", t->pod) : NULL;
    watch_close(t->watch);
    t->watch = watch_open(t->client,
        &(struct watch_spec){
            .resource = &t->pods, .ns = t->ns, .labels = t->labels, .fields = field},
        &pod_ops, t);
}

// The owner makes no more pods; but we may not yet have heard of all that it has made.
static void owner_ended(tail *t)
{
    watch_close(STEAL(t->owner));
    if (!t->watch)
        return;
    t->last_look = true;
    watch_pods(t);
}

static void on_owner(void *arg, enum watch_change change, const cJSON *object)
{
    tail *t = arg;
    if (!str_eq(json_path_str(object, "metadata.uid"), t->owner_uid))
        return;
    t->owner_seen = true;
    if (change == WATCH_DELETED || state_of(object).outcome != OUTCOME_OPEN)
        owner_ended(t);
}

static void on_owner_synced(void *arg)
{
    tail *t = arg;
    if (!t->owner_seen)
        owner_ended(t);
}

static void on_owner_away(void *arg, const err *reason)
{
    tail *t = arg;
    if (reason->code == ERR_FORBIDDEN) // then we shall not notice its end
        watch_close(STEAL(t->owner));
}

static const struct watch_ops owner_ops = {
    .event = on_owner, .synced = on_owner_synced, .away = on_owner_away};

static void watch_owner(tail *t, const struct tail_spec *spec)
{
    AUTO_FREE char *field = str_fmt("metadata.name=%s", spec->owner_name);
    t->owner_uid = mem_strdup(spec->owner_uid);
    t->owner = watch_open(t->client,
        &(struct watch_spec){
            .resource = spec->owner, .ns = spec->owner->namespaced ? t->ns : NULL, .fields = field},
        &owner_ops, t);
}

static void pod_known(void *arg, struct http_response *r, const err *e)
{
    enum { TRIES = 6 };
    tail *t = arg;
    t->asking = NULL;
    AUTO_FREE char *what = str_fmt("read the log of pod %s in namespace %s", t->pod, t->ns);
    err why = *e;
    AUTO_JSON *pod = r->status == 200 ? json_parse(buf_cstr(&r->body), r->body.len, NULL) : NULL;
    if (why.code == ERR_NONE && r->status / 100 != 2)
        status_error(r, what, client_who(t->client), &why);
    else if (why.code != ERR_NONE)
        err_wrap(&why, "%s", what);
    else if (!pod)
        err_set(&why, ERR_UNAVAILABLE, "%s: the server's answer is no JSON", what);
    bool again = why.code == ERR_UNAVAILABLE && (t->follow || t->attempt < TRIES);
    if (again) {
        loop_timer_start(t->retry, (uint64_t)(back_off(t->attempt++) / CLOCK_MS), 0);
        return;
    }
    loop_timer_free(STEAL(t->retry));
    if (pod)
        add_pod(t, pod, NULL);
    else if (why.code == ERR_FORBIDDEN) // who may not look at it may perhaps read its log
        tail_add_reader(t, NULL, t->pod, t->container);
    else
        t->error = why;
    tail_soon(t);
}

static const struct http_stream_ops ask_ops = {.done = pod_known};

static void ask_pod(void *arg)
{
    tail *t = arg;
    AUTO_BUF path = {0};
    buf_str(&path, "/api/v1/namespaces/");
    url_escape(&path, t->ns);
    buf_str(&path, "/pods/");
    url_escape(&path, t->pod);
    t->asking = operation_start(t->client,
        &(struct request){
            .path = buf_cstr(&path), .idle_timeout_ms = 30000, .what = "look for a pod"},
        &ask_ops, t);
}

void tail_finish(tail *t)
{
    watch_close(STEAL(t->watch));
    watch_close(STEAL(t->owner));
    tail_soon(t);
}

void tail_drain(tail *t)
{
    t->follow = false;
    for (struct reader *r = t->readers; r; r = r->next)
        if (r->log)
            logs_drain(r->log);
    if (!t->watch || t->listed)
        tail_finish(t);
}

// All are known from the beginning, and nobody tells of others.
static void add_objects(tail *t, const cJSON *objects)
{
    const cJSON *one, *first = json_get(objects->child, "pod");
    cJSON_ArrayForEach(one, objects)
    {
        const char *ns = json_path_str(json_get(one, "pod"), "metadata.namespace");
        t->spread = t->spread || !str_eq(ns, json_path_str(first, "metadata.namespace"));
    }
    cJSON_ArrayForEach(one, objects)
    {
        add_pod(t, json_get(one, "pod"), json_str(one, "container"));
    }
    t->listed = true;
    tail_soon(t);
}

void tail_look(tail *t, const struct tail_spec *spec)
{
    if (spec->objects) {
        add_objects(t, spec->objects);
        return;
    }
    if (spec->owner && t->follow)
        watch_owner(t, spec);
    if (spec->root_uid)
        t->family = family_open(t->client, spec->ns, spec->root_uid, on_relative, t);
    if (spec->pod && !t->owner) {
        t->retry = loop_timer_new(client_loop(t->client), ask_pod, t);
        ask_pod(t);
    } else {
        watch_pods(t);
    }
}
