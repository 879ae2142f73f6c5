// SPDX-License-Identifier: MIT
#include "trainer/nn/clip.h"

#include <math.h>

// Unused columns hold zeros, so they do not matter in a norm.
static double squares(const float *g, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)g[i] * (double)g[i];
    return sum;
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

// A layer's kernel and bias lie one after the other: the kernel ends where the biases begin.
void clip_gradients(const plan *p, const optimizer_spec *o, float *g)
{
    if (o->clipvalue > 0)
        clip_value(g, p->values, (float)o->clipvalue);
    if (o->global_clipnorm > 0)
        scale(g, p->values, sqrt(squares(g, p->values)), o->global_clipnorm);
    for (size_t i = 0; o->clipnorm > 0 && i < p->n; i++) {
        const plan_layer *l = &p->layer[i];
        size_t end = i + 1 < p->n ? p->layer[i + 1].weights : p->values;
        size_t from[] = {l->weights, l->biases, end};
        for (int k = 0; k < 2; k++) {
            float *at = g + from[k];
            size_t n = from[k + 1] - from[k];
            scale(at, n, sqrt(squares(at, n)), o->clipnorm);
        }
    }
}
