// SPDX-License-Identifier: MIT
// Loss and metrics over the rows seen so far: a batch is run, its results are added, and logs are
// made of the means. Plain values; watches are borrowed.
#pragma once
#include "trainer/fit.h"
#include "trainer/nn/train.h"

struct sums {
    const watch *watches;
    size_t watch_n;
    double loss, head_loss[HEADS_MAX];
    metric_sum metric[HEADS_MAX][METRIC_COUNT]; // of each output
    size_t rows;
};

typedef int (*batch_fn)(model *, const model_data *, const batch *, batch_result *, err *);

// Checks tensors and weights of rows, and prepares the model for them.
int sums_prepare(model *m, const evaluate_spec *spec, model_data *out, err *e);
// Resets the watches.
struct sums sums_begin(const watch *watches, size_t n);
// Trains or tests a batch, and adds its results.
int sums_run(batch_fn run, model *m, const model_data *data, batch *b, struct sums *s,
    batch_result *r, err *e);
// "val_loss", "val_accuracy", … for the prefix "val_".
void sums_log(const struct sums *s, const model *m, const char *prefix, logs *l);
