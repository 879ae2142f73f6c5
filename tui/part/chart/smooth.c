// SPDX-License-Identifier: MIT
#include "tui/part/chart/smooth.h"

#include <math.h>

struct smooth smooth_of(double weight)
{
    return (struct smooth){.weight = weight, .left = 1};
}

double smooth_next(struct smooth *s, double v)
{
    if (!isfinite(v) || !(s->weight > 0))
        return v;
    s->last = s->weight * s->last + (1 - s->weight) * v;
    s->left *= s->weight;
    return s->last / (1 - s->left);
}
