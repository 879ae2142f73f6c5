// SPDX-License-Identifier: MIT
// The losses, averaged over the rows of a batch, with Keras's names and formulas
// (keras/src/losses). y is what was expected, p what the model puts out; "mean" is over the outputs
// of a row. doc/models.md and `help` have this table (tests/support/formulapage.py).
//
// Losses:
//   sparse_categorical_crossentropy  -log p[y], y a class number  [Bridle 1990]
//   categorical_crossentropy         -Σ y·log p; `label_smoothing` s: y ← y·(1-s) + s/outputs
//                                    [Bridle 1990; label_smoothing: Szegedy and others, arXiv
//                                    1512.00567]
//   binary_crossentropy              mean -y·log p - (1-y)·log(1-p); `label_smoothing` s: y ←
//                                    y·(1-s) + s/2  [Keras 3]
//   mean_squared_error               mean (y-p)²  [Keras 3]
//   mean_absolute_error              mean |y-p|  [Keras 3]
//   mean_absolute_percentage_error   100 · mean |y-p|/max(|y|, 1e-7)  [Keras 3]
//   mean_squared_logarithmic_error   mean (log(max(y, 1e-7)+1) - log(max(p, 1e-7)+1))²  [Keras 3]
//   huber                            mean of (y-p)²/2 where |y-p| ≤ `delta`, else delta·|y-p| -
//                                    delta²/2  [Huber 1964]
//   log_cosh                         mean log cosh(p-y)  [Keras 3]
//   poisson                          mean p - y·log(p + 1e-7)  [Keras 3]
//   root_mean_squared_percentage_error
//                                    √ mean ((y-p)/y)² over all y of the batch that are not 0;
//                                    Keras has none  [Kaggle, Rossmann store sales]
#pragma once
#include "base/err.h"

#include <stdbool.h>

//  X(name, text, short name)
#define LOSSES(X)                                                                                  \
    X(SPARSE_CATEGORICAL_CROSSENTROPY, "sparse_categorical_crossentropy", "")                      \
    X(CATEGORICAL_CROSSENTROPY, "categorical_crossentropy", "")                                    \
    X(BINARY_CROSSENTROPY, "binary_crossentropy", "bce")                                           \
    X(MEAN_SQUARED_ERROR, "mean_squared_error", "mse")                                             \
    X(MEAN_ABSOLUTE_ERROR, "mean_absolute_error", "mae")                                           \
    X(MEAN_ABSOLUTE_PERCENTAGE_ERROR, "mean_absolute_percentage_error", "mape")                    \
    X(MEAN_SQUARED_LOGARITHMIC_ERROR, "mean_squared_logarithmic_error", "msle")                    \
    X(HUBER, "huber", "")                                                                          \
    X(LOG_COSH, "log_cosh", "logcosh")                                                             \
    X(POISSON, "poisson", "")                                                                      \
    X(RMSPE, "root_mean_squared_percentage_error", "rmspe")

typedef enum loss_kind {
#define X(name, text, alias) LOSS_##name,
    LOSSES(X)
#undef X
} loss_kind;

// Finds it by its name or short name; errors list the known ones.
int loss_parse(const char *name, loss_kind *kind, err *e);
const char *loss_name(loss_kind kind);
static inline bool loss_is_crossentropy(loss_kind kind)
{
    return kind <= LOSS_BINARY_CROSSENTROPY;
}
