// SPDX-License-Identifier: MIT
#include "tui/part/progress.h"

#include <math.h>

static double number(const cJSON *display, const char *key, double otherwise)
{
    const cJSON *n = json_get(display, key);
    return cJSON_IsNumber(n) && isfinite(n->valuedouble) ? n->valuedouble : otherwise;
}

struct progress progress_read(const cJSON *display)
{
    double total = number(display, "total", 0), epoch = number(display, "epoch", 0);
    double epochs = number(display, "epochs", 0), first = number(display, "first", 1);
    struct progress p = {.done = number(display, "done", 0), .total = total};
    p.elapsed = number(display, "elapsed", NAN);
    if (total > 0 && epoch >= 1 && epochs >= epoch) {
        p.done += (epoch - 1) * total;
        p.total = epochs * total;
        p.begun = first > 1 ? (first - 1) * total : 0;
    }
    return p;
}

double progress_fraction(const struct progress *p)
{
    return p->total > 0 ? fmin(fmax(p->done / p->total, 0), 1) : NAN;
}

double progress_rate(const struct progress *p)
{
    double done = p->done - p->begun;
    return done > 0 && p->elapsed > 0 ? done / p->elapsed : NAN;
}

double progress_left(const struct progress *p)
{
    return p->total > 0 ? fmax(p->total - p->done, 0) / progress_rate(p) : NAN;
}
