// SPDX-License-Identifier: MIT
// Training batch by batch, for custom loops: a step, a test, or only the gradients for all given
// rows. Tensors are borrowed for the call.
#pragma once
#include "trainer/fit.h"

// Uses x, y, weights and watches of the spec; all rows are one batch. One optimizer step. The logs
// are those of an epoch, for this batch only; call logs_done.
int model_train_on_batch(model *m, const evaluate_spec *spec, logs *out, err *e);
int model_test_on_batch(model *m, const evaluate_spec *spec, logs *out, err *e);
// The mean loss of the batch (with several outputs the weighted sum), and its gradients, which
// model_weight_gradient returns. Weights do not change, but statistics do, as in a step. `losses`:
// NULL, or the losses of the outputs in place of the compiled ones.
int model_gradients_on_batch(
    model *m, const evaluate_spec *spec, const head_spec *losses, double *loss, err *e);
