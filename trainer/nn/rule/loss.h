// SPDX-License-Identifier: MIT
// The losses, averaged over the rows of a batch, with Keras's names and formulas
// (keras/src/losses). y is what was expected, p what the model puts out; "mean" is over the outputs
// of a row. loss.c declares what each can be told, and its formula.
#pragma once
#include "base/err.h"
#include "trainer/declared/attribute.h"

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

enum { LOSS_COUNT = LOSS_RMSPE + 1 };

typedef struct loss_options {
    bool from_logits;
    double label_smoothing;
    double delta; // 0 is 1
} loss_options;

// Finds it by its name or short name; errors list the known ones.
int loss_parse(const char *name, loss_kind *kind, err *e);
const char *loss_name(loss_kind kind);
// Its short name, ""; its object in Lua, whose options are fields of a loss_options. A loss without
// an object is told by its name alone.
const char *loss_alias(loss_kind kind);
const declaration *loss_declaration(loss_kind kind);
static inline bool loss_is_crossentropy(loss_kind kind)
{
    return kind <= LOSS_BINARY_CROSSENTROPY;
}
