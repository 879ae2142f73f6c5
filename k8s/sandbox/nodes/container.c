// SPDX-License-Identifier: MIT
#include "k8s/sandbox/nodes/container.h"

#include "base/clock.h"
#include "base/data/digest.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "k8s/sandbox/api/sandbox.h"
#include "k8s/sandbox/nodes/launch.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BACKOFF_FIRST (10 * CLOCK_SEC)
#define BACKOFF_MAX   (300 * CLOCK_SEC)
#define BACKOFF_RESET (600 * CLOCK_SEC) // after so long a run, earlier failures are forgotten

static void set(char **slot, char *value)
{
    free(*slot);
    *slot = value;
}

#define EVENT(c, type, ...)                                                                        \
    event_record((c)->pod->host->store, (struct event_source){"kubelet", SANDBOX_NODE},            \
        KIND(PODS), (c)->pod->object->json, (c)->field, type, __VA_ARGS__)

static const cJSON *container_spec(const struct container *c)
{
    return cJSON_GetArrayItem(
        json_path(c->pod->object->json, c->init ? "spec.initContainers" : "spec.containers"),
        (int)c->index);
}

void container_init(struct container *c, struct container_pod *pod, bool init, size_t index)
{
    *c = (struct container){.pod = pod, .init = init, .index = index};
    const cJSON *spec = container_spec(c);
    c->name = mem_strdup(json_str_or(spec, "name", ""));
    c->image_ref = mem_strdup(json_str_or(spec, "image", ""));
    c->field = str_fmt("spec.%s{%s}", init ? "initContainers" : "containers", c->name);
    c->state = (struct container_state){.name = c->name,
        .image = c->image_ref,
        .reason = init || !json_path(pod->object->json, "spec.initContainers") ? "ContainerCreating"
                                                                               : "PodInitializing"};
    if (init)
        c->state.reason = "PodInitializing";
}

void container_done(struct container *c)
{
    child_free(c->child);
    podlog_close(c->log, clock_wall());
    podimage_unref(c->image);
    char *strings[] = {c->name, c->image_ref, c->image_id, c->id, c->last_id, c->message,
        c->end_message, c->last_message, c->field, c->root_dir};
    for (size_t i = 0; i < ARRAY_LEN(strings); i++)
        free(strings[i]);
    buf_done(&c->info);
}

static void wait_for(struct container *c, const char *reason, const char *message)
{
    set(&c->message, mem_strdup(message));
    c->state.phase = CONTAINER_WAITING;
    c->state.reason = reason;
    c->state.message = c->message;
}

// Returns the delay to use now, and doubles the one for the next time.
static int64_t next_delay(int64_t *backoff, int64_t first, int64_t max)
{
    int64_t delay = *backoff ? *backoff : first;
    *backoff = delay * 2 > max ? max : delay * 2;
    return delay;
}

static bool pulls_always(const struct container *c)
{
    const char *policy = json_str(container_spec(c), "imagePullPolicy");
    return policy ? str_eq(policy, "Always") : str_ends(c->image_ref, ":latest");
}

static bool pulls_never(const struct container *c)
{
    return str_eq(json_str(container_spec(c), "imagePullPolicy"), "Never");
}

static void pull_failed(struct container *c)
{
    const char *why = c->image->why.text;
    c->why_backoff = pulls_never(c) ? "ErrImageNeverPull" : "ImagePullBackOff";
    c->retry_at = clock_mono() + next_delay(&c->pull_backoff, BACKOFF_FIRST, BACKOFF_MAX);
    if (pulls_never(c)) {
        AUTO_FREE char *text = str_fmt(
            "Container image \"%s\" is not present with pull policy of Never", c->image_ref);
        EVENT(c, "Warning", "ErrImageNeverPull", "%s", text);
        EVENT(c, "Warning", "Failed", "Error: ErrImageNeverPull");
        wait_for(c, "ErrImageNeverPull", text);
    } else {
        EVENT(c, "Warning", "Failed", "Failed to pull image \"%s\": %s", c->image_ref, why);
        EVENT(c, "Warning", "Failed", "Error: ErrImagePull");
        wait_for(c, "ErrImagePull", why);
    }
}

// The pull of a container has failed, and the next try is not due yet: reports the back-off.
static void pull_backoff(struct container *c)
{
    if (!str_eq(c->state.reason, "ErrImagePull"))
        return;
    EVENT(c, "Normal", "BackOff", "Back-off pulling image \"%s\"", c->image_ref);
    EVENT(c, "Warning", "Failed", "Error: ImagePullBackOff");
    AUTO_FREE char *text =
        str_fmt("Back-off pulling image \"%s\": ErrImagePull: %s", c->image_ref, c->state.message);
    wait_for(c, "ImagePullBackOff", text);
}

static void pull_done(struct container *c)
{
    const podimage *i = c->image;
    if (i->is_host) {
        const struct runtime *r = c->pod->host->runtime;
        EVENT(c, "Normal", "Pulled", "Container image \"%s\" is this machine's own root%s%s",
            c->image_ref, r->bwrap ? ", read-only" : ", unconfined: ", r->bwrap ? "" : r->why);
    } else if (i->cached && !pulls_always(c)) {
        EVENT(c, "Normal", "Pulled", "Container image \"%s\" already present on machine",
            c->image_ref);
    } else {
        AUTO_BUF took = {0};
        int64_t ms = i->took / CLOCK_MS;
        if (ms < 1000)
            buf_fmt(&took, "%lldms", (long long)ms);
        else
            buf_fmt(&took, "%.4gs", (double)ms / 1e3);
        EVENT(c, "Normal", "Pulled",
            "Successfully pulled image \"%s\" in %s (%s including waiting). Image size: %lld "
            "bytes.",
            c->image_ref, buf_cstr(&took), buf_cstr(&took), (long long)i->size);
    }
    set(&c->image_id, mem_strdup(i->id));
    c->state.image_id = c->image_id;
    c->pull_backoff = 0;
    c->why_backoff = NULL;
}

// Is the image there? Starts its pull if needed, and reports how the pull ended.
static bool has_image(struct container *c)
{
    if (!c->image) {
        c->image = podimages_pull(c->pod->host->images, c->image_ref);
        c->image_reported = false;
        if (!c->image->is_host && pulls_always(c))
            EVENT(c, "Normal", "Pulling", "Pulling image \"%s\"", c->image_ref);
    }
    if (c->image->state == PULL_BUSY)
        return false;
    if (!c->image_reported) {
        c->image_reported = true;
        if (c->image->state == PULL_DONE) {
            if (!c->image->cached && !c->image->is_host && !pulls_always(c) && !pulls_never(c))
                EVENT(c, "Normal", "Pulling", "Pulling image \"%s\"", c->image_ref);
            pull_done(c);
        } else {
            if (!pulls_always(c) && !pulls_never(c))
                EVENT(c, "Normal", "Pulling", "Pulling image \"%s\"", c->image_ref);
            pull_failed(c);
        }
    }
    if (c->image->state == PULL_DONE)
        return true;
    podimage_unref(c->image); // the next try pulls again
    c->image = NULL;
    return false;
}

static void ended(struct container *c, int exit_code, const char *reason, const char *message)
{
    struct container_state *s = &c->state;
    int64_t now = clock_wall();
    set(&c->end_message, message && *message ? mem_strdup(message) : NULL);
    s->end = (struct container_end){.exit_code = exit_code,
        .reason = reason,
        .message = c->end_message,
        .started = s->started ? s->started : now,
        .finished = now};
    s->phase = CONTAINER_TERMINATED;
    s->ready = c->init && exit_code == 0;
}

// The container could not be started; the reason may have gone at the next try.
static void not_started(struct container *c, const char *reason, const char *why)
{
    if (!str_eq(c->state.reason, reason) || !str_eq(c->message, why))
        EVENT(c, "Warning", "Failed", "Error: %s", why);
    wait_for(c, reason, why);
    c->retry_at = clock_mono() + next_delay(&c->start_backoff, CLOCK_SEC, 30 * CLOCK_SEC);
    c->why_backoff = reason;
}

static void output(void *arg, int fd, const char *bytes, size_t n)
{
    struct container *c = arg;
    if (fd == RUNTIME_INFO_FD) {
        buf_add(&c->info, bytes, n);
        const char *pid = strstr(buf_cstr(&c->info), "\"child-pid\":");
        if (pid)
            sscanf(pid, "\"child-pid\": %d", &c->inner);
        return;
    }
    podlog_write(c->log, fd, bytes, n, clock_wall());
    logs_wake(c->pod->host->logs, c->pod->object->uid);
}

// The text in the container's termination message file, at most 4096 bytes; new or NULL.
static char *termination_message(const struct container *c)
{
    AUTO_FREE char *path = launch_message_path(c->root_dir);
    AUTO_BUF text = {0}, clean = {0};
    path_read(path, &text, 4096, NULL);
    utf8_clean(&clean, buf_cstr(&text), text.len > 4096 ? 4096 : text.len);
    return clean.len ? buf_take(&clean) : NULL;
}

static void exited(void *arg, int code, int signum)
{
    struct container *c = arg;
    child_free(STEAL(c->child));
    podlog_close(STEAL(c->log), clock_wall());
    logs_wake(c->pod->host->logs, c->pod->object->uid);
    AUTO_FREE char *message = termination_message(c);
    int exit_code = code < 0 ? 128 + signum : code;
    bool started = c->inner || !c->pod->host->runtime->bwrap || c->kill_sent;
    if (!started && exit_code)
        ended(c, 128, "StartError", "the container's root could not be set up, see its log");
    else
        ended(c, exit_code, exit_code ? "Error" : "Completed", message);
    path_remove(c->root_dir, NULL);
    c->pod->changed(c->pod->arg);
}

static const struct child_ops process_ops = {.output = output, .exited = exited};

static const cJSON *look_up(void *arg, const char *kind, const char *name)
{
    struct container *c = arg;
    const snapshot *found = store_get(c->pod->host->store,
        str_eq(kind, "Secret") ? KIND(SECRETS) : KIND(CONFIGMAPS), c->pod->object->ns, name);
    return found ? found->json : NULL;
}

static int spawn(struct container *c, const struct launch *l, err *e)
{
    AUTO_FREE char *path = container_log(c, false), *dir = path_dirname(path);
    c->inner = 0;
    c->term_sent = c->kill_sent = false;
    buf_clear(&c->info);
    if (path_make_dirs(dir, 0700, e) || !(c->log = podlog_open(path, 0, e)))
        return -1;
    struct child_spec spec = {.argv = (const char *const *)l->command,
        .env = (const char *const *)l->env,
        .cwd = l->cwd,
        .extra_fd = c->pod->host->runtime->bwrap ? RUNTIME_INFO_FD : 0};
    c->child = child_spawn(c->pod->host->loop, &spec, &process_ops, c, e);
    if (c->child)
        return 0;
    podlog_close(STEAL(c->log), clock_wall());
    return -1;
}

static void running(struct container *c)
{
    char id[65];
    random_hex(id, 32);
    if (c->state.has_last)
        c->state.restarts++;
    set(&c->id, str_fmt("firesteel://%s", id));
    set(&c->message, NULL);
    c->state.id = c->id;
    c->state.phase = CONTAINER_RUNNING;
    c->state.reason = c->state.message = NULL;
    c->state.started = clock_wall();
    c->state.ready = !c->init;
    c->why_backoff = NULL;
    c->retry_at = c->start_backoff = 0;
    EVENT(c, "Normal", "Started", "Started container %s", c->name);
}

// The program does not exist: the run ends before it began, with an empty log.
static void never_ran(struct container *c, const char *why)
{
    AUTO_FREE char *log = container_log(c, false), *dir = path_dirname(log);
    path_make_dirs(dir, 0700, NULL);
    podlog_close(podlog_open(log, 0, NULL), 0);
    path_remove(c->root_dir, NULL);
    EVENT(c, "Warning", "Failed", "Error: %s", why);
    c->state.started = 0;
    if (c->state.has_last)
        c->state.restarts++;
    ended(c, 128, "StartError", why);
}

static void start(struct container *c)
{
    err e = {0};
    CLEANUP(launch_done) struct launch l = {0};
    c->run++;
    set(&c->root_dir, str_fmt("%s/containers/%s.%d", c->pod->dir, c->name, c->run));
    struct launch_input in = {.pod = c->pod->object->json,
        .container = container_spec(c),
        .runtime = c->pod->host->runtime,
        .image = c->image,
        .lookup = look_up,
        .arg = c,
        .pod_dir = c->pod->dir,
        .run_dir = c->root_dir,
        .next_cpu = &c->pod->host->next_cpu};
    enum launch_result result = launch_prepare(&in, &l, &e);
    if (result == LAUNCH_OK || result == LAUNCH_START)
        EVENT(c, "Normal", "Created", "Created container: %s", c->name);
    if (result == LAUNCH_OK && spawn(c, &l, &e))
        result = LAUNCH_CREATE;
    if (result == LAUNCH_OK) {
        running(c);
    } else if (result == LAUNCH_START) {
        never_ran(c, e.text);
    } else {
        path_remove(c->root_dir, NULL);
        c->run--;
        not_started(c, launch_reason(result), e.text);
    }
}

void container_advance(struct container *c)
{
    if (c->state.phase != CONTAINER_WAITING)
        return;
    if (c->retry_at > clock_mono()) {
        pull_backoff(c);
        return;
    }
    c->retry_at = 0; // it is now; a pull under way must not be requested again and again
    if (str_eq(c->state.reason, "PodInitializing") && !c->init)
        c->state.reason = "ContainerCreating";
    if (has_image(c))
        start(c);
}

// The latest run's end becomes the end of the run before.
static void keep_end(struct container *c)
{
    struct container_state *s = &c->state;
    set(&c->last_message, STEAL(c->end_message));
    set(&c->last_id, mem_strdup(c->id));
    s->last = s->end;
    s->last.message = c->last_message;
    s->last_id = c->last_id;
    s->has_last = true;
    if (c->run > 1) { // the logs of two runs are kept
        AUTO_FREE char *old = str_fmt("%s/logs/%s.%d", c->pod->dir, c->name, c->run - 1);
        AUTO_FREE char *rotated = str_fmt("%s.1", old);
        path_remove(old, NULL);
        path_remove(rotated, NULL);
    }
}

static void wait_after_crash(struct container *c, int64_t delay)
{
    const snapshot *o = c->pod->object;
    long long seconds = delay / CLOCK_SEC;
    AUTO_FREE char *time = seconds < 60 ? str_fmt("%llds", seconds)
                                        : str_fmt("%lldm%llds", seconds / 60, seconds % 60);
    AUTO_FREE char *text = str_fmt("back-off %s restarting failed container=%s pod=%s_%s(%s)", time,
        c->name, o->name, o->ns, o->uid);
    EVENT(c, "Warning", "BackOff", "Back-off restarting failed container %s in pod %s_%s(%s)",
        c->name, o->name, o->ns, o->uid);
    c->retry_at = clock_mono() + delay;
    c->why_backoff = "CrashLoopBackOff";
    wait_for(c, "CrashLoopBackOff", text);
}

void container_restart(struct container *c)
{
    if (c->state.end.finished - c->state.end.started > BACKOFF_RESET)
        c->crash_backoff = 0;
    keep_end(c);
    c->image_reported = false; // kubelets report the image before each start
    if (c->crash_backoff) {
        wait_after_crash(c, next_delay(&c->crash_backoff, BACKOFF_FIRST, BACKOFF_MAX));
        return;
    }
    c->crash_backoff = BACKOFF_FIRST; // the first restart does not wait
    c->retry_at = 0;
    wait_for(c, "ContainerCreating", NULL);
}

bool container_is_running(const struct container *c)
{
    return c->child;
}

// Returns to how many children of a process the signal was sent.
static int signal_children(int parent, int signum)
{
    AUTO_FREE char *path = str_fmt("/proc/%d/task/%d/children", parent, parent);
    AUTO_BUF children = {0};
    int sent = 0;
    if (path_read(path, &children, 0, NULL) == 0) {
        char **pids = strv_split(buf_cstr(&children), ' ');
        for (char **p = pids; *p; p++) {
            int64_t pid;
            if (str_to_int(*p, &pid))
                sent += kill((pid_t)pid, signum) == 0;
        }
        strv_free(pids);
    }
    return sent;
}

// Signals the process inside of bwrap: bwrap's first process does not pass signals on.
static void signal_inside(struct container *c, int signum)
{
    if (!signal_children(c->inner, signum))
        kill(c->inner, signum);
}

// Ends bwrap and its pid namespace. The namespace's first process leaves the group (--new-session)
// a moment before it asks to die with its parent, so it is killed first; nothing moves meanwhile.
static void kill_bwrap(struct container *c)
{
    int monitor = child_pid(c->child);
    child_kill(c->child, SIGSTOP);
    signal_children(monitor, SIGKILL);
    child_kill(c->child, SIGKILL);
}

void container_terminate(struct container *c)
{
    if (!c->child || c->term_sent)
        return;
    c->term_sent = true;
    EVENT(c, "Normal", "Killing", "Stopping container %s", c->name);
    if (c->inner)
        signal_inside(c, SIGTERM);
    else
        kill(child_pid(c->child), SIGTERM);
}

void container_kill(struct container *c)
{
    if (!c->child || c->kill_sent)
        return;
    c->kill_sent = true;
    if (c->pod->host->runtime->bwrap)
        kill_bwrap(c);
    else
        kill(child_pid(c->child), SIGHUP); // podinit's guard kills all processes below it
}

char *container_log(const struct container *c, bool previous)
{
    // While the container waits for its next run, the latest run counts as current and as previous.
    int run = c->run - (previous && c->state.phase != CONTAINER_WAITING);
    if (run < 1 || (previous && !c->state.has_last))
        return NULL;
    return str_fmt("%s/logs/%s.%d", c->pod->dir, c->name, run);
}
