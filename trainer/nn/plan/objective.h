// SPDX-License-Identifier: MIT
// Loss, its gradient and the metrics of one batch, computed from the last layer's values before
// its activation. Everything is borrowed.
#pragma once
#include "trainer/cpu/ops.h"
#include "trainer/nn/graph/model.h"
#include "trainer/tensor/tensor.h"

typedef struct objective {
    const cpu_ops *cpu;
    const compile_spec *spec;
    activation f; // the last layer's activation
    float *z;     // (rows, units) x·W + b; overwritten
    float *d;     // (rows, units) becomes dLoss/dz, averaged over the rows
    size_t ld, rows, units;
    row_shape out;         // of a row of the outputs; only a loss of one's own needs it
    const tensor *y;       // targets
    const uint32_t *row;   // the rows of y that belong to the batch
    const tensor *weights; // NULL, or (n) by row of y: what a row's loss counts
    float *outputs;        // NULL, or (rows, units): set to the outputs when measuring
    float *log_sum;        // (rows), scratch space
    bool failed;           // set when a loss of one's own has failed, with
    err error;
    double loss_sum;                 // set to the sum over the rows, each by its weight
    metric_sum metric[METRIC_COUNT]; // by formula, of those that spec asks for
    metric formula[METRIC_COUNT];    // scratch space: those formulas
    size_t formulas;
} objective;

// Zeros for a batch's outputs: (n, a row); a row with as many dimensions as a tensor may have is
// flat.
tensor *objective_outputs(size_t n, const row_shape *row, err *e);
// A copy of the batch's targets for functions of y and p. Where one of them has a last dimension of
// 1 that the other has not, y gets or loses it, as in Keras (squeeze_or_expand_to_same_rank):
// otherwise (n) and (n, 1) would give n² differences.
tensor *objective_targets(const tensor *y, const uint32_t *rows, size_t n, const tensor *p, err *e);

// `measure`: compute loss_sum and the metrics, too.
void objective_run(objective *o, bool measure);

// Checks that loss, its options, metrics, the last layer's activation and targets fit together.
// Messages tell what to change.
int objective_check(const compile_spec *spec, activation f, err *e);
int objective_check_targets(const compile_spec *spec, size_t units, const tensor *y, err *e);
// If spec asks for an accuracy, are these targets classes, so that it has a meaning? Those of a
// cross-entropy are; of others only when all are 0 or 1.
int objective_check_accuracy(const compile_spec *spec, const tensor *y, err *e);
