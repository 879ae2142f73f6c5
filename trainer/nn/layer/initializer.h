// SPDX-License-Identifier: MIT
// What a weight starts with, by Keras's names: plain values, and the numbers that they stand for.
// in and out are a weight's fans: (inputs, outputs) of a matrix, each times the window's size of a
// convolution's kernel; both are the length of a vector.
#pragma once
#include "base/err.h"
#include "trainer/data/order.h"
#include "trainer/declared/attribute.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum initializer_kind {
    INITIALIZER_DEFAULT,
    INITIALIZER_GLOROT_UNIFORM,
    INITIALIZER_GLOROT_NORMAL,
    INITIALIZER_HE_UNIFORM,
    INITIALIZER_HE_NORMAL,
    INITIALIZER_LECUN_UNIFORM,
    INITIALIZER_LECUN_NORMAL,
    INITIALIZER_ZEROS,
    INITIALIZER_ONES,
    INITIALIZER_CONSTANT,
    INITIALIZER_RANDOM_UNIFORM,
    INITIALIZER_RANDOM_NORMAL,
    INITIALIZER_TRUNCATED_NORMAL,
    INITIALIZER_VARIANCE_SCALING,
    INITIALIZER_ORTHOGONAL,
    INITIALIZER_IDENTITY,
} initializer_kind;

typedef enum fan_mode { FAN_IN, FAN_OUT, FAN_AVG } fan_mode;

typedef enum fan_distribution {
    DISTRIBUTION_TRUNCATED_NORMAL,
    DISTRIBUTION_UNTRUNCATED_NORMAL,
    DISTRIBUTION_UNIFORM
} fan_distribution;

enum {
    INITIALIZER_COUNT = INITIALIZER_IDENTITY + 1,
    INITIALIZER_NUMBERS = 2,
    INITIALIZER_DIMS = 4
};

// All zeros: the one that the weight has by default.
typedef struct initializer {
    initializer_kind kind;
    double number[INITIALIZER_NUMBERS]; // those that initializer.c declares of it
    fan_mode mode;                      // VarianceScaling
    fan_distribution distribution;
    bool seeded; // numbers are those of `seed`, whatever the model's
    int64_t seed;
} initializer;

// With its default numbers.
initializer initializer_of(initializer_kind kind);
// By class or short name; errors list the short names.
int initializer_parse(const char *text, initializer_kind *kind, err *e);
// What this kind can be told: fields of an initializer. Its seed is read by who reads it.
const declaration *initializer_declaration(initializer_kind kind);
// Can it fill a weight of so many dimensions, and are its numbers possible?
int initializer_check(const initializer *s, int dims, err *e);
// Fills a weight of this shape, its numbers in order, by a generator that nobody else uses.
// -1: no memory.
int initializer_fill(
    const initializer *s, int dims, const size_t *shape, random_state r, float *out, err *e);
// {"type": "HeNormal", "seed": 3}, and back.
cJSON *initializer_json(const initializer *s);
int initializer_read(const cJSON *j, initializer *out, err *e);
