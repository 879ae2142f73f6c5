// SPDX-License-Identifier: MIT
#include "script/kernel/port/outbox.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

#include <pthread.h>

enum {
    QUEUE_MAX = 1 << 20,  // the most bytes in the queue; then writers must wait
    JOIN_MAX = 64 << 10,  // neighbouring texts are joined up to this size
    LAZY_MS = 20,         // text alone waits this long for more
    EVENT_COST = 4 << 10, // the size that an event counts as; few are bigger
};

struct item {
    cJSON *event; // NULL: it is a mark, a text, or the end of a branch's text (without a name)
    void *mark;   // NULL: it is no mark
    char *cell, *branch, name[8];
    buf text;
    struct item *next;
};

struct outbox {
    loop *loop;
    const struct outbox_ops *ops;
    void *arg;
    loop_timer *timer; // for the loop's thread only
    int64_t flushed;   // for the loop's thread only: when text was last delivered
    bool flushing;     // for the loop's thread only
    bool held;         // for the loop's thread only

    pthread_mutex_t lock; // for all fields below
    pthread_cond_t room;
    struct item *first, **last, *newest;
    size_t queued;
    bool woken, urgent; // the loop was woken; it was woken for more than text
    bool expected;      // the timer runs: text need not wake the loop
    int posted;         // calls of on_wake to come; the last one frees a closed outbox
    bool closed;
};

static void item_free(struct item *i)
{
    cJSON_Delete(i->event);
    free(i->cell);
    free(i->branch);
    buf_done(&i->text);
    free(i);
}

static void on_timer(void *arg)
{
    outbox_flush(arg);
}

outbox *outbox_new(loop *l, const struct outbox_ops *ops, void *arg)
{
    outbox *o = mem_alloc(sizeof *o);
    o->loop = l;
    o->ops = ops;
    o->arg = arg;
    o->timer = loop_timer_new(l, on_timer, o);
    pthread_mutex_init(&o->lock, NULL);
    pthread_cond_init(&o->room, NULL);
    o->last = &o->first;
    return o;
}

static void destroy(outbox *o)
{
    pthread_cond_destroy(&o->room);
    pthread_mutex_destroy(&o->lock);
    free(o);
}

void outbox_free(outbox *o)
{
    while (o->first) {
        struct item *i = o->first;
        o->first = i->next;
        item_free(i);
    }
    loop_timer_free(o->timer);
    o->closed = true;
    if (o->posted == 0)
        destroy(o);
}

// On the loop's thread. Text alone may wait a little, so that many small prints make few events.
static void on_wake(void *arg)
{
    outbox *o = arg;
    pthread_mutex_lock(&o->lock);
    bool lazy = !o->urgent && o->queued < JOIN_MAX, last = --o->posted == 0;
    pthread_mutex_unlock(&o->lock);
    if (o->closed) {
        if (last)
            destroy(o);
        return;
    }
    int64_t passed = clock_mono() - o->flushed;
    if (lazy && passed < LAZY_MS * CLOCK_MS)
        loop_timer_start(o->timer, (uint64_t)(LAZY_MS - passed / CLOCK_MS), 0);
    else
        outbox_flush(o);
}

// With the lock held.
static void append(outbox *o, struct item *i)
{
    *o->last = i;
    o->last = &i->next;
    o->newest = i;
}

// With the lock held. Wakes the loop for the first text, and again when it should hurry.
static void wake(outbox *o, bool urgent)
{
    if (loop_is_current(o->loop) && o->held)
        return;
    bool again = urgent && !o->urgent;
    o->urgent |= urgent;
    if ((o->woken || o->expected) && !again)
        return;
    o->woken = true;
    o->posted++;
    loop_post(o->loop, on_wake, o);
}

// With the lock held: adds an event or a mark.
static void put(outbox *o, struct item *i, bool urgent)
{
    append(o, i);
    o->queued += EVENT_COST;
    wake(o, urgent);
}

// The loop's thread never waits here, because it is the one that makes room.
static void lock_with_room(outbox *o)
{
    bool may_wait = !loop_is_current(o->loop);
    pthread_mutex_lock(&o->lock);
    while (may_wait && o->queued >= QUEUE_MAX)
        pthread_cond_wait(&o->room, &o->lock);
}

static void put_text(
    outbox *o, const char *cell, const char *branch, const char *name, const char *bytes, size_t n)
{
    lock_with_room(o);
    struct item *i = o->newest;
    bool joins = i && !i->event && !i->mark && str_eq(i->cell, cell) && str_eq(i->name, name) &&
                 str_eq(i->branch, branch) && i->text.len + n <= JOIN_MAX;
    if (!joins) {
        i = mem_alloc(sizeof *i);
        i->cell = mem_strdup(cell);
        i->branch = mem_strdup(branch);
        __builtin_strncpy(i->name, name, sizeof i->name - 1);
        append(o, i);
    }
    buf_add(&i->text, bytes, n);
    o->queued += n;
    bool full = o->queued >= JOIN_MAX;
    wake(o, full);
    pthread_mutex_unlock(&o->lock);
    if (full && loop_is_current(o->loop))
        outbox_flush(o);
}

// Copies in pieces: of a text of any size, no more than the queue's size is copied at once.
void outbox_text(
    outbox *o, const char *cell, const char *branch, const char *name, const char *bytes, size_t n)
{
    for (size_t at = 0; at < n; at += JOIN_MAX)
        put_text(o, cell, branch, name, bytes + at, n - at < JOIN_MAX ? n - at : JOIN_MAX);
}

void outbox_ended(outbox *o, const char *cell, const char *branch)
{
    struct item *i = mem_alloc(sizeof *i);
    i->cell = mem_strdup(cell);
    i->branch = mem_strdup(branch);
    lock_with_room(o);
    put(o, i, false);
    pthread_mutex_unlock(&o->lock);
}

void outbox_event(outbox *o, cJSON *event)
{
    struct item *i = mem_alloc(sizeof *i);
    i->event = event;
    lock_with_room(o);
    put(o, i, true);
    pthread_mutex_unlock(&o->lock);
}

void outbox_passed(outbox *o, void *what)
{
    struct item *i = mem_alloc(sizeof *i);
    i->mark = what;
    pthread_mutex_lock(&o->lock);
    put(o, i, true);
    pthread_mutex_unlock(&o->lock);
}

// Takes everything that is queued, oldest first.
static struct item *take_all(outbox *o)
{
    pthread_mutex_lock(&o->lock);
    struct item *first = o->first;
    o->first = o->newest = NULL;
    o->last = &o->first;
    o->queued = 0;
    o->woken = o->urgent = o->expected = false;
    pthread_cond_broadcast(&o->room);
    pthread_mutex_unlock(&o->lock);
    return first;
}

void outbox_hold(outbox *o, bool held)
{
    o->held = held;
}

void outbox_expect(outbox *o)
{
    loop_timer_start(o->timer, LAZY_MS, 0);
    pthread_mutex_lock(&o->lock);
    o->expected = true;
    pthread_mutex_unlock(&o->lock);
}

void outbox_flush(outbox *o)
{
    if (o->flushing) // things added by a delivery are delivered after it
        return;
    o->flushing = true;
    loop_timer_stop(o->timer);
    o->flushed = clock_mono();
    if (o->ops->begin)
        o->ops->begin(o->arg);
    // Takes only what is there now: a thread that writes without end must not keep the loop from
    // its other work.
    for (struct item *i = take_all(o), *next; i; i = next) {
        next = i->next;
        if (i->mark)
            o->ops->passed(o->arg, i->mark);
        else if (i->event)
            o->ops->event(o->arg, STEAL(i->event));
        else if (*i->name)
            o->ops->text(o->arg, i->cell, i->branch, i->name, i->text.data, i->text.len);
        else
            o->ops->ended(o->arg, i->cell, i->branch);
        item_free(i);
    }
    o->flushing = false;
    if (o->ops->end)
        o->ops->end(o->arg);
}
