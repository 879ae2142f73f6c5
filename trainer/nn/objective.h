// SPDX-License-Identifier: MIT
// Loss, its gradient and the accuracy of one batch, from what the last layer computes before its
// activation. Everything is borrowed.
#pragma once
#include "trainer/cpu/ops.h"
#include "trainer/nn/loss.h"
#include "trainer/tensor/tensor.h"

typedef struct objective {
    const cpu_ops *cpu;
    loss_kind loss;
    activation f; // the last layer's
    float *z;     // (rows, units) x·W + b; overwritten
    float *d;     // (rows, units) becomes dLoss/dz, averaged over the rows
    size_t ld, rows, units;
    const tensor *y;     // targets
    const uint32_t *row; // which of their rows are the batch's
    float *log_sum;      // (rows), scratch
    double loss_sum;     // becomes the sum over the rows
    double correct;      // rows that were predicted right; a part of one with several outputs
} objective;

// `measure`: loss_sum and correct are wanted too.
void objective_run(objective *o, bool measure);

// Do loss, activation and targets go together? Messages say what to change.
int objective_check(loss_kind loss, activation f, bool from_logits, err *e);
int objective_check_targets(loss_kind loss, size_t units, const tensor *y, err *e);
