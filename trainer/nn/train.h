// SPDX-License-Identifier: MIT
// A model batch by batch, below fit.h: data that was checked once, then step after step. Tensors
// are borrowed.
#pragma once
#include "trainer/nn/model.h"

typedef struct model_data {
    const tensor *x, *y; // y NULL: only to predict
    bool sparse;         // skipping zeros of x is worth it
} model_data;

typedef struct batch {
    const uint32_t *rows; // which rows of the data
    size_t n;
    size_t next; // rows[n … n+next) come after them: fetched ahead; 0 when not known
} batch;

typedef struct batch_result {
    double loss_sum; // over the rows
    double correct;  // rows predicted right
} batch_result;

// Builds the model if need be, checks shapes and labels, and measures how many zeros x has.
int model_prepare(model *m, const tensor *x, const tensor *y, model_data *out, err *e);
// One optimizer step on these rows. -1 only when the allreduce fails or memory is short.
int model_train_batch(model *m, const model_data *data, const batch *b, batch_result *r, err *e);
// Loss and metric without a step.
int model_test_batch(model *m, const model_data *data, const batch *b, batch_result *r, err *e);
// Outputs, (n, outputs).
int model_predict_batch(model *m, const model_data *data, const batch *b, float *out, err *e);

// The loss as training sees it, and the gradient of its mean over these rows for each weight, in
// the layout of model_weight_values; nothing is changed. For tests.
int model_gradient(model *m, const model_data *data, const batch *b, batch_result *r,
    const float **values, err *e);
