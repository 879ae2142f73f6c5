// SPDX-License-Identifier: MIT
// Training batch by batch, for loops of one's own: a step, a test, or only the gradients of all
// rows that are given. Tensors are borrowed for the call.
#pragma once
#include "trainer/fit.h"

// x, y, weights and watches of the spec are used; all rows are one batch.
// One optimizer step. Logs as those of an epoch, of this batch alone; free them with logs_done.
int model_train_on_batch(model *m, const evaluate_spec *spec, logs *out, err *e);
int model_test_on_batch(model *m, const evaluate_spec *spec, logs *out, err *e);
// The mean loss of the batch (with several outputs the sum by their weights), and its gradients:
// model_weight_gradient has them. Weights do not change, but statistics do, as in a step. `losses`:
// NULL, or what each output is trained by instead of what it was compiled with.
int model_gradients_on_batch(
    model *m, const evaluate_spec *spec, const head_spec *losses, double *loss, err *e);
