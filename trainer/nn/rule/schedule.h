// SPDX-License-Identifier: MIT
// Learning rates that follow the number of the step, with Keras's names, formulas and defaults
// (keras/src/optimizers/schedules). Plain values. s is the number of steps done, i the initial
// rate, d decay_steps. schedule.c declares what each can be told, and its formula.
#pragma once
#include "base/err.h"
#include "trainer/declared/attribute.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum schedule_kind {
    SCHEDULE_NONE,
    SCHEDULE_EXPONENTIAL,
    SCHEDULE_INVERSE_TIME,
    SCHEDULE_POLYNOMIAL,
    SCHEDULE_COSINE,
    SCHEDULE_RESTARTS,
    SCHEDULE_PIECEWISE,
} schedule_kind;

enum { SCHEDULE_COUNT = SCHEDULE_PIECEWISE + 1, SCHEDULE_PIECES = 32 };

typedef struct schedule {
    schedule_kind kind; // NONE: the rate is what it is set to
    double initial_learning_rate, decay_steps, first_decay_steps, decay_rate, end_learning_rate;
    double power, alpha;
    double warmup_target; // negative: there is none
    double warmup_steps, t_mul, m_mul;
    bool staircase, cycle;
    size_t pieces; // of the values; there is one boundary less
    double boundary[SCHEDULE_PIECES], value[SCHEDULE_PIECES];
} schedule;

int schedule_parse(const char *name, schedule_kind *kind, err *e);
const char *schedule_name(schedule_kind kind);
// What this kind can be told: fields of a schedule, and of PIECEWISE the two lists, which Lua alone
// has as options.
const declaration *schedule_declaration(schedule_kind kind);
schedule schedule_default(schedule_kind kind);
int schedule_check(const schedule *s, err *e);
double schedule_rate(const schedule *s, int64_t steps);
