// SPDX-License-Identifier: MIT
#include "k8s/sandbox/nodes/kubelet.h"

#include "base/clock.h"
#include "base/loop/child.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/os/proctree.h"
#include "base/str.h"
#include "k8s/sandbox/nodes/container.h"
#include "k8s/sandbox/nodes/controller.h"
#include "k8s/sandbox/nodes/schedule.h"
#include "k8s/sandbox/nodes/volumes.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { GRACE_DEFAULT = 30 };

struct pod {
    struct pod *next;
    kubelet *kubelet;
    struct container_pod shared; // shared with its containers; .object is the newest snapshot
    char *uid, *ns, *name, *dir;
    struct container *init, *main;
    size_t init_n, main_n;
    int64_t started;      // wall ns: when the kubelet first saw it
    int64_t kill_at;      // mono ns: TERM was sent, KILL is due; 0 before
    int64_t volumes_at;   // mono ns: after a failure, do not try before
    int64_t volumes_wait; // the latest back-off
    bool has_volumes;
    const char *reason; // "DeadlineExceeded": the pod as a whole has failed
};

struct kubelet {
    struct container_host host;
    struct runtime runtime;
    controller *controller;
    char *dir, *roots; // folders of pods and of unpacked images
    struct pod *pods;
};

#define EVENT(p, type, ...)                                                                        \
    event_record((p)->kubelet->host.store, (struct event_source){"kubelet", SANDBOX_NODE},         \
        KIND(PODS), (p)->shared.object->json, NULL, type, __VA_ARGS__)

static void look_again(void *arg)
{
    struct pod *p = arg;
    controller_add(p->kubelet->controller, p->ns, p->name);
}

static struct pod *pod_new(kubelet *k, const snapshot *o)
{
    struct pod *p = mem_alloc(sizeof *p);
    *p = (struct pod){.next = k->pods,
        .kubelet = k,
        .uid = mem_strdup(o->uid),
        .ns = mem_strdup(o->ns),
        .name = mem_strdup(o->name),
        .dir = path_join(k->dir, o->uid),
        .started = clock_wall()};
    p->shared = (struct container_pod){&k->host, snapshot_ref(o), p->dir, look_again, p};
    p->init_n = (size_t)cJSON_GetArraySize(json_path(o->json, "spec.initContainers"));
    p->main_n = (size_t)cJSON_GetArraySize(json_path(o->json, "spec.containers"));
    p->init = mem_array(p->init_n, sizeof *p->init);
    p->main = mem_array(p->main_n, sizeof *p->main);
    for (size_t i = 0; i < p->init_n; i++)
        container_init(&p->init[i], &p->shared, true, i);
    for (size_t i = 0; i < p->main_n; i++)
        container_init(&p->main[i], &p->shared, false, i);
    return k->pods = p;
}

static void pod_free(struct pod *p)
{
    struct pod **at = &p->kubelet->pods;
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    for (size_t i = 0; i < p->init_n; i++)
        container_done(&p->init[i]);
    for (size_t i = 0; i < p->main_n; i++)
        container_done(&p->main[i]);
    path_remove(p->dir, NULL);
    snapshot_unref(p->shared.object);
    free(p->init);
    free(p->main);
    free(p->uid);
    free(p->ns);
    free(p->name);
    free(p->dir);
    free(p);
}

static struct pod *pod_find(kubelet *k, const char *uid)
{
    for (struct pod *p = k->pods; p; p = p->next)
        if (str_eq(p->uid, uid))
            return p;
    return NULL;
}

// Calls fn for each container, init containers first.
static void each(struct pod *p, void (*fn)(struct container *c))
{
    for (size_t i = 0; i < p->init_n; i++)
        fn(&p->init[i]);
    for (size_t i = 0; i < p->main_n; i++)
        fn(&p->main[i]);
}

static bool is_running(const struct pod *p)
{
    for (size_t i = 0; i < p->init_n; i++)
        if (container_is_running(&p->init[i]))
            return true;
    for (size_t i = 0; i < p->main_n; i++)
        if (container_is_running(&p->main[i]))
            return true;
    return false;
}

static int write_status(struct pod *p, err *e)
{
    ERR_GUARD(e);
    store *s = p->kubelet->host.store;
    struct container_state *init = mem_array(p->init_n, sizeof *init);
    struct container_state *main = mem_array(p->main_n, sizeof *main);
    for (size_t i = 0; i < p->init_n; i++)
        init[i] = p->init[i].state;
    for (size_t i = 0; i < p->main_n; i++)
        main[i] = p->main[i].state;
    cJSON *status = NULL, *copy = store_copy(s, KIND(PODS), p->ns, p->name);
    if (copy && str_eq(object_uid(copy), p->uid)) {
        struct pod_states states = {init, main, p->init_n, p->main_n};
        status = podstatus_build(copy, &states, is_running(p) ? NULL : p->reason,
            p->reason ? "Pod was active on the node longer than the specified deadline" : NULL,
            p->started, store_now(s));
        json_set(copy, "status", status);
    }
    free(init);
    free(main);
    if (!status) {
        cJSON_Delete(copy);
        return 0;
    }
    const snapshot *now = store_update(s, KIND(PODS), copy, STORE_STATUS, false, e);
    if (!now)
        return e->code == ERR_NOT_FOUND ? 0 : -1;
    snapshot_unref(p->shared.object);
    p->shared.object = snapshot_ref(now);
    return 0;
}

static const char *phase_of(const struct pod *p)
{
    const char *phase = json_path_str(p->shared.object->json, "status.phase");
    return phase ? phase : "Pending";
}

static bool is_over(const struct pod *p)
{
    return str_eq(phase_of(p), "Succeeded") || str_eq(phase_of(p), "Failed");
}

static const cJSON *look_up(void *arg, const char *kind, const char *name)
{
    struct pod *p = arg;
    const snapshot *found = store_get(p->kubelet->host.store,
        str_eq(kind, "Secret") ? KIND(SECRETS) : KIND(CONFIGMAPS), p->ns, name);
    return found ? found->json : NULL;
}

// /etc/hosts, as a kubelet writes it for pods without the host's network, with an alias for the
// pod's name.
static int write_hosts(struct pod *p, err *e)
{
    AUTO_FREE char *path = path_join(p->dir, "hosts");
    AUTO_BUF text = {0};
    buf_fmt(&text,
        "# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n::1\tlocalhost\n"
        "127.0.0.1\t%s\n",
        p->name);
    const cJSON *alias, *name;
    cJSON_ArrayForEach(alias, json_path(p->shared.object->json, "spec.hostAliases"))
    {
        buf_str(&text, json_str_or(alias, "ip", "127.0.0.1"));
        cJSON_ArrayForEach(name, json_get(alias, "hostnames"))
            buf_fmt(&text, "\t%s", name->valuestring);
        buf_char(&text, '\n');
    }
    return path_write(path, text.data, text.len, 0644, e);
}

static bool prepare_volumes(struct pod *p)
{
    if (p->has_volumes)
        return true;
    if (p->volumes_at > clock_mono())
        return false;
    err e = {0};
    AUTO_FREE char *folder = path_join(p->dir, "volumes");
    if (path_make_dirs(folder, 0700, &e) == 0 && write_hosts(p, &e) == 0 &&
        volumes_make(p->shared.object->json, folder, look_up, p, &e) == 0)
        return p->has_volumes = true;
    EVENT(p, "Warning", "FailedMount", "%s", e.text);
    // kubernetes/pkg/util/goroutinemap/exponentialbackoff: 500 ms, doubled, up to 2 m 2 s
    p->volumes_wait = p->volumes_wait ? p->volumes_wait * 2 : 500 * CLOCK_MS;
    if (p->volumes_wait > 122 * CLOCK_SEC)
        p->volumes_wait = 122 * CLOCK_SEC;
    p->volumes_at = clock_mono() + p->volumes_wait;
    return false;
}

static bool wants_restart(const struct pod *p, const struct container *c)
{
    if (c->state.phase != CONTAINER_TERMINATED)
        return false;
    enum restart_policy policy = podstatus_policy(p->shared.object->json);
    if (c->init) // done after a success; else run again unless Never
        return c->state.end.exit_code != 0 && policy != RESTART_NEVER;
    return policy == RESTART_ALWAYS ||
           (policy == RESTART_ON_FAILURE && c->state.end.exit_code != 0);
}

static void drive(struct pod *p, struct container *c)
{
    if (wants_restart(p, c))
        container_restart(c);
    container_advance(c);
}

// Starts the init containers one after another, then all others.
static void start_containers(struct pod *p)
{
    for (size_t i = 0; i < p->init_n; i++) {
        struct container *c = &p->init[i];
        drive(p, c);
        if (c->state.phase != CONTAINER_TERMINATED || c->state.end.exit_code != 0)
            return;
    }
    for (size_t i = 0; i < p->main_n; i++)
        drive(p, &p->main[i]);
}

// Sends TERM now and KILL after the grace, and sets an alarm for that.
static void stop_containers(struct pod *p, int64_t grace)
{
    int64_t now = clock_mono();
    if (!p->kill_at) {
        p->kill_at = clock_add(now, clock_of_seconds((double)grace));
        each(p, container_terminate);
    }
    if (now >= p->kill_at)
        each(p, container_kill);
    else
        controller_add_after(p->kubelet->controller, p->ns, p->name, p->kill_at - now);
}

static void earliest(int64_t *at, int64_t candidate)
{
    if (candidate && (!*at || candidate < *at))
        *at = candidate;
}

// When the next retry, back-off or deadline is due.
static void set_alarm(struct pod *p)
{
    int64_t at = 0, now = clock_mono();
    if (!p->has_volumes)
        earliest(&at, p->volumes_at);
    for (size_t i = 0; i < p->init_n; i++)
        if (p->init[i].state.phase == CONTAINER_WAITING)
            earliest(&at, p->init[i].retry_at);
    for (size_t i = 0; i < p->main_n; i++)
        if (p->main[i].state.phase == CONTAINER_WAITING)
            earliest(&at, p->main[i].retry_at);
    int64_t deadline =
        json_int_or(json_get(p->shared.object->json, "spec"), "activeDeadlineSeconds", 0);
    int64_t ends = clock_add(p->started, clock_of_seconds((double)deadline));
    if (deadline && !p->reason)
        earliest(&at, clock_add(now, clock_add(ends, -clock_wall())));
    if (at)
        controller_add_after(p->kubelet->controller, p->ns, p->name, at > now ? at - now : 0);
}

static bool is_past_deadline(const struct pod *p)
{
    int64_t seconds =
        json_int_or(json_get(p->shared.object->json, "spec"), "activeDeadlineSeconds", 0);
    return seconds && clock_wall() >= clock_add(p->started, clock_of_seconds((double)seconds));
}

static int64_t grace_of(const struct pod *p)
{
    const cJSON *o = p->shared.object->json;
    int64_t grace =
        json_int_or(json_get(o, "spec"), "terminationGracePeriodSeconds", GRACE_DEFAULT);
    return json_int_or(json_get(o, "metadata"), "deletionGracePeriodSeconds", grace);
}

// The pod is being deleted: writes its last status, then removes the object, unless a finalizer
// holds it.
static int finish_deletion(struct pod *p, err *e)
{
    ERR_GUARD(e);
    if (write_status(p, e))
        return -1;
    bool gone = false;
    struct store_delete now = {.uid = p->uid, .grace = 0};
    if (!store_delete(p->kubelet->host.store, KIND(PODS), p->ns, p->name, &now, &gone, e)) {
        if (e->code != ERR_NOT_FOUND && e->code != ERR_CONFLICT)
            return -1;
        gone = true;
    }
    if (gone)
        pod_free(p);
    return 0;
}

static int sync_pod(struct pod *p, err *e)
{
    bool deleting = object_is_deleting(p->shared.object->json);
    if (!deleting && !p->reason && !is_over(p) && is_past_deadline(p)) {
        p->reason = "DeadlineExceeded";
        EVENT(p, "Normal", "DeadlineExceeded",
            "Pod was active on the node longer than the specified deadline");
    }
    if (deleting || p->reason) {
        if (is_running(p)) {
            stop_containers(p, grace_of(p));
            return write_status(p, e);
        }
        return deleting ? finish_deletion(p, e) : write_status(p, e);
    }
    // Write the end before what follows from it, so that others can see it.
    if (write_status(p, e))
        return -1;
    if (is_over(p))
        return 0;
    if (prepare_volumes(p))
        start_containers(p);
    set_alarm(p);
    return write_status(p, e);
}

// The pod's object is gone (deleted with grace 0, or replaced by another of the same name): kills
// the containers without a grace.
static void abandon(struct pod *p)
{
    each(p, container_kill);
    if (!is_running(p))
        pod_free(p);
}

static int reconcile(void *arg, const char *ns, const char *name, err *e)
{
    kubelet *k = arg;
    store *s = k->host.store;
    const snapshot *o = store_get(s, KIND(PODS), ns, name);
    struct pod *p = NULL;
    for (struct pod *at = k->pods, *next; at; at = next) {
        next = at->next;
        if (!str_eq(at->ns, ns) || !str_eq(at->name, name))
            continue;
        if (o && str_eq(at->uid, o->uid))
            p = at;
        else
            abandon(at);
    }
    if (!o)
        return 0;
    const char *node = json_path_str(o->json, "spec.nodeName");
    if (!node || !*node) {
        const snapshot *here = store_get(s, KIND(NODES), "", SANDBOX_NODE);
        return here && !object_is_deleting(o->json) ? schedule_pod(s, o, here, e) : 0;
    }
    if (!str_eq(node, SANDBOX_NODE))
        return 0;
    if (!p)
        p = pod_new(k, o);
    if (p->shared.object != o) {
        snapshot_unref(p->shared.object);
        p->shared.object = snapshot_ref(o);
    }
    return sync_pod(p, e);
}

// A ConfigMap or Secret has changed; pods may be waiting for it.
static void changed(void *arg, const struct store_event *ev)
{
    kubelet *k = arg;
    if (ev->change == STORE_DELETED ||
        (ev->object->kind != KIND(CONFIGMAPS) && ev->object->kind != KIND(SECRETS)))
        return;
    for (struct pod *p = k->pods; p; p = p->next) {
        if (!str_eq(p->ns, ev->object->ns) || !str_eq(phase_of(p), "Pending"))
            continue;
        p->volumes_at = 0;
        for (size_t i = 0; i < p->main_n; i++)
            if (str_eq(p->main[i].why_backoff, "CreateContainerConfigError"))
                p->main[i].retry_at = 0;
        look_again(p);
    }
}

static const struct controller_ops pod_controller = {
    .kind = KIND(PODS), .reconcile = reconcile, .changed = changed};

static void pull_finished(void *arg)
{
    kubelet *k = arg;
    for (struct pod *p = k->pods; p; p = p->next)
        if (!is_over(p))
            look_again(p);
}

static struct container *container_find(kubelet *k, const cJSON *pod, const char *name)
{
    struct pod *p = pod_find(k, object_uid(pod));
    for (size_t i = 0; p && i < p->init_n; i++)
        if (str_eq(p->init[i].name, name))
            return &p->init[i];
    for (size_t i = 0; p && i < p->main_n; i++)
        if (str_eq(p->main[i].name, name))
            return &p->main[i];
    return NULL;
}

static char *log_path(void *arg, const cJSON *pod, const char *container, bool previous, err *e)
{
    struct container *c = container_find(arg, pod, container);
    char *path = c ? container_log(c, previous) : NULL;
    if (path)
        return path;
    const char *reason = c && c->state.reason ? c->state.reason : "ContainerCreating";
    if (previous)
        err_set(e, ERR_INVALID, "previous terminated container \"%s\" in pod \"%s\" not found",
            container, object_name(pod));
    else if (str_eq(reason, "ErrImagePull") || str_eq(reason, "ImagePullBackOff"))
        err_set(e, ERR_INVALID,
            "container \"%s\" in pod \"%s\" is waiting to start: trying and failing to pull image",
            container, object_name(pod));
    else
        err_set(e, ERR_INVALID, "container \"%s\" in pod \"%s\" is waiting to start: %s", container,
            object_name(pod), reason);
    return NULL;
}

static bool log_is_open(void *arg, const cJSON *pod, const char *container)
{
    struct container *c = container_find(arg, pod, container);
    return c && container_is_running(c);
}

kubelet *kubelet_open(sandbox *s, const struct pods_options *o, err *e)
{
    kubelet *k = mem_alloc(sizeof *k);
    k->dir = path_join(sandbox_dir(s), "pods");
    k->roots = path_join(sandbox_dir(s), "roots");
    k->host = (struct container_host){.loop = sandbox_loop(s),
        .store = sandbox_store(s),
        .logs = sandbox_logs(s),
        .runtime = &k->runtime};
    path_remove(k->dir, NULL); // leftovers of a killed sandbox
    if (path_make_dirs(k->dir, 0700, e) || path_make_dirs(k->roots, 0700, e) ||
        !(k->host.images =
                podimages_open(k->host.loop, o->images, k->roots, pull_finished, k, e))) {
        free(k->dir);
        free(k->roots);
        free(k);
        return NULL;
    }
    if (o->processes)
        runtime_plain(&k->runtime, o->program, o->worker);
    else
        runtime_probe(&k->runtime, o->program, o->bwrap, k->dir);
    logs_set_source(k->host.logs, (struct log_source){log_path, log_is_open, k});
    k->controller = controller_new(k->host.loop, k->host.store, &pod_controller, k);
    return k;
}

// Waits until no process of ours is left: bwrap's monitor ends with its namespace, a guard with its
// tree.
static void wait_for(pid_t pid)
{
    for (int i = 0; i < 500 && kill(pid, 0) == 0; i++) {
        AUTO_BUF stat = {0};
        const char *fields = process_fields(pid, &stat);
        if (!fields || *fields == 'Z')
            return;
        usleep(2000);
    }
}

static void kill_and_wait(struct container *c)
{
    if (!c->child)
        return;
    container_kill(c);
    wait_for(child_pid(c->child));
}

void kubelet_close(kubelet *k)
{
    if (!k)
        return;
    controller_free(k->controller);
    logs_set_source(k->host.logs, (struct log_source){0});
    for (struct pod *p = k->pods; p; p = p->next)
        each(p, container_kill);
    for (struct pod *p = k->pods; p; p = p->next)
        each(p, kill_and_wait);
    while (k->pods)
        pod_free(k->pods);
    podimages_close(k->host.images);
    path_remove(k->dir, NULL);
    path_remove(k->roots, NULL);
    runtime_done(&k->runtime);
    free(k->dir);
    free(k->roots);
    free(k);
}
