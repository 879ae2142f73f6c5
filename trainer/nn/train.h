// SPDX-License-Identifier: MIT
// Trains a model batch by batch, one level below fit.h: data is checked once, then used step after
// step. Tensors are borrowed.
#pragma once
#include "trainer/nn/graph/model.h"

typedef struct model_data {
    const tensor *x, *y;               // y NULL: for prediction only
    const tensor *weights;             // NULL, or (n): what each row's loss counts, in all outputs
    const tensor *const *head_weights; // instead, for each output; NULL: none has its own
    bool sparse;                       // x has enough zeros to skip them
    // Of a graph with several inputs or outputs: all of them, the first is x, y. Else NULL.
    const tensor *const *xs, *const *ys;
} model_data;

typedef struct batch {
    const uint32_t *rows; // the rows of the data in this batch
    size_t n;
    float *outputs[HEADS_MAX]; // NULL, or (n, outputs): also set to what each output is
    size_t next;               // rows[n … n+next) come next and are fetched ahead; 0: unknown
} batch;

typedef struct batch_result {
    double loss_sum;                 // sum over the rows
    metric_sum metric[METRIC_COUNT]; // by formula, of the metrics that were asked for
    // The same of each output of a graph that has several.
    double head_loss[HEADS_MAX];
    metric_sum head_metric[HEADS_MAX][METRIC_COUNT];
} batch_result;

// Builds the model if needed, checks shapes and labels, and measures how many zeros x has.
int model_prepare(model *m, const tensor *x, const tensor *y, model_data *out, err *e);
// The same for a graph: as many x as it has inputs, and y (or none) as outputs. The lists are
// borrowed as long as the data is used.
int model_prepare_all(
    model *m, const tensor *const *xs, const tensor *const *ys, model_data *out, err *e);
// The same when only one of the two is a list.
int model_prepare_lists(model *m, const tensor *x, const tensor *y, const tensor *const *xs,
    const tensor *const *ys, model_data *out, err *e);
// From now on, or no longer, ranks may share the updates of steps. Until the next model_gather each
// of them has the optimizer's state of its share alone.
void model_share_updates(model *m, bool on);
// One optimizer step on these rows. -1 only when the allreduce fails or memory is short.
int model_train_batch(model *m, const model_data *data, const batch *b, batch_result *r, err *e);
// Computes loss and metric without a step.
int model_test_batch(model *m, const model_data *data, const batch *b, batch_result *r, err *e);
// Checks the weights of the data: (n), finite.
int model_check_weights(const model *m, const model_data *data, err *e);
// Computes the outputs, (n, outputs).
int model_predict_batch(model *m, const model_data *data, const batch *b, float *out, err *e);

// The same for each output of a graph.
int model_predict_all(model *m, const model_data *data, const batch *b, float *const *outs, err *e);

// For loops of one's own. model_loop_gradient is the first half of model_train_batch: it leaves the
// gradients of the mean loss of these rows with the model, and statistics such as
// BatchNormalization's follow. model_apply is the other half: one step of the optimizer with these
// gradients, a tensor for each weight that is trained; first they are averaged over the ranks (if
// the model has an allreduce) and clipped. So both, one after the other, have the bits of
// model_train_batch.
int model_loop_gradient(model *m, const model_data *data, const batch *b, batch_result *r, err *e);
int model_apply(model *m, const tensor *const *gradients, size_t n, err *e);

// The loss as in training, and for each weight the gradient of the mean loss over these rows, in
// the layout of model_weight_values. It changes nothing. For tests.
int model_gradient(model *m, const model_data *data, const batch *b, batch_result *r,
    const float **values, err *e);
