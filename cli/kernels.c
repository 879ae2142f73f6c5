// SPDX-License-Identifier: MIT
#include "cli/kernels.h"

#include "base/loop/loop.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/os/proctree.h"
#include "base/str.h"
#include "script/journal/file/reader.h"
#include "script/protocol/client.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#define SOCKET_TAIL ".sock"

enum { ANSWER_MS = 2000 };

struct asking {
    loop *loop;
    struct kernel *kernel;
    client *client;
    size_t *waiting;
};

static void answered(struct asking *a)
{
    client_free(STEAL(a->client));
    if (--*a->waiting == 0)
        loop_stop(a->loop);
}

static void add_part(buf *out, const char *fmt, int64_t n)
{
    if (!n)
        return;
    buf_str(out, out->len ? ", " : "");
    buf_fmt(out, fmt, (long long)n, n == 1 ? "" : "s");
}

static char *holds_of(const cJSON *holds)
{
    AUTO_BUF parts = {0};
    add_part(&parts, "%lld variable%s", json_int_or(holds, "variables", 0));
    add_part(&parts, "%lld live display%s", json_int_or(holds, "live", 0));
    if (json_bool_or(holds, "sandbox", false))
        buf_fmt(&parts, "%sits sandbox", parts.len ? ", " : "");
    return parts.len ? buf_take(&parts) : NULL;
}

static void take_welcome(struct kernel *k, const cJSON *m)
{
    k->run = mem_strdup(json_str(m, "run"));
    k->cwd = mem_strdup(json_str(m, "cwd"));
    k->state = mem_strdup(json_str(m, "state"));
    k->headless = json_bool_or(m, "headless", false);
    k->unsaved = json_bool_or(m, "unsaved", false);
    k->pid = (int)json_int_or(m, "pid", 0);
    k->release = mem_strdup(json_str(m, "release"));
    k->lifetime = json_int_or(m, "lifetime_ms", -1);
    k->unused = json_int_or(m, "unused_ms", -1);
    k->held = mem_strdup(json_str(m, "held"));
    k->holds = holds_of(json_get(m, "holds"));
    const cJSON *differs = json_get(m, "differs");
    k->differs = differs ? cJSON_Duplicate(differs, true) : NULL;
}

// A kernel of another version answers hello with a refusal. Its run then gets the name of its
// socket, which may be cut.
static void take_refusal(struct kernel *k, const client *c, const cJSON *m)
{
    AUTO_FREE char *name = path_basename(k->socket);
    size_t n = strlen(name), tail = strlen(SOCKET_TAIL);
    k->run = mem_strndup(name, n > tail ? n - tail : n);
    k->cwd = mem_strdup("?");
    k->state = mem_strdup("another version");
    k->refused = mem_strdup(json_str_or(json_get(m, "error"), "message", ""));
    k->pid = client_pid(c);
    k->lifetime = k->unused = -1;
}

static void on_event(void *arg, message_type type, const cJSON *message)
{
    struct asking *a = arg;
    if (type == MESSAGE_welcome)
        take_welcome(a->kernel, message);
    else if (type == MESSAGE_reply && !json_bool_or(message, "ok", true))
        take_refusal(a->kernel, a->client, message);
    else
        return;
    answered(a);
}

static void on_closed(void *arg, const err *reason)
{
    answered(arg);
}

static const struct client_ops callbacks = {.event = on_event, .closed = on_closed};

static void on_timeout(void *arg)
{
    loop_stop(arg);
}

static void add_socket(struct kernels *out, const char *dir, const char *name)
{
    out->list = mem_resize(out->list, out->n + 1, sizeof *out->list);
    out->list[out->n++] = (struct kernel){.socket = path_join(dir, name)};
}

static void list_sockets(const char *dir, struct kernels *out)
{
    DIR *d = opendir(dir);
    for (struct dirent *entry; d && (entry = readdir(d));) {
        if (!str_ends(entry->d_name, SOCKET_TAIL))
            continue;
        add_socket(out, dir, entry->d_name);
    }
    if (d)
        closedir(d);
}

static void drop(struct kernels *k, size_t i)
{
    struct kernel *one = &k->list[i];
    free(one->socket);
    free(one->run);
    free(one->cwd);
    free(one->state);
    free(one->release);
    free(one->refused);
    free(one->held);
    free(one->holds);
    cJSON_Delete(one->differs);
    memmove(one, one + 1, (--k->n - i) * sizeof *one);
}

// Reads the kernels' answers, and drops kernels that do not answer.
static int ask_all(struct kernels *out, const cJSON *wants, err *e)
{
    loop *l = loop_new(e);
    if (!l)
        return -1;
    struct asking *all = mem_array(out->n + 1, sizeof *all);
    size_t waiting = 0;
    AUTO_JSON *more = cJSON_CreateObject();
    if (wants)
        json_set(more, "wants", cJSON_Duplicate(wants, true));
    for (size_t i = out->n; i-- > 0;) {
        err why = {0};
        all[i] = (struct asking){l, &out->list[i], NULL, &waiting};
        all[i].client = client_connect(l, out->list[i].socket, &callbacks, &all[i], &why);
        if (all[i].client) {
            waiting++;
            client_hello(all[i].client, -1, false, false, more);
        }
    }
    loop_timer *timer = loop_timer_new(l, on_timeout, l);
    loop_timer_start(timer, ANSWER_MS, 0);
    if (waiting)
        loop_run(l);
    for (size_t i = 0; i < out->n; i++)
        client_free(all[i].client);
    loop_timer_free(timer);
    free(all);
    loop_free(l);
    for (size_t i = out->n; i-- > 0;)
        if (!out->list[i].run)
            drop(out, i);
    return 0;
}

int kernels_find(struct cli *cli, struct kernels *out, err *e)
{
    *out = (struct kernels){0};
    AUTO_FREE char *dir = cli_runtime_dir(cli, e);
    if (!dir)
        return -1;
    list_sockets(dir, out);
    return ask_all(out, NULL, e);
}

int kernels_ask(const char *socket, const cJSON *wants, struct kernels *out, err *e)
{
    *out = (struct kernels){0};
    add_socket(out, "", socket);
    return ask_all(out, wants, e);
}

// Everything that a kernel has started is below its parent, the guard.
void kernels_measure(struct kernels *k)
{
    proctree *t = proctree_read();
    for (size_t i = 0; i < k->n; i++)
        k->list[i].memory = proctree_memory(t, proctree_parent(t, k->list[i].pid));
    proctree_free(t);
}

void kernels_done(struct kernels *k)
{
    while (k->n)
        drop(k, k->n - 1);
    free(k->list);
    *k = (struct kernels){0};
}

// The kernel whose run began last: names end in "-20260102-030405-ab1c".
static const struct kernel *newest_of(const struct kernels *k)
{
    enum { TAIL = 20 };
    const struct kernel *newest = NULL;
    for (size_t i = 0; i < k->n; i++) {
        const char *run = k->list[i].run, *best = newest ? newest->run : "";
        size_t n = strlen(run), m = strlen(best);
        if (!newest ||
            strcmp(run + (n > TAIL ? n - TAIL : 0), best + (m > TAIL ? m - TAIL : 0)) > 0)
            newest = &k->list[i];
    }
    return newest;
}

const struct kernel *kernels_get(const struct kernels *k, const char *name, err *e)
{
    bool any = !name;
    size_t hits = k->n, at = 0;
    if (journal_check_word(name, e) < 0)
        return NULL;
    if (!any && journal_means_newest(name) && k->n)
        return newest_of(k);
    if (!any) {
        AUTO_FREE const char **names = mem_array(k->n + 1, sizeof *names);
        for (size_t i = 0; i < k->n; i++)
            names[i] = k->list[i].run;
        at = journal_match(names, k->n, name, &hits);
    }
    if (hits == 1)
        return &k->list[at];
    if (hits == 0 && any)
        err_set(e, ERR_NOT_FOUND, "no kernel is running");
    else if (hits == 0)
        err_set(
            e, ERR_NOT_FOUND, "no kernel runs %s; `firesteel ls` lists those that are alive", name);
    else
        err_set(e, ERR_USAGE, "%zu kernels are running; say which (`firesteel ls`)", hits);
    return NULL;
}
