// SPDX-License-Identifier: MIT
// Gradients that are averaged while backward goes on, as by one rank whose average is the half:
// what was given must have been final.
#pragma once
#include "base/mem.h"
#include "tests/support/tap.h"
#include "trainer/nn/graph/model.h"

struct overlap {
    struct overlap_run {
        float *at, *given;
        size_t n;
    } run[64];
    size_t n;                 // under way
    size_t runs, most, steps; // all, of a step; steps
    size_t numbers;           // of a step
};

static int overlap_halve(void *ctx, float *values, size_t n, const char *name, err *e)
{
    for (size_t i = 0; i < n; i++)
        values[i] *= 0.5F;
    return 0;
}

static int overlap_begin(void *ctx, float *values, size_t n, err *e)
{
    struct overlap *o = ctx;
    CHECK(n > 0 && o->n < ARRAY_LEN(o->run));
    if (o->n) // the last layers' come first, and nothing is left out
        CHECK(values + n == o->run[o->n - 1].at);
    o->run[o->n++] = (struct overlap_run){values, mem_dup(values, n * sizeof *values), n};
    return 0;
}

static int overlap_progress(void *ctx, err *e)
{
    CHECK(((struct overlap *)ctx)->n > 0);
    return 0;
}

static int overlap_finish(void *ctx, err *e)
{
    struct overlap *o = ctx;
    o->numbers = 0;
    for (size_t i = 0; i < o->n; i++) {
        struct overlap_run *r = &o->run[i];
        CHECK(memcmp(r->at, r->given, r->n * sizeof *r->at) == 0);
        overlap_halve(NULL, r->at, r->n, "", e);
        o->numbers += r->n;
        free(r->given);
    }
    o->runs += o->n;
    o->most = o->n > o->most ? o->n : o->most;
    o->steps++;
    o->n = 0;
    return 0;
}

static const overlap_ops overlap_ops_halve = {overlap_begin, overlap_progress, overlap_finish};

// The same as by the allreduce behind backward.
static inline compile_spec overlap_spec(compile_spec spec, struct overlap *o, size_t bucket)
{
    *o = (struct overlap){0};
    spec.allreduce = overlap_halve;
    spec.allreduce_ctx = o;
    spec.overlap = &overlap_ops_halve;
    spec.bucket = bucket;
    return spec;
}
