// SPDX-License-Identifier: MIT
#include "trainer/logs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct log_item *find(const logs *l, const char *name)
{
    for (size_t i = 0; i < l->n; i++)
        if (strncmp(l->items[i].name, name, LOG_NAME_SIZE - 1) == 0)
            return (struct log_item *)&l->items[i];
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
    if (!item && l->n < LOGS_MAX) {
        item = &l->items[l->n++];
        snprintf(item->name, sizeof item->name, "%s", name);
    }
    if (item)
        item->value = isnan(value) ? (double)NAN : value; // never "-nan", whoever prints it
}

void logs_format(const logs *l, buf *out)
{
    for (size_t i = 0; i < l->n; i++) {
        // Keras keeps its numbers as f32, so a learning rate of 0.001 is a little more than 0.001.
        double value = (double)(float)l->items[i].value;
        buf_fmt(out, fabs(value) > 1e-3 ? " - %s: %.4f" : " - %s: %.4e", l->items[i].name, value);
    }
}
