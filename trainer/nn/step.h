// SPDX-License-Identifier: MIT
// One batch through a plan: forward, loss, and in training backward with the update of the weights,
// on all threads of a pool. Everything is borrowed for the call.
#pragma once
#include "trainer/cpu/ops.h"
#include "trainer/cpu/pool.h"
#include "trainer/nn/loss.h"
#include "trainer/nn/plan.h"
#include "trainer/tensor/tensor.h"

typedef struct step {
    plan *plan;
    const cpu_ops *cpu;
    pool *pool;
    params values; // the runs of weights, moments and gradients
    update rule;   // training only
    loss_kind loss;
    bool from_logits;
    bool train;  // forward and loss only when false
    bool sparse; // the input is worth skipping zeros
    bool alone;  // on one thread: the results are the same

    const tensor *x, *y;  // y NULL: no loss, only outputs
    const uint32_t *rows; // which rows of x and y are the batch
    size_t n;
    size_t next;    // so many rows after them are wanted soon
    uint64_t noise; // of this step's Dropout

    float *out;      // when not NULL: (n, outputs) of the batch
    double loss_sum; // results: over the rows
    double correct;
} step;

void step_run(step *s);
