// SPDX-License-Identifier: MIT
// The losses, averaged over the rows of a batch; names as Keras spells them.
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
