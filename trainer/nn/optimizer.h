// SPDX-License-Identifier: MIT
// How weights follow gradients: Adam and SGD with Keras's formulas and defaults. Plain values.
//
//   SGD    v ← momentum·v - lr·g;  w ← w + v              (momentum 0: w ← w - lr·g)
//          nesterov:               w ← w + momentum·v - lr·g
//   Adam   m ← β1·m + (1-β1)·g;  v ← β2·v + (1-β2)·g²
//          w ← w - lr·√(1-β2ᵗ)/(1-β1ᵗ) · m/(√v + ε)       (Kingma & Ba, the form before
//          section 2.1)
#pragma once
#include "base/err.h"

#include <stdbool.h>

#define OPTIMIZERS(X)                                                                              \
    X(SGD, "SGD")                                                                                  \
    X(ADAM, "Adam")

typedef enum optimizer_kind {
#define X(name, text) OPTIMIZER_##name,
    OPTIMIZERS(X)
#undef X
} optimizer_kind;

typedef struct optimizer_spec {
    optimizer_kind kind;
    double learning_rate;
    double momentum;                // SGD
    bool nesterov;                  // SGD
    double beta_1, beta_2, epsilon; // Adam
} optimizer_spec;

// Keras's defaults: Adam 0.001, 0.9, 0.999, 1e-7; SGD 0.01, momentum 0.
optimizer_spec optimizer_default(optimizer_kind kind);
// Finds it by name, in any case; errors list the known names.
int optimizer_parse(const char *name, optimizer_kind *kind, err *e);
const char *optimizer_name(optimizer_kind kind);
// Checks that all numbers are in their ranges.
int optimizer_check(const optimizer_spec *spec, err *e);
