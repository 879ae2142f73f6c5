// SPDX-License-Identifier: MIT
// How weights follow gradients, with Keras 3's names, formulas and defaults
// (keras/src/optimizers). Plain values. g is the gradient, t the number of the step from 1.
// doc/models.md and `help` have this table (tests/support/formulapage.py).
//
// All have weight_decay (w ← w - lr·weight_decay·w, before the step; biases, too) and one of
// clipvalue c (g ← g limited to [-c, c], each number), clipnorm c (g ← g·c/max(|g|, c) for each
// kernel and each bias) and global_clipnorm c (the same with |g| over all of them).
//
// Optimizers:
//   SGD      v ← momentum·v - lr·g; w ← w + v (momentum 0: w ← w - lr·g); `nesterov`: w ← w +
//            momentum·v - lr·g  [Sutskever and others 2013]
//   Adam     m ← β1·m + (1-β1)·g; v ← β2·v + (1-β2)·g²; w ← w - lr·√(1-β2ᵗ)/(1-β1ᵗ)·m/(√v + ε)
//            [Kingma & Ba, arXiv 1412.6980, before section 2.1]
//   AdamW    Adam with weight_decay 0.004  [Loshchilov & Hutter, arXiv 1711.05101]
//   RMSprop  v ← ρ·v + (1-ρ)·g²; w ← w - lr·g/√(v + ε); with `momentum`: m ← momentum·m +
//            lr·g/√(v + ε), w ← w - m; `centered`: a ← ρ·a + (1-ρ)·g, and v - a² instead of v
//            (Graves, arXiv 1308.0850)  [Tieleman & Hinton 2012]
//   Adagrad  a ← a + g², from `initial_accumulator_value`; w ← w - lr·g/√(a + ε)
//            [Duchi, Hazan, Singer 2011]
//   LazyAdam  Adam; of an Embedding's table only the rows that the batch names change: w, m, v and
//            their weight decay  [TensorFlow Addons, LazyAdam; PyTorch, SparseAdam]
#pragma once
#include "base/err.h"
#include "trainer/nn/schedule.h"

#include <stdbool.h>
#include <stddef.h>

//  X(name, text, its numbers beside those that all have)
#define OPTIMIZERS(X)                                                                              \
    X(SGD, "SGD", "momentum")                                                                      \
    X(ADAM, "Adam", "beta_1 beta_2 epsilon")                                                       \
    X(ADAMW, "AdamW", "beta_1 beta_2 epsilon")                                                     \
    X(RMSPROP, "RMSprop", "rho momentum epsilon")                                                  \
    X(ADAGRAD, "Adagrad", "initial_accumulator_value epsilon")                                     \
    X(LAZY_ADAM, "LazyAdam", "beta_1 beta_2 epsilon")

typedef enum optimizer_kind {
#define X(name, text, numbers) OPTIMIZER_##name,
    OPTIMIZERS(X)
#undef X
} optimizer_kind;

#define OPTIMIZER_NUMBERS(X)                                                                       \
    X(learning_rate)                                                                               \
    X(momentum)                                                                                    \
    X(beta_1)                                                                                      \
    X(beta_2)                                                                                      \
    X(rho)                                                                                         \
    X(epsilon)                                                                                     \
    X(initial_accumulator_value)                                                                   \
    X(weight_decay)                                                                                \
    X(clipvalue) /* 0: not clipped */                                                              \
    X(clipnorm)                                                                                    \
    X(global_clipnorm)

typedef struct optimizer_spec {
    optimizer_kind kind;
#define X(name) double name;
    OPTIMIZER_NUMBERS(X)
#undef X
    bool nesterov;     // SGD
    bool centered;     // RMSprop
    schedule schedule; // of the learning rate, unless its kind is NONE
} optimizer_spec;

// Keras's defaults.
optimizer_spec optimizer_default(optimizer_kind kind);
// Finds it by name, in any case; errors list the known names.
int optimizer_parse(const char *name, optimizer_kind *kind, err *e);
const char *optimizer_name(optimizer_kind kind);
// Checks that all numbers are in their ranges.
int optimizer_check(const optimizer_spec *spec, err *e);

// The optimizer after so many steps: with the learning rate of its schedule, if it has one.
optimizer_spec optimizer_at(const optimizer_spec *spec, int64_t steps);
// The i-th number that this optimizer has: its name, and where it is. NULL after the last.
const char *optimizer_number(optimizer_spec *spec, size_t i, double **value);
// Arrays of the weights' size that it keeps, and their names.
size_t optimizer_slots(const optimizer_spec *spec);
const char *optimizer_slot_name(const optimizer_spec *spec, size_t slot);
static inline bool optimizer_is_centered(const optimizer_spec *o)
{
    return o->kind == OPTIMIZER_RMSPROP && o->centered;
}
static inline bool optimizer_clips(const optimizer_spec *o)
{
    return o->clipvalue > 0 || o->clipnorm > 0 || o->global_clipnorm > 0;
}
