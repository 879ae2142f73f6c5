// SPDX-License-Identifier: MIT
// One batch through a plan: forward, loss, and in training backward with the update of the weights,
// on all threads of a pool. Everything is borrowed for the call.
#pragma once
#include "trainer/cpu/ops.h"
#include "trainer/cpu/pool.h"
#include "trainer/nn/graph/model.h"
#include "trainer/nn/plan/plan.h"
#include "trainer/tensor/tensor.h"

typedef struct step {
    plan *plan;
    const cpu_ops *cpu;
    pool *pool;
    uint8_t *const *touched;  // [parameters] of a graph: see op_work; NULL: none
    params values;            // the arrays of weights, moments and gradients
    update rule;              // for training only
    const compile_spec *spec; // loss and metrics
    bool train;               // false: forward and loss only
    bool sparse;              // the input has enough zeros to skip them
    bool alone;               // run on one thread; the results are the same
    bool moves;               // statistics follow this step: it is one of a training
    uint64_t written;         // how often weights have changed

    const tensor *x, *y; // y NULL: no loss, only outputs
    // Those of a graph with several inputs and outputs; NULL: x and y are the only ones.
    const tensor *const *xs, *const *ys;
    const tensor *weights;             // NULL, or (n): what each row's loss counts
    const tensor *const *head_weights; // the same for each output; NULL: weights
    const uint32_t *rows;              // the rows of x and y in the batch
    size_t n;
    size_t next;    // so many entries after them are the next batch
    uint64_t noise; // seed of this step's Dropout

    // Called on thread 0 during the backward pass of a training; NULL: it is not called. The
    // gradients of trainable weights from index `from` on are final. Only with UPDATE_STORE, which
    // stores gradients.
    void (*ready)(void *ctx, size_t from);
    void *ready_ctx;

    float *out;            // when not NULL: (n, outputs) of the batch
    float *const *outs;    // the same for each output of a graph
    float *const *outputs; // with a loss, for each output: NULL, or (n, outputs) of the batch, too
    bool failed;           // a loss of one's own has failed, with
    err error;
    double loss_sum; // result: sum over the rows, of all outputs by their weights
    double head_loss[HEADS_MAX];
    metric_sum metric[HEADS_MAX][METRIC_COUNT];
} step;

void step_run(step *s);
