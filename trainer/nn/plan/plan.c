// SPDX-License-Identifier: MIT
#include "trainer/nn/plan/plan.h"

#include "base/mem.h"
#include "trainer/nn/layer/layers.h"
#include "trainer/tensor/memory.h"

#include <string.h>

enum { LINE = 16, PAGE = 1024 }; // floats in a cache line, in a page: nothing is fetched beyond it

static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

// Returns an odd number of cache lines: with a stride of a power of two, all rows of a column would
// fall into the same set of the cache.
static size_t leading(size_t n)
{
    size_t lines = (n + LINE - 1) / LINE;
    return (lines | 1) * LINE;
}

static void place(plan *p, plan_layer *l, size_t inputs, bool last)
{
    l->inputs = inputs;
    l->narrow = l->units <= NARROW;
    l->own = l->narrow || last;
    l->panels = (l->units + PANEL - 1) / PANEL;
    l->slices = (inputs + PANEL - 1) / PANEL;
    l->ld = l->own ? leading(l->units) : PANEL;
    l->weights = p->values;
    l->biases = p->values + inputs * round_up(l->units, LINE);
    p->values = l->biases + (l->bias ? round_up(l->units, LINE) : 0);
}

plan *plan_new(const layer_spec *layers, size_t n, size_t inputs)
{
    plan *p = mem_alloc(sizeof *p);
    p->layer = mem_array(n, sizeof *p->layer);
    p->inputs = inputs;
    p->ldx = leading(inputs);
    for (size_t i = 0; i < n; i++) {
        const dense_layer *dense = layers[i].own;
        const dropout_layer *dropout = layers[i].own;
        if (layers[i].kind == LAYER_DENSE)
            p->layer[p->n++] = (plan_layer){
                .spec = i, .units = dense->units, .f = dense->activation, .bias = !dense->no_bias};
        else if (layers[i].kind == LAYER_DROPOUT)
            *(p->n ? &p->layer[p->n - 1].dropout : &p->input_dropout) = dropout->rate;
    }
    for (size_t i = 0; i < p->n; i++)
        place(p, &p->layer[i], i ? p->layer[i - 1].units : inputs, i + 1 == p->n);
    p->outputs = p->layer[p->n - 1].units;
    p->seen_step = round_up(inputs, 2 * LINE * sizeof(float));
    p->seen_size = p->layer[0].panels * p->seen_step;
    p->seen = mem_array(p->seen_size, 1);
    return p;
}

static void free_buffers(plan *p)
{
    for (size_t i = 0; i < p->n; i++) {
        plan_layer *l = &p->layer[i];
        if (l->out != l->y)
            free(l->out);
        free(l->partial);
        free(l->y);
        free(l->mask);
        free(l->d);
        l->partial = l->y = l->out = l->mask = l->d = NULL;
    }
    for (int t = 0; t < p->threads; t++) {
        free(p->thread[t].row);
        free(p->thread[t].x);
        free(p->thread[t].turned);
        free(p->thread[t].flipped);
        free(p->thread[t].log_sum);
    }
    free(p->thread);
    p->thread = NULL;
    p->threads = 0;
    p->rows = 0;
}

void plan_free(plan *p)
{
    if (!p)
        return;
    free_buffers(p);
    free(p->layer);
    free(p->seen);
    free(p);
}

// a·b·c zeroed floats; NULL when that is too much.
static float *floats(size_t a, size_t b, size_t c)
{
    size_t n;
    return __builtin_mul_overflow(a, b, &n) || __builtin_mul_overflow(n, c, &n)
               ? NULL
               : memory_array(n, sizeof(float));
}

static bool reserve_layer(plan_layer *l, size_t rows, size_t threads, bool last)
{
    size_t copies = l->own ? threads : l->panels, one = rows;
    if (l->narrow)
        l->partial = floats(l->slices, rows, NARROW);
    else if (last)
        l->partial = floats(1, rows, l->ld);
    if (!l->own) // as panels, each of whole pages
        one = round_up(rows * PANEL, PAGE) / PANEL;
    l->step = l->own ? PANEL : one * PANEL;
    l->y = floats(copies, one, l->ld);
    l->d = floats(l->own && !last ? 1 : copies, one, l->ld);
    l->out = l->y;
    if (l->dropout > 0) {
        l->out = floats(copies, one, l->ld);
        l->mask = floats(copies, one, l->ld);
    }
    return (l->partial || !l->own) && l->y && l->d && l->out && (l->mask || !(l->dropout > 0));
}

static bool reserve_thread(plan *p, plan_thread *t, size_t rows)
{
    t->row = memory_array(rows, sizeof *t->row); // no other thread's line
    t->x = floats(1, rows, p->ldx);
    t->turned = floats(1, round_up(rows, TILE), p->inputs);
    t->flipped = floats(1, PANEL, PANEL);
    t->log_sum = floats(1, rows, 1);
    return t->row && t->x && t->turned && t->flipped && t->log_sum;
}

int plan_reserve(plan *p, size_t rows, int threads, err *e)
{
    if (rows <= p->rows && threads == p->threads)
        return 0;
    rows = rows > p->rows ? rows : p->rows;
    free_buffers(p);
    p->thread = mem_array((size_t)threads, sizeof *p->thread);
    p->threads = threads;
    bool fits = true;
    for (size_t i = 0; fits && i < p->n; i++)
        fits = reserve_layer(&p->layer[i], rows, (size_t)threads, i + 1 == p->n);
    for (int t = 0; fits && t < threads; t++)
        fits = reserve_thread(p, &p->thread[t], rows);
    p->rows = rows;
    if (fits)
        return 0;
    free_buffers(p);
    return err_set(
        e, ERR_LIMIT, "no memory for batches of %zu rows; try a smaller batch size", rows);
}
