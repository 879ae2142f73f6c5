// SPDX-License-Identifier: MIT
// What training makes small, averaged over the rows of a batch; names as Keras spells them.
//
//   sparse_categorical_crossentropy   -log p[y]                 y: class numbers, (n) or (n, 1)
//   categorical_crossentropy          -Σ y[j]·log p[j]          y: (n, classes)
//   binary_crossentropy               mean over j of -y·log p - (1-y)·log(1-p)     y: (n, units)
//   mean_squared_error                mean over j of (p[j]-y[j])²                  y: (n, units)
//
// The cross-entropies are computed from what goes into softmax or sigmoid, so they neither
// overflow nor lose digits; with `from_logits` the last layer is linear instead.
#pragma once
#include "base/err.h"

#define LOSSES(X)                                                                                  \
    X(SPARSE_CATEGORICAL_CROSSENTROPY, "sparse_categorical_crossentropy")                          \
    X(CATEGORICAL_CROSSENTROPY, "categorical_crossentropy")                                        \
    X(BINARY_CROSSENTROPY, "binary_crossentropy")                                                  \
    X(MEAN_SQUARED_ERROR, "mean_squared_error")

typedef enum loss_kind {
#define X(name, text) LOSS_##name,
    LOSSES(X)
#undef X
} loss_kind;

// "mse" is mean_squared_error. Errors list the known ones.
int loss_parse(const char *name, loss_kind *kind, err *e);
const char *loss_name(loss_kind kind);
