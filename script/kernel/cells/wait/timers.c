// SPDX-License-Identifier: MIT
#include "script/kernel/cells/wait/timers.h"

#include "base/mem.h"

void timers_done(struct timers *all)
{
    free(all->heap);
    *all = (struct timers){0};
}

static void put(struct timers *all, size_t place, struct timer *t)
{
    all->heap[place - 1] = t;
    t->place = place;
}

static void up(struct timers *all, struct timer *t, size_t place)
{
    for (; place > 1 && all->heap[place / 2 - 1]->at > t->at; place /= 2)
        put(all, place, all->heap[place / 2 - 1]);
    put(all, place, t);
}

static void down(struct timers *all, struct timer *t, size_t place)
{
    for (size_t child; (child = 2 * place) <= all->n; place = child) {
        if (child < all->n && all->heap[child]->at < all->heap[child - 1]->at)
            child++;
        if (all->heap[child - 1]->at >= t->at)
            break;
        put(all, place, all->heap[child - 1]);
    }
    put(all, place, t);
}

static void take_out(struct timers *all, struct timer *t)
{
    size_t place = t->place;
    struct timer *last = all->heap[--all->n];
    t->place = 0;
    t->at = 0;
    if (last == t)
        return;
    down(all, last, place);
    up(all, last, last->place);
}

void timers_set(struct timers *all, struct timer *t, int64_t at)
{
    if (t->place)
        take_out(all, t);
    if (!at)
        return;
    if ((all->n & (all->n + 1)) == 0) // it has a power of two less one
        all->heap = mem_resize(all->heap, 2 * all->n + 1, sizeof *all->heap);
    t->at = at;
    all->n++;
    up(all, t, all->n);
}

int64_t timers_next(const struct timers *all)
{
    return all->n ? all->heap[0]->at : 0;
}

struct timer *timers_due(struct timers *all, int64_t now)
{
    struct timer *t = all->n ? all->heap[0] : NULL;
    if (!t || t->at > now)
        return NULL;
    take_out(all, t);
    return t;
}
