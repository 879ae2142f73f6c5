// SPDX-License-Identifier: MIT
#include "script/kernel/session/room.h"

#include "base/mem.h"
#include "base/path.h"
#include "base/proctree.h"
#include "base/str.h"
#include "script/kernel/session/life.h"
#include "script/protocol/client.h"

#include <dirent.h>
#include <unistd.h>

enum { SOON_MS = 2000, ANSWER_MS = 2000 };

// Another kernel, and what it has answered.
struct other {
    struct room *room;
    client *client;
    pid_t pid;         // 0: no answer yet
    int64_t unused_ms; // -1: it is used, or headless
    bool held;
    int64_t memory;
};

struct room {
    kernel *kernel;
    loop_timer *timer;
    bool asking; // the timer is for the answers
    struct other **list;
    size_t n, waiting;
};

static void drop_others(struct room *r)
{
    for (size_t i = 0; i < r->n; i++) {
        client_free(r->list[i]->client);
        free(r->list[i]);
    }
    free(STEAL(r->list));
    r->n = r->waiting = 0;
    r->asking = false;
}

static void measure(struct room *r, int64_t *sum)
{
    proctree *t = proctree_read();
    *sum = life_unused_ns(r->kernel) ? proctree_memory(t, getppid()) : 0;
    for (size_t i = 0; i < r->n; i++) {
        struct other *o = r->list[i];
        if (!o->pid || o->unused_ms < 0)
            continue;
        o->memory = proctree_memory(t, proctree_parent(t, o->pid));
        *sum += o->memory;
    }
    proctree_free(t);
}

// The one that has been unused longest and may be ended; NULL: there is none.
static struct other *oldest(const struct room *r)
{
    struct other *found = NULL;
    for (size_t i = 0; i < r->n; i++) {
        struct other *o = r->list[i];
        bool may = o->pid && o->unused_ms >= 0 && !o->held;
        if (may && (!found || o->unused_ms > found->unused_ms))
            found = o;
    }
    return found;
}

// It looks again by itself whether it may be ended: somebody may have come to it meanwhile.
static void end(struct other *o, int64_t sum, int64_t most)
{
    AUTO_FREE char *why =
        str_fmt("unused kernels had %lldM of memory, and may have %lldM: this one "
                "had been unused longest",
            (long long)(sum >> 20), (long long)(most >> 20));
    cJSON *m = message_new(MESSAGE_shutdown);
    json_set_bool(m, "unused", true);
    json_set_str(m, "why", why);
    client_send(o->client, m);
    o->unused_ms = -1;
}

static void decide(struct room *r)
{
    int64_t sum, most = r->kernel->options->room;
    measure(r, &sum);
    for (struct other *o; sum > most && (o = oldest(r));) {
        end(o, sum, most);
        sum -= o->memory;
    }
}

static void answered(struct room *r)
{
    if (r->waiting == 0 || --r->waiting > 0)
        return;
    decide(r);
    loop_timer_start(r->timer, ANSWER_MS, 0); // what was sent arrives before the clients are freed
}

static void on_event(void *arg, message_type type, const cJSON *message)
{
    struct other *o = arg;
    if (type != MESSAGE_welcome || o->pid)
        return;
    o->pid = (pid_t)json_int_or(message, "pid", 0);
    o->unused_ms = json_int_or(message, "unused_ms", -1);
    o->held = json_str(message, "held") != NULL;
    answered(o->room);
}

static void on_closed(void *arg, const err *reason)
{
    struct other *o = arg;
    client_free(STEAL(o->client));
    if (!o->pid)
        answered(o->room);
}

static const struct client_ops callbacks = {.event = on_event, .closed = on_closed};

static void ask(struct room *r, const char *socket)
{
    err e = {0};
    struct other *o = mem_alloc(sizeof *o);
    *o = (struct other){.room = r, .unused_ms = -1};
    o->client = client_connect(r->kernel->loop, socket, &callbacks, o, &e);
    if (!o->client) {
        free(o);
        return;
    }
    r->list = mem_resize(r->list, r->n + 1, sizeof *r->list);
    r->list[r->n++] = o;
    r->waiting++;
    client_hello(o->client, -1, false, false, NULL);
}

static void ask_all(struct room *r)
{
    const struct kernel_options *o = r->kernel->options;
    DIR *d = opendir(o->runtime);
    for (struct dirent *entry; d && (entry = readdir(d));) {
        AUTO_FREE char *path = path_join(o->runtime, entry->d_name);
        if (str_ends(path, ".sock") && !str_eq(path, o->socket))
            ask(r, path);
    }
    if (d)
        closedir(d);
    r->asking = r->n > 0;
    if (r->asking)
        loop_timer_start(r->timer, ANSWER_MS, 0);
}

static void on_timer(void *arg)
{
    struct room *r = arg;
    if (!r->asking) {
        ask_all(r);
        return;
    }
    if (r->waiting > 0) { // some do not answer
        r->waiting = 0;
        decide(r);
        loop_timer_start(r->timer, ANSWER_MS, 0);
        return;
    }
    drop_others(r);
}

void room_look_soon(kernel *k)
{
    const struct kernel_options *o = k->options;
    if (o->headless || !o->socket || !o->runtime || !o->room)
        return;
    if (!k->room) {
        k->room = mem_alloc(sizeof *k->room);
        *k->room = (struct room){.kernel = k};
        k->room->timer = loop_timer_new(k->loop, on_timer, k->room);
    }
    if (!k->room->asking)
        loop_timer_start(k->room->timer, SOON_MS, 0);
}

void room_done(kernel *k)
{
    if (!k->room)
        return;
    drop_others(k->room);
    loop_timer_free(k->room->timer);
    free(STEAL(k->room));
}
