// SPDX-License-Identifier: MIT
#include "script/kernel/process/sandbox.h"

#include "base/json/json.h"
#include "base/loop/child.h"
#include "base/mem.h"
#include "base/os/owner.h"
#include "base/str.h"
#include "script/kernel/process/guard.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { NOTIFY_FD = 3, STOP_MS = 5000 };

struct sandbox {
    child *child;
    char *dir; // folder of its private files, removed at the end
    int owner; // owner of dir
    buf notice, last_words;
    bool is_ready, ended;
    const struct sandbox_ops *ops;
    void *arg; // for ops
    void (*stopped)(void *arg);
    void *stopped_arg;
    loop_timer *patience;
};

// The first line on the notify pipe: {"kubeconfig": "PATH"}.
static void on_notice(struct sandbox *s)
{
    char *newline = s->notice.data ? memchr(s->notice.data, '\n', s->notice.len) : NULL;
    if (!newline || s->is_ready)
        return;
    err e = {0};
    AUTO_JSON *notice = json_parse(s->notice.data, (size_t)(newline - s->notice.data), &e);
    const char *kubeconfig = json_str(notice, "kubeconfig");
    s->is_ready = true;
    if (!kubeconfig)
        err_set(&e, ERR_FAILED, "the sandbox did not say where its kubeconfig is");
    s->ops->ready(s->arg, kubeconfig, kubeconfig ? NULL : &e);
}

static void on_output(void *arg, int fd, const char *bytes, size_t n)
{
    struct sandbox *s = arg;
    if (fd == NOTIFY_FD) {
        buf_add(&s->notice, bytes, n);
        on_notice(s);
    } else if (s->last_words.len < 4096)
        buf_add(&s->last_words, bytes, n);
}

static void destroy(struct sandbox *s)
{
    child_free(s->child);
    loop_timer_free(s->patience);
    buf_done(&s->notice);
    buf_done(&s->last_words);
    if (s->dir) {
        owner_remove(s->dir, &s->owner);
        guard_removed(s->dir);
    }
    free(s->dir);
    free(s);
}

static void tell_death(struct sandbox *s, int code, int signum)
{
    err e = {0};
    AUTO_FREE char *how =
        signum ? str_fmt("killed by signal %d", signum) : str_fmt("its exit code was %d", code);
    err_set(&e, ERR_FAILED,
        "the private sandbox of this run has died (%s), with all that was in it", how);
    s->ops->died(s->arg, &e);
}

static void on_exited(void *arg, int code, int signum)
{
    struct sandbox *s = arg;
    s->ended = true;
    if (s->stopped) {
        void (*stopped)(void *arg) = s->stopped;
        void *stopped_arg = s->stopped_arg;
        destroy(s);
        stopped(stopped_arg);
    } else if (!s->is_ready) {
        s->is_ready = true;
        AUTO_FREE char *words = str_trim(buf_cstr(&s->last_words), s->last_words.len);
        err e = {0};
        err_set(
            &e, ERR_FAILED, "the sandbox could not start: %s", *words ? words : "it said nothing");
        s->ops->ready(s->arg, NULL, &e);
    } else {
        tell_death(s, code, signum);
    }
}

static void on_patience(void *arg)
{
    struct sandbox *s = arg;
    child_kill(s->child, SIGKILL);
}

static const struct child_ops process_ops = {.output = on_output, .exited = on_exited};

// We remove the folder, or our guard does. If both were killed, the next program's sweep does.
static int make_folder(struct sandbox *s, const char *runtime, err *e)
{
    s->dir = owner_make_folder(runtime, "sandbox-", &s->owner, e);
    if (!s->dir)
        return -1;
    AUTO_FREE char *owner = owner_file(s->dir);
    guard_remove_at_end(owner);
    guard_remove_at_end(s->dir);
    return 0;
}

struct sandbox *sandbox_start(
    const struct sandbox_spec *spec, const struct sandbox_ops *ops, void *arg, err *e)
{
    struct sandbox *s = mem_alloc(sizeof *s);
    s->ops = ops;
    s->arg = arg;
    s->owner = -1;
    if (make_folder(s, spec->runtime, e) < 0) {
        destroy(s);
        return NULL;
    }
    const char *argv[] = {spec->program, "--private", "--dir", s->dir, "--images", spec->images,
        "--notify-fd", "3", spec->processes ? "--processes" : NULL, NULL};
    struct child_spec how = {.argv = argv, .env = spec->env, .extra_fd = NOTIFY_FD};
    s->child = spec->images ? child_spawn(spec->loop, &how, &process_ops, s, e) : NULL;
    if (s->child) {
        s->patience = loop_timer_new(spec->loop, on_patience, s);
        return s;
    }
    destroy(s);
    return NULL;
}

void sandbox_stop(struct sandbox *s, void (*stopped)(void *arg), void *arg)
{
    if (!s || s->ended) {
        if (s)
            destroy(s);
        stopped(arg);
        return;
    }
    s->stopped = stopped;
    s->stopped_arg = arg;
    child_kill(s->child, SIGTERM);
    loop_timer_start(s->patience, STOP_MS, 0);
}
