// SPDX-License-Identifier: MIT
#include "trainer/nn/plan/arena.h"

#include "base/mem.h"

#include <stdlib.h>

static int by_first_moment(const void *a, const void *b)
{
    const arena_item *const *x = a, *const *y = b;
    if ((*x)->from != (*y)->from)
        return (*x)->from < (*y)->from ? -1 : 1;
    return *x < *y ? -1 : *x > *y;
}

static bool meet(const arena_item *a, const arena_item *b)
{
    return a->from <= b->to && b->from <= a->to;
}

// The lowest place for `item`: `placed` are sorted by place.
static size_t lowest(const arena_item *item, arena_item *const *placed, size_t n)
{
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        const arena_item *other = placed[i];
        if (meet(item, other) && other->at < at + item->size && at < other->at + other->size)
            at = other->at + other->size;
    }
    return at;
}

bool arena_place(arena_item *items, size_t n, size_t *size)
{
    AUTO_FREE arena_item **order = mem_array(n, sizeof *order);
    AUTO_FREE arena_item **placed = mem_array(n, sizeof *placed);
    size_t all = 0, most = 0;
    for (size_t i = 0; i < n; i++) {
        order[i] = &items[i];
        if (__builtin_add_overflow(all, items[i].size, &all))
            return false;
    }
    qsort(order, n, sizeof *order, by_first_moment);
    for (size_t i = 0; i < n; i++) {
        arena_item *item = order[i];
        item->at = lowest(item, placed, i);
        size_t k = i;
        for (; k > 0 && placed[k - 1]->at > item->at; k--)
            placed[k] = placed[k - 1];
        placed[k] = item;
        most = item->at + item->size > most ? item->at + item->size : most;
    }
    *size = most;
    return true;
}
