// SPDX-License-Identifier: MIT
#include "k8s/sandbox/store/shelf.h"

#include "base/mem.h"

#include <string.h>

void shelf_done(struct shelf *sh)
{
    for (size_t i = 0; i < sh->n; i++)
        snapshot_unref(sh->items[i]);
    free(sh->items);
    *sh = (struct shelf){0};
}

static int compare(const snapshot *s, const char *ns, const char *name)
{
    int by_ns = strcmp(s->ns, ns);
    return by_ns ? by_ns : strcmp(s->name, name);
}

size_t shelf_find(const struct shelf *sh, const char *ns, const char *name)
{
    size_t low = 0, high = sh ? sh->n : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(sh->items[middle], ns, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

snapshot **shelf_slot(const struct shelf *sh, const char *ns, const char *name)
{
    size_t i = shelf_find(sh, ns, name);
    return sh && i < sh->n && compare(sh->items[i], ns, name) == 0 ? &sh->items[i] : NULL;
}

void shelf_put(struct shelf *sh, snapshot *snap)
{
    size_t i = shelf_find(sh, snap->ns, snap->name);
    if (i < sh->n && compare(sh->items[i], snap->ns, snap->name) == 0) {
        snapshot_unref(sh->items[i]);
        sh->items[i] = snap;
        return;
    }
    if (sh->n == sh->cap) {
        sh->cap = sh->cap ? sh->cap * 2 : 16;
        sh->items = mem_resize(sh->items, sh->cap, sizeof *sh->items);
    }
    memmove(sh->items + i + 1, sh->items + i, (sh->n - i) * sizeof *sh->items);
    sh->items[i] = snap;
    sh->n++;
}

void shelf_take_out(struct shelf *sh, snapshot **at)
{
    snapshot_unref(*at);
    size_t i = (size_t)(at - sh->items);
    memmove(at, at + 1, (sh->n - i - 1) * sizeof *at);
    sh->n--;
}
