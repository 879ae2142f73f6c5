// SPDX-License-Identifier: MIT
// Learning rates that follow the number of the step, with Keras's names, formulas and defaults
// (keras/src/optimizers/schedules). Plain values. s is the number of steps done, i the initial
// rate, d decay_steps. doc/models.md and `help` have this table (tests/support/formulapage.py).
//
// Schedules:
//   ExponentialDecay        i·decay_rate^(s/d); `staircase`: s/d rounded down  [Keras 3]
//   InverseTimeDecay        i/(1 + decay_rate·s/d); `staircase`: s/d rounded down  [Keras 3]
//   PolynomialDecay         (i - end)·(1 - min(s, d)/d)^power + end; `cycle`: d is the next
//                           multiple of it  [Keras 3]
//   CosineDecay             i·((1 - alpha)·(1 + cos π·min(s, d)/d)/2 + alpha); with
//                           `warmup_target` first in `warmup_steps` from i up to it, then from it
//                           [Loshchilov & Hutter, arXiv 1608.03983]
//   CosineDecayRestarts     the same again and again, each `t_mul` times as long and from `m_mul`
//                           times the rate  [Loshchilov & Hutter, arXiv 1608.03983]
//   PiecewiseConstantDecay  values[k] while boundaries[k-1] < s ≤ boundaries[k]  [Keras 3]
#pragma once
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

//  X(name, text, its numbers)
#define SCHEDULES(X)                                                                               \
    X(NONE, "", "")                                                                                \
    X(EXPONENTIAL, "ExponentialDecay", "initial_learning_rate decay_steps decay_rate")             \
    X(INVERSE_TIME, "InverseTimeDecay", "initial_learning_rate decay_steps decay_rate")            \
    X(POLYNOMIAL, "PolynomialDecay", "initial_learning_rate decay_steps end_learning_rate power")  \
    X(COSINE, "CosineDecay", "initial_learning_rate decay_steps alpha warmup_target warmup_steps") \
    X(RESTARTS, "CosineDecayRestarts",                                                             \
        "initial_learning_rate first_decay_steps t_mul m_mul alpha")                               \
    X(PIECEWISE, "PiecewiseConstantDecay", "")

typedef enum schedule_kind {
#define X(name, text, numbers) SCHEDULE_##name,
    SCHEDULES(X)
#undef X
} schedule_kind;

#define SCHEDULE_NUMBERS(X)                                                                        \
    X(initial_learning_rate)                                                                       \
    X(decay_steps)                                                                                 \
    X(first_decay_steps)                                                                           \
    X(decay_rate)                                                                                  \
    X(end_learning_rate)                                                                           \
    X(power)                                                                                       \
    X(alpha)                                                                                       \
    X(warmup_target) /* negative: there is none */                                                 \
    X(warmup_steps)                                                                                \
    X(t_mul)                                                                                       \
    X(m_mul)

enum { SCHEDULE_PIECES = 32 };

typedef struct schedule {
    schedule_kind kind; // NONE: the rate is what it is set to
#define X(name) double name;
    SCHEDULE_NUMBERS(X)
#undef X
    bool staircase, cycle;
    size_t pieces; // of the values; there is one boundary less
    double boundary[SCHEDULE_PIECES], value[SCHEDULE_PIECES];
} schedule;

int schedule_parse(const char *name, schedule_kind *kind, err *e);
const char *schedule_name(schedule_kind kind);
schedule schedule_default(schedule_kind kind);
int schedule_check(const schedule *s, err *e);
// The i-th number that this schedule has: its name, and where it is. NULL after the last.
const char *schedule_number(schedule *s, size_t i, double **value);
double schedule_rate(const schedule *s, int64_t steps);
