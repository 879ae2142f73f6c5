// SPDX-License-Identifier: MIT
#include "trainer/serve/lanes.h"

#include "base/clock.h"
#include "base/mem.h"

#include <pthread.h>

struct row {
    struct lane_place *first, *last; // longest first
};

struct lanes {
    struct lanes_options options;
    pthread_mutex_t lock;
    size_t free;
    bool open;
    struct row riding, waiting;
};

lanes *lanes_new(const struct lanes_options *o)
{
    lanes *l = mem_alloc(sizeof *l);
    *l = (lanes){.options = *o, .lock = PTHREAD_MUTEX_INITIALIZER, .free = o->most};
    return l;
}

void lanes_free(lanes *l)
{
    if (!l)
        return;
    pthread_mutex_destroy(&l->lock);
    free(l);
}

// The functions below are called with the lock held.

static void append(struct row *r, struct lane_place *p)
{
    p->since = clock_mono();
    p->next = NULL;
    p->previous = r->last;
    *(r->last ? &r->last->next : &r->first) = p;
    r->last = p;
}

static void take_out(struct row *r, struct lane_place *p)
{
    *(p->previous ? &p->previous->next : &r->first) = p->next;
    *(p->next ? &p->next->previous : &r->last) = p->previous;
}

static void stop_riding(lanes *l, struct lane_place *p)
{
    take_out(&l->riding, p);
    p->rides = false;
    l->free++;
}

static void let_go(lanes *l, struct lane_place *p)
{
    take_out(&l->waiting, p);
    p->waits = false;
    l->options.go(p->who);
}

// Gives each free lane to the one that came last, and to those that have waited too long.
static void let_go_some(lanes *l)
{
    int64_t now = clock_mono();
    for (size_t n = l->free; n > 0 && l->waiting.last; n--)
        let_go(l, l->waiting.last);
    while (l->waiting.first && (l->open || now - l->waiting.first->since > l->options.wait_ns))
        let_go(l, l->waiting.first);
}

// Until here.

bool lanes_take(lanes *l, struct lane_place *p)
{
    pthread_mutex_lock(&l->lock);
    if (p->rides) {
        take_out(&l->riding, p);
        append(&l->riding, p);
    } else if (l->free > 0) {
        l->free--;
        p->rides = true;
        append(&l->riding, p);
        p->taken = p->since;
    }
    bool may = p->rides || l->open;
    pthread_mutex_unlock(&l->lock);
    return may;
}

void lanes_wait(lanes *l, struct lane_place *p)
{
    pthread_mutex_lock(&l->lock);
    p->waits = true;
    append(&l->waiting, p);
    let_go_some(l);
    pthread_mutex_unlock(&l->lock);
}

void lanes_leave(lanes *l, struct lane_place *p)
{
    pthread_mutex_lock(&l->lock);
    if (p->rides)
        stop_riding(l, p);
    else if (p->waits)
        take_out(&l->waiting, p);
    p->waits = false;
    let_go_some(l);
    pthread_mutex_unlock(&l->lock);
}

void lanes_let_go(lanes *l, struct lane_place *p)
{
    pthread_mutex_lock(&l->lock);
    if (p->waits)
        let_go(l, p);
    pthread_mutex_unlock(&l->lock);
}

void lanes_tick(lanes *l)
{
    pthread_mutex_lock(&l->lock);
    int64_t now = clock_mono();
    for (struct lane_place *p = l->riding.first, *next; p; p = next) {
        next = p->next;
        bool long_enough = l->waiting.first && now - p->taken > l->options.ride_ns;
        if (long_enough || now - p->since > l->options.idle_ns)
            stop_riding(l, p);
    }
    let_go_some(l);
    pthread_mutex_unlock(&l->lock);
}

void lanes_open(lanes *l)
{
    pthread_mutex_lock(&l->lock);
    l->open = true;
    let_go_some(l);
    pthread_mutex_unlock(&l->lock);
}
