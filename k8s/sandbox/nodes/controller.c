// SPDX-License-Identifier: MIT
#include "k8s/sandbox/nodes/controller.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

#include <string.h>

#define BACKOFF_FIRST (5 * CLOCK_MS)
#define BACKOFF_MAX   (30 * CLOCK_SEC)

struct item {
    struct item *next;
    char *ns, *name;
    int64_t due;     // mono ns
    int64_t backoff; // after the latest failure, 0 after a success
    bool queued;     // failed items stay for their back-off; unqueued ones are dropped
};

struct controller {
    loop *loop;
    store *store;
    const struct controller_ops *ops;
    void *arg;
    store_observer *observer;
    loop_timer *timer;
    struct item *items;
};

static void schedule(controller *c)
{
    int64_t earliest = INT64_MAX, now = clock_mono();
    for (struct item *i = c->items; i; i = i->next)
        if (i->queued && i->due < earliest)
            earliest = i->due;
    if (earliest == INT64_MAX)
        loop_timer_stop(c->timer);
    else // rounded up: nothing would be due earlier; at least 1 ms, for the server's turn
        loop_timer_start(c->timer,
            earliest <= now ? 1 : (uint64_t)((earliest - now + CLOCK_MS - 1) / CLOCK_MS), 0);
}

static struct item *find(controller *c, const char *ns, const char *name)
{
    for (struct item *i = c->items; i; i = i->next)
        if (str_eq(i->ns, ns) && str_eq(i->name, name))
            return i;
    struct item *i = mem_alloc(sizeof *i);
    *i = (struct item){.next = c->items, .ns = mem_strdup(ns), .name = mem_strdup(name)};
    c->items = i;
    return i;
}

static void enqueue(controller *c, struct item *i, int64_t delay)
{
    int64_t due = clock_mono() + delay;
    if (!i->queued || due < i->due)
        i->due = due;
    i->queued = true;
    schedule(c);
}

void controller_add_after(controller *c, const char *ns, const char *name, int64_t delay)
{
    enqueue(c, find(c, ns, name), delay);
}

void controller_add(controller *c, const char *ns, const char *name)
{
    controller_add_after(c, ns, name, 0);
}

static void drop(controller *c, struct item *i)
{
    struct item **at = &c->items;
    while (*at != i)
        at = &(*at)->next;
    *at = i->next;
    free(i->ns);
    free(i->name);
    free(i);
}

static void reconcile(controller *c, struct item *i)
{
    err e = {0};
    i->queued = false;
    if (c->ops->reconcile(c->arg, i->ns, i->name, &e) == 0) {
        i->backoff = 0;
        if (!i->queued)
            drop(c, i);
        return;
    }
    int64_t delay = 0;
    if (e.code != ERR_CONFLICT) {
        delay = i->backoff ? i->backoff * 2 : BACKOFF_FIRST;
        i->backoff = delay = delay > BACKOFF_MAX ? BACKOFF_MAX : delay;
    }
    enqueue(c, i, delay);
}

static void run_due(void *arg)
{
    controller *c = arg;
    int64_t now = clock_mono();
    for (;;) { // start again after each one: reconcile may add and drop items
        struct item *due = NULL;
        for (struct item *i = c->items; i; i = i->next)
            if (i->queued && i->due <= now && (!due || i->due < due->due))
                due = i;
        if (!due)
            break;
        reconcile(c, due);
    }
    schedule(c);
}

static void changed(void *arg, const struct store_event *ev)
{
    controller *c = arg;
    const snapshot *o = ev->object;
    if (o->kind == c->ops->kind) {
        controller_add(c, o->ns, o->name);
    } else {
        const cJSON *ref;
        cJSON_ArrayForEach(ref, json_path(o->json, "metadata.ownerReferences"))
        {
            if (json_bool_or(ref, "controller", false) &&
                str_eq(json_str(ref, "kind"), c->ops->kind->kind))
                controller_add(c, o->ns, json_str_or(ref, "name", ""));
        }
    }
    if (c->ops->changed)
        c->ops->changed(c->arg, ev);
}

controller *controller_new(loop *l, store *s, const struct controller_ops *ops, void *arg)
{
    controller *c = mem_alloc(sizeof *c);
    *c = (controller){.loop = l, .store = s, .ops = ops, .arg = arg};
    c->timer = loop_timer_new(l, run_due, c);
    c->observer = store_observe(s, changed, c);
    AUTO_LIST existing = store_list(s, ops->kind, NULL);
    for (size_t i = 0; i < existing.n; i++)
        controller_add(c, existing.items[i]->ns, existing.items[i]->name);
    return c;
}

void controller_free(controller *c)
{
    if (!c)
        return;
    store_unobserve(c->observer);
    loop_timer_free(c->timer);
    while (c->items)
        drop(c, c->items);
    free(c);
}
