// SPDX-License-Identifier: MIT
#include "script/kernel/session/room.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/os/proctree.h"
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
    int64_t unused_ms; // -1: the kernel is in use, or headless
    bool held;
    int64_t memory;
};

struct room {
    kernel *kernel;
    loop_timer *timer;
    bool asking; // the timer waits for the answers
    bool again;  // and another look was asked for
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

// This kernel among the others.
static struct other own(const struct room *r)
{
    const kernel *k = r->kernel;
    int64_t unused = life_unused_ns(k);
    return (struct other){.pid = getpid(),
        .unused_ms = unused ? unused / CLOCK_MS : -1,
        .held = life_held(k) != NULL};
}

static int64_t measure(struct room *r, struct other *me)
{
    proctree *t = proctree_read();
    int64_t sum = 0;
    for (size_t i = 0; i <= r->n; i++) {
        struct other *o = i < r->n ? r->list[i] : me;
        o->memory =
            o->pid && o->unused_ms >= 0 ? proctree_memory(t, proctree_parent(t, o->pid)) : 0;
        sum += o->memory;
    }
    proctree_free(t);
    return sum;
}

// The kernel that has been unused longest and may be ended; NULL: none. The kernel that became
// unused last always stays: its user may only have lost the connection.
static struct other *oldest(const struct room *r, struct other *me)
{
    struct other *found = NULL, *newest = NULL;
    for (size_t i = 0; i <= r->n; i++) {
        struct other *o = i < r->n ? r->list[i] : me;
        if (!o->pid || o->unused_ms < 0)
            continue;
        if (!newest || o->unused_ms < newest->unused_ms)
            newest = o;
        if (!o->held && (!found || o->unused_ms > found->unused_ms))
            found = o;
    }
    return found == newest ? NULL : found;
}

// Asks a kernel to end. It checks again by itself: a client may have come meanwhile.
static void end(struct room *r, struct other *o, int64_t sum)
{
    AUTO_FREE char *why =
        str_fmt("unused kernels had %lldM of memory, and may have %lldM: this one had been unused "
                "longest",
            (long long)(sum >> 20), (long long)(r->kernel->options->room >> 20));
    o->unused_ms = -1;
    if (!o->client) {
        life_end(r->kernel, 0, why);
        return;
    }
    cJSON *m = message_new(MESSAGE_shutdown);
    json_set_bool(m, "unused", true);
    json_set_str(m, "why", why);
    client_send(o->client, m);
}

static void decide(struct room *r)
{
    struct other me = own(r);
    int64_t sum = measure(r, &me);
    for (struct other *o; sum > r->kernel->options->room && (o = oldest(r, &me));) {
        end(r, o, sum);
        sum -= o->memory;
    }
}

static void answered(struct room *r)
{
    if (r->waiting == 0 || --r->waiting > 0)
        return;
    decide(r);
    loop_timer_start(r->timer, ANSWER_MS, 0); // messages are sent before the clients are freed
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
    if (r->waiting > 0) { // some kernels do not answer
        r->waiting = 0;
        decide(r);
        loop_timer_start(r->timer, ANSWER_MS, 0);
        return;
    }
    drop_others(r);
    if (r->again)
        loop_timer_start(r->timer, SOON_MS, 0);
    r->again = false;
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
    if (k->room->asking)
        k->room->again = true;
    else
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
