// SPDX-License-Identifier: MIT
// What a training is watched by, with Keras's names and formulas (keras/src/metrics): y is what was
// expected, p what the model puts out, a mean is over rows and outputs. Plain values.
// doc/models.md has this table (tests/support/formulapage.py).
//
// Metrics:
//   accuracy                       the share of rows that are right: the greatest of several
//                                  outputs is the expected one; a single one is on the right side
//                                  of one half (with from_logits, too, as in Keras). An error when
//                                  the targets are no classes  [Keras 3]
//   binary_accuracy                the share of outputs that are on the right side of one half
//                                  [Keras 3]
//   top_k_categorical_accuracy     the share of rows whose class is among the five greatest outputs
//                                  (nn.TopKCategoricalAccuracy: `k`)
//                                  [Russakovsky and others, arXiv 1409.0575]
//   mean_squared_error             mean (y-p)²  [Keras 3]
//   root_mean_squared_error        √ mean (y-p)²  [Keras 3]
//   mean_absolute_error            mean |y-p|  [Keras 3]
//   mean_absolute_percentage_error
//                                  100 · mean |y-p|/max(|y|, 1e-7)  [Keras 3]
//   root_mean_squared_percentage_error
//                                  √ mean ((y-p)/y)² over all y that are not 0: the measure of
//                                  Kaggle's Rossmann store sales; Keras has none
//                                  [Kaggle, Rossmann store sales]
#pragma once
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

//  X(name, text, the metric whose formula it has): a log has the name that was asked for
#define METRICS(X)                                                                                 \
    X(ACCURACY, "accuracy", ACCURACY)                                                              \
    X(ACC, "acc", ACCURACY)                                                                        \
    X(CATEGORICAL_ACCURACY, "categorical_accuracy", ACCURACY)                                      \
    X(SPARSE_ACCURACY, "sparse_categorical_accuracy", ACCURACY)                                    \
    X(BINARY_ACCURACY, "binary_accuracy", BINARY_ACCURACY)                                         \
    X(TOP_K, "top_k_categorical_accuracy", TOP_K)                                                  \
    X(SPARSE_TOP_K, "sparse_top_k_categorical_accuracy", TOP_K)                                    \
    X(MEAN_SQUARED_ERROR, "mean_squared_error", MEAN_SQUARED_ERROR)                                \
    X(MSE, "mse", MEAN_SQUARED_ERROR)                                                              \
    X(RMSE, "root_mean_squared_error", RMSE)                                                       \
    X(MEAN_ABSOLUTE_ERROR, "mean_absolute_error", MEAN_ABSOLUTE_ERROR)                             \
    X(MAE, "mae", MEAN_ABSOLUTE_ERROR)                                                             \
    X(MEAN_ABSOLUTE_PERCENTAGE_ERROR, "mean_absolute_percentage_error",                            \
        MEAN_ABSOLUTE_PERCENTAGE_ERROR)                                                            \
    X(MAPE, "mape", MEAN_ABSOLUTE_PERCENTAGE_ERROR)                                                \
    X(RMSPE, "root_mean_squared_percentage_error", RMSPE)                                          \
    X(RMSPE_SHORT, "rmspe", RMSPE)

typedef enum metric {
#define X(name, text, of) METRIC_##name,
    METRICS(X)
#undef X
        METRIC_COUNT
} metric;

// Several metrics: a bit for each.
typedef uint32_t metric_set;
#define METRIC(name) ((metric_set)1 << METRIC_##name)
// Those of class numbers alone, and all that ask which class is right.
#define METRICS_SPARSE (METRIC(SPARSE_ACCURACY) | METRIC(SPARSE_TOP_K))
#define METRICS_ACCURACY                                                                           \
    (METRIC(ACCURACY) | METRIC(ACC) | METRIC(CATEGORICAL_ACCURACY) | METRIC(SPARSE_ACCURACY))

// What a metric needs of the rows seen so far.
typedef struct metric_sum {
    double sum, n;
} metric_sum;

int metric_parse(const char *name, metric *m, err *e); // errors list the known ones
const char *metric_name(metric m);
metric metric_formula(metric m); // the metric itself, or the one it is another name for
double metric_value(metric m, metric_sum s);
// Adds a row: y and p have n numbers. For all metrics but accuracies.
void metric_add(metric m, metric_sum *s, const double *y, const float *p, size_t n);
