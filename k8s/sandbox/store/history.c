// SPDX-License-Identifier: MIT
#include "k8s/sandbox/store/history.h"

#include "base/mem.h"

#include <string.h>

static void drop_oldest(struct history *h)
{
    struct store_event *ev = &h->entries[h->head];
    h->trimmed = ev->version;
    snapshot_unref(ev->object);
    snapshot_unref(ev->old);
    h->head++, h->n--, h->first++;
}

void history_done(struct history *h)
{
    while (h->n)
        drop_oldest(h);
    free(h->entries);
    *h = (struct history){0};
}

static void make_room(struct history *h)
{
    if (h->head + h->n < h->cap)
        return;
    if (h->head > h->cap / 2) { // move to the front: each entry moves at most once per lap
        memmove(h->entries, h->entries + h->head, h->n * sizeof *h->entries);
        h->head = 0;
        return;
    }
    h->cap = h->cap ? h->cap * 2 : 64;
    h->entries = mem_resize(h->entries, h->cap, sizeof *h->entries);
}

void history_add(struct history *h, struct store_event ev, uint64_t keep)
{
    make_room(h);
    snapshot_ref(ev.object);
    snapshot_ref(ev.old);
    h->entries[h->head + h->n++] = ev;
    while (h->n > h->limit && h->first < keep)
        drop_oldest(h);
}

bool history_after(const struct history *h, int64_t since, uint64_t *position)
{
    if (since < h->trimmed)
        return false;
    uint64_t low = h->first, high = history_end(h);
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (history_at(h, middle)->version <= since)
            low = middle + 1;
        else
            high = middle;
    }
    *position = low;
    return true;
}
