// SPDX-License-Identifier: MIT
// The fused operation for a chain of Dense, Flatten and Dropout, as the machine computes it: only
// Dense layers are left, each with its buffers and the place of its weights in the graph's run of
// floats. The plan owns the buffers; callers pass the weights. Any other graph is run by flow.h.
//
// How the work is split: a thread owns units, never samples. So every number is computed by the
// same operations in the same order, for any number of threads:
//
//   wide layer (more than 16 units)      a panel of 64 units belongs to one thread: it computes
//   their
//                                        outputs and alone touches their weights and moments
//   narrow layer (up to 16 units)        a slice of 64 inputs belongs to one thread; the slices'
//                                        partial sums are added in their order
//
// Panel i of a layer and slice i of the next belong to the same thread, so no thread waits between
// a wide layer and a narrow one: 784-128-10 needs a single barrier in a training step.
//
// A panel's outputs and their gradients lie apart from those of other panels, since a processor
// fetches lines ahead: those that another thread is about to write would go back and forth.
//
//   y of a wide layer   panel 0: row 0 (64), row 1, …  │ panel 1: row 0, row 1, …  │
//                       └────────── step ──────────────┘
//   with `own`          row 0: panel 0, panel 1, … │ row 1: …          step is 64, ld a row
#pragma once
#include "trainer/cpu/ops.h"
#include "trainer/nn/layer/layer.h"

typedef struct plan_layer {
    size_t spec; // index of the Dense among the model's layers
    size_t inputs, units;
    activation f;
    bool bias, narrow;
    bool still_weights, still_bias; // not trained: their gradients are left out
    bool own;      // every thread has its own complete y (narrow layers and the last)
    size_t panels; // of 64 units
    size_t slices; // of 64 inputs
    size_t
        weights; // where panel 0 starts: panel p is (inputs, width) from weights + p·inputs·64 on
    size_t biases; // (units), rounded up to a multiple of 16
    float dropout; // rate of the Dropout after this layer, 0: none
    size_t ld;     // of y, out, d and mask: from one row to the next
    size_t step;   // of the same: from one panel's place to the next

    float *partial; // narrow: [slice][row][16]; last and wide: (rows, ld)
    float *y;       // f(x·W + b): (rows, units); with `own` one for each thread
    float *out;     // y after Dropout; without Dropout y itself
    float *mask;    // Dropout's factors, shaped like y
    float *d;       // dLoss/d(x·W + b), shaped like y; for the last layer one for each thread
} plan_layer;

// The buffers that each thread has for itself.
typedef struct plan_thread {
    const void **row; // pointers to the batch's rows
    float *x;         // the batch as floats: (rows, ldx)
    void *turned;     // or transposed in tiles: see sparse_rows
    float *flipped;   // a transposed block of weights: 64 × 64
    float *log_sum;   // (rows)
    float scale;
    float value[256]; // scale·b for every byte b
} plan_thread;

typedef struct plan {
    size_t n;
    plan_layer *layer;
    size_t lowest; // backward ends at this layer, the first that is trained
    size_t inputs, outputs;
    size_t values;       // floats in the array of weights, padding included
    float input_dropout; // rate of a Dropout before the first Dense
    uint8_t *seen;       // [panel][seen_step] of the first layer: by input
    size_t seen_step, seen_size;

    size_t rows, ldx; // capacity of the buffers
    int threads;
    plan_thread *thread;
} plan;

// Lays out layers that model.c has checked. plan_reserve allocates the buffers.
plan *plan_new(const layer_spec *layers, size_t n, size_t inputs);
void plan_free(plan *p);
// Allocates buffers for batches of up to `rows` rows and so many threads. -1: no memory.
int plan_reserve(plan *p, size_t rows, int threads, err *e);

static inline size_t plan_width(const plan_layer *l, size_t panel)
{
    size_t left = l->units - panel * PANEL;
    return left < PANEL ? (left + 15) / 16 * 16 : PANEL;
}

// Offset of the weights of a panel.
static inline size_t plan_panel(const plan_layer *l, size_t panel)
{
    return l->weights + panel * l->inputs * PANEL;
}

static inline size_t plan_slice_inputs(const plan_layer *l, size_t slice)
{
    size_t left = l->inputs - slice * PANEL;
    return left < PANEL ? left : PANEL;
}

// Offset of the weight of input k and unit u.
static inline size_t plan_weight(const plan_layer *l, size_t k, size_t u)
{
    size_t panel = u / PANEL;
    return plan_panel(l, panel) + k * plan_width(l, panel) + u % PANEL;
}
