// SPDX-License-Identifier: MIT
// What a weight starts with, by Keras's names: plain values, and the numbers that they stand for.
// in and out are a weight's fans: (inputs, outputs) of a matrix, each times the window's size of a
// convolution's kernel; both are the length of a vector.
//
// Initializers:
//   GlorotUniform     uniform in ±√(6/(in + out))  [Glorot & Bengio 2010]
//   GlorotNormal      normal with deviation √(2/(in + out)), cut at two deviations
//                     [Glorot & Bengio 2010]
//   HeUniform         uniform in ±√(6/in)  [He and others, arXiv 1502.01852]
//   HeNormal          normal with deviation √(2/in), cut at two deviations
//                     [He and others, arXiv 1502.01852]
//   LecunUniform      uniform in ±√(3/in)  [LeCun and others 1998]
//   LecunNormal       normal with deviation √(1/in), cut at two deviations  [LeCun and others 1998]
//   Zeros             0  [Keras 3]
//   Ones              1  [Keras 3]
//   Constant          `value`, 0  [Keras 3]
//   RandomUniform     uniform from `minval` to `maxval`, ±0.05  [Keras 3]
//   RandomNormal      normal with `mean` 0 and `stddev` 0.05  [Keras 3]
//   TruncatedNormal   the same, drawn again beyond two deviations  [Keras 3]
//   VarianceScaling   of variance `scale`/n: n is in, out or their mean by `mode` "fan_in",
//                     "fan_out", "fan_avg"; `distribution` "truncated_normal" (√(scale/n)/0.8796 is
//                     cut at two deviations), "untruncated_normal", "uniform" (in ±√(3·scale/n))
//                     [He and others, arXiv 1502.01852]
//   Orthogonal        `gain`·Q, whose rows or columns are orthonormal: of the QR decomposition of a
//                     normal matrix, R's diagonal positive  [Saxe and others, arXiv 1312.6120]
//   Identity          `gain` where row and column are the same, else 0  [Keras 3]
#pragma once
#include "base/err.h"
#include "base/json.h"
#include "trainer/data/order.h"

#include <stdbool.h>
#include <stddef.h>

// Kind, Keras's class, its short name, and the numbers that it has with their defaults.
#define INITIALIZERS(X)                                                                            \
    X(DEFAULT, "", "", NULL, 0, NULL, 0)                                                           \
    X(GLOROT_UNIFORM, "GlorotUniform", "glorot_uniform", NULL, 0, NULL, 0)                         \
    X(GLOROT_NORMAL, "GlorotNormal", "glorot_normal", NULL, 0, NULL, 0)                            \
    X(HE_UNIFORM, "HeUniform", "he_uniform", NULL, 0, NULL, 0)                                     \
    X(HE_NORMAL, "HeNormal", "he_normal", NULL, 0, NULL, 0)                                        \
    X(LECUN_UNIFORM, "LecunUniform", "lecun_uniform", NULL, 0, NULL, 0)                            \
    X(LECUN_NORMAL, "LecunNormal", "lecun_normal", NULL, 0, NULL, 0)                               \
    X(ZEROS, "Zeros", "zeros", NULL, 0, NULL, 0)                                                   \
    X(ONES, "Ones", "ones", NULL, 0, NULL, 0)                                                      \
    X(CONSTANT, "Constant", "constant", "value", 0, NULL, 0)                                       \
    X(RANDOM_UNIFORM, "RandomUniform", "random_uniform", "minval", -0.05, "maxval", 0.05)          \
    X(RANDOM_NORMAL, "RandomNormal", "random_normal", "mean", 0, "stddev", 0.05)                   \
    X(TRUNCATED_NORMAL, "TruncatedNormal", "truncated_normal", "mean", 0, "stddev", 0.05)          \
    X(VARIANCE_SCALING, "VarianceScaling", "variance_scaling", "scale", 1, NULL, 0)                \
    X(ORTHOGONAL, "Orthogonal", "orthogonal", "gain", 1, NULL, 0)                                  \
    X(IDENTITY, "Identity", "identity", "gain", 1, NULL, 0)

typedef enum initializer_kind {
#define X(name, class, text, first, one, second, two) INITIALIZER_##name,
    INITIALIZERS(X)
#undef X
} initializer_kind;

#define FAN_MODES(X)                                                                               \
    X(FAN_IN, "fan_in")                                                                            \
    X(FAN_OUT, "fan_out")                                                                          \
    X(FAN_AVG, "fan_avg")

#define FAN_DISTRIBUTIONS(X)                                                                       \
    X(TRUNCATED_NORMAL, "truncated_normal")                                                        \
    X(UNTRUNCATED_NORMAL, "untruncated_normal")                                                    \
    X(UNIFORM, "uniform")

typedef enum fan_mode {
#define X(name, text) name,
    FAN_MODES(X)
#undef X
} fan_mode;

typedef enum fan_distribution {
#define X(name, text) DISTRIBUTION_##name,
    FAN_DISTRIBUTIONS(X)
#undef X
} fan_distribution;

enum { INITIALIZER_NUMBERS = 2, INITIALIZER_DIMS = 4 };

// All zeros: the one that the weight has by default.
typedef struct initializer {
    initializer_kind kind;
    double number[INITIALIZER_NUMBERS]; // those that the table names
    fan_mode mode;                      // VarianceScaling
    fan_distribution distribution;
    bool seeded; // numbers are those of `seed`, whatever the model's
    int64_t seed;
} initializer;

// With its default numbers.
initializer initializer_of(initializer_kind kind);
// By class or short name; errors list the short names.
int initializer_parse(const char *text, initializer_kind *kind, err *e);
int fan_mode_parse(const char *text, fan_mode *mode, err *e);
int fan_distribution_parse(const char *text, fan_distribution *d, err *e);
// Number i's name and where it is; NULL: it has no such number.
const char *initializer_number(initializer *s, size_t i, double **value);
// Can it fill a weight of so many dimensions, and are its numbers possible?
int initializer_check(const initializer *s, int dims, err *e);
// Fills a weight of this shape, its numbers in order, by a generator that nobody else uses.
// -1: no memory.
int initializer_fill(
    const initializer *s, int dims, const size_t *shape, random_state r, float *out, err *e);
// {"type": "HeNormal", "seed": 3}, and back.
cJSON *initializer_json(const initializer *s);
int initializer_read(const cJSON *j, initializer *out, err *e);
