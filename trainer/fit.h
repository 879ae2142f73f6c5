// SPDX-License-Identifier: MIT
// Training, evaluation and prediction over tensors, with callbacks, history and Keras's lines.
// Nothing is printed: text goes to a sink. All tensors are borrowed for the call.
#pragma once
#include "base/err.h"
#include "trainer/logs.h"
#include "trainer/nn/graph/model.h"
#include "trainer/watch.h"

#include <stdatomic.h>

// Keras's callback methods, each optional. A callback returns 0 to go on, 1 to end the training
// after it (stop_training), or -1 with e to end it with an error. They run on the thread that
// called model_fit, between steps, so they may read and set the model's learning rate and weights.
typedef struct fit_callbacks {
    void *ctx;
    int (*train_begin)(void *ctx, err *e);
    int (*train_end)(void *ctx, err *e);
    int (*epoch_begin)(void *ctx, int epoch, err *e);          // epochs count from 0
    int (*epoch_end)(void *ctx, int epoch, logs *l, err *e);   // before the epoch's line is shown
    int (*train_batch_begin)(void *ctx, size_t batch, err *e); // batches count from 0
    int (*train_batch_end)(void *ctx, size_t batch, const logs *l, err *e); // running means
    // Called after each batch: is it time to report progress? If so, `progress` is called. Neither
    // may use the model. Both or none.
    bool (*progress_is_due)(void *ctx);
    void (*progress)(void *ctx, size_t batch, const logs *l);
    // Ranks that train together also end together: is called with whether a callback here has asked
    // to end, and returns 1 if one on any rank has. It is called around the beginning of each
    // epoch, and after each batch with agree_batches.
    int (*agree)(void *ctx, bool ends, err *e);
    bool agree_batches;
    // Called when the training ends with an error whose cause may be another rank's rows, not the
    // rows here.
    void (*follows)(void *ctx);
} fit_callbacks;

typedef struct fit_sink {
    void *ctx;
    void (*text)(void *ctx, const char *text, size_t n);
} fit_sink;

typedef struct fit_spec {
    const tensor *x;             // (n, …)
    const tensor *y;             // (n), (n, 1) or (n, units): see loss.h
    const tensor *val_x, *val_y; // NULL: no validation
    // A graph with several inputs or outputs: all of them, the first are x, y, val_x and val_y.
    const tensor *const *xs, *const *ys, *const *val_xs, *const *val_ys;
    const tensor *weights;     // NULL, or (n): a weight for each row; a batch's loss is
    const tensor *val_weights; // the sum over its rows, divided by how many they are
    const tensor *const *head_weights, *const *val_head_weights; // instead, weights for each output
    const watch *watches;                                        // besides the model's metrics
    size_t watch_n;
    size_t batch_size;     // 0: 32
    size_t val_batch_size; // 0: batch_size
    int epochs;            // 0: trains nothing, and the history is empty
    int initial_epoch;
    bool no_shuffle; // keeps the order of the rows; otherwise each epoch of the model, over all
                     // fits, has another one
    uint64_t seed;   // for shuffling and dropout; 0: the model's seed
    // 0: all rows once. Otherwise an epoch has so many steps of batch_size rows, and continues
    // where the one before it has stopped: the rows are repeated, in a different order each time.
    size_t steps_per_epoch;
    int verbose; // 0: silent, 1: a progress bar, 2: a line for each epoch
    fit_callbacks callbacks;
    bool whole_state; // batch callbacks may read the optimizer's state, on any rank: so ranks do
                      // not keep only shares of it
    fit_sink sink;
    const atomic_bool *stop; // checked before each batch: ERR_CANCELLED
} fit_spec;

typedef struct history {
    size_t n;     // epochs done
    int *epoch;   // their numbers, from 0
    logs *epochs; // their logs after the callbacks have changed them
} history;

// The number of steps in an epoch: ceil(rows / batch_size), or steps_per_epoch.
size_t fit_steps(const fit_spec *spec);
// Trains. `out` (may be NULL) holds the epochs that were done, also after an error; free it with
// fit_history_done.
int model_fit(model *m, const fit_spec *spec, history *out, err *e);
void fit_history_done(history *h);

typedef struct evaluate_spec {
    const tensor *x, *y, *weights;
    const tensor *const *xs, *const *ys, *const *head_weights; // as fit_spec's
    const watch *watches;
    size_t watch_n;
    bool *follows;     // NULL, or set when a loss is not finite and the cause is not in the rows
                       // here
    size_t batch_size; // 0: 32
    int verbose;
    fit_sink sink;
    const atomic_bool *stop;
} evaluate_spec;

// Loss and metrics over all rows, as the logs "loss" and "accuracy"; free them with logs_done.
int model_evaluate(model *m, const evaluate_spec *spec, logs *out, err *e);
// The outputs of a graph: out[k] becomes a new F32 tensor (n, …) for each. -1: no tensor is kept.
int model_predict_list(
    model *m, const tensor *const *xs, tensor **out, const atomic_bool *stop, err *e);
// About how many bytes a prediction needs besides weights, rows and outputs: the same on all
// machines.
size_t model_predict_bytes(const model *m);
// The same in batches of so many rows; 0: 256, or 32 of pictures. The numbers are the same.
int model_predict_batches(model *m, const tensor *const *xs, size_t batch_size, tensor **out,
    const atomic_bool *stop, err *e);
// A new F32 tensor (n, …): the (first) output for the one input.
tensor *model_predict(model *m, const tensor *x, const atomic_bool *stop, err *e);
