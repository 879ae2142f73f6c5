// SPDX-License-Identifier: MIT
// How weights follow gradients, with Keras 3's names, formulas and defaults
// (keras/src/optimizers). Plain values. g is the gradient, t the number of the step from 1.
// optimizer.c declares what each can be told, and its formula.
//
// All have weight_decay (w ← w - lr·weight_decay·w, before the step; biases, too) and one of
// clipvalue c (g ← g limited to [-c, c], each number), clipnorm c (g ← g·c/max(|g|, c) for each
// kernel and each bias) and global_clipnorm c (the same with |g| over all of them).
#pragma once
#include "base/err.h"
#include "trainer/declared/attribute.h"
#include "trainer/nn/rule/schedule.h"

#include <stdbool.h>
#include <stddef.h>

#define OPTIMIZERS(X)                                                                              \
    X(SGD)                                                                                         \
    X(ADAM)                                                                                        \
    X(ADAMW)                                                                                       \
    X(RMSPROP)                                                                                     \
    X(ADAGRAD)                                                                                     \
    X(LAZY_ADAM)

typedef enum optimizer_kind {
#define X(name) OPTIMIZER_##name,
    OPTIMIZERS(X)
#undef X
} optimizer_kind;

enum { OPTIMIZER_COUNT = OPTIMIZER_LAZY_ADAM + 1 };

typedef struct optimizer_spec {
    optimizer_kind kind;
    double learning_rate, momentum, beta_1, beta_2, rho, epsilon, initial_accumulator_value;
    double weight_decay;
    double clipvalue, clipnorm, global_clipnorm; // 0: not clipped
    bool nesterov;                               // SGD
    bool centered;                               // RMSprop
    schedule schedule;                           // of the learning rate, unless its kind is NONE
} optimizer_spec;

// Keras's defaults.
optimizer_spec optimizer_default(optimizer_kind kind);
// Finds it by name, in any case; errors list the known names.
int optimizer_parse(const char *name, optimizer_kind *kind, err *e);
const char *optimizer_name(optimizer_kind kind);
// What this kind can be told: fields of an optimizer_spec.
const declaration *optimizer_declaration(optimizer_kind kind);
// Checks that all numbers are in their ranges.
int optimizer_check(const optimizer_spec *spec, err *e);

// The optimizer after so many steps: with the learning rate of its schedule, if it has one.
optimizer_spec optimizer_at(const optimizer_spec *spec, int64_t steps);
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
