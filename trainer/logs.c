// SPDX-License-Identifier: MIT
#include "trainer/logs.h"

#include "base/mem.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { ROOM = 8 }; // items grow by this number

static struct log_item *find(const logs *l, const char *name)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->items[i].name, name) == 0)
            return &l->items[i];
    return NULL;
}

bool logs_get(const logs *l, const char *name, double *value)
{
    const struct log_item *item = find(l, name);
    if (item)
        *value = item->value;
    return item != NULL;
}

void logs_set(logs *l, const char *name, double value)
{
    struct log_item *item = find(l, name);
    if (!item) {
        size_t n = strlen(name);
        assert(n < LOG_NAME_SIZE);
        if (l->n % ROOM == 0)
            l->items = mem_resize(l->items, l->n + ROOM, sizeof *l->items);
        item = &l->items[l->n++];
        memcpy(item->name, name, n + 1);
    }
    item->value = isnan(value) ? (double)NAN : value; // never "-nan", whoever prints it
}

void logs_format(const logs *l, buf *out)
{
    for (size_t i = 0; i < l->n; i++) {
        buf_fmt(out, " - %s: ", l->items[i].name);
        buf_metric(out, l->items[i].value);
    }
}

void logs_done(logs *l)
{
    free(l->items);
    *l = (logs){0};
}
