// SPDX-License-Identifier: MIT
#include "trainer/nn/clip.h"

#include <math.h>

// Unused columns hold zeros, so they do not matter in a norm.
static void add_squares(double *sum, const float *g, size_t n)
{
    for (size_t i = 0; i < n; i++)
        *sum += (double)g[i] * (double)g[i];
}

static void scale(float *g, size_t n, double norm, double most)
{
    float by = (float)(most / norm);
    for (size_t i = 0; norm > most && i < n; i++)
        g[i] *= by;
}

static void clip_value(float *g, size_t n, float most)
{
    for (size_t i = 0; i < n; i++)
        g[i] = g[i] > most ? most : g[i] < -most ? -most : g[i];
}

void clip_gradients(const graph *m, const optimizer_spec *o, float *g)
{
    if (o->clipvalue > 0)
        clip_value(g, m->trained, (float)o->clipvalue);
    double all = 0;
    for (size_t i = 0; (o->clipnorm > 0 || o->global_clipnorm > 0) && i < m->parameters; i++) {
        const parameter *p = &m->parameter[i];
        double own = 0;
        if (p->frozen)
            continue;
        add_squares(o->clipnorm > 0 ? &own : &all, g + p->at, p->size);
        if (o->clipnorm > 0)
            scale(g + p->at, p->size, sqrt(own), o->clipnorm);
    }
    if (o->global_clipnorm > 0)
        scale(g, m->trained, sqrt(all), o->global_clipnorm);
}
