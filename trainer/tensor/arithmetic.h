// SPDX-License-Identifier: MIT
// Arithmetic, comparison and statistics of tensors, with the rules of NumPy and the names of
// Keras's `ops`. Every result is a new tensor without gaps; NULL with e, whose text names the
// shapes.
// Two shapes are aligned at their last dimension; a size of 1, or a missing one, is repeated:
//    (32, 10) and (10,)  →  (32, 10)        (4, 1) and (3,)  →  (4, 3)        (32, 10) and (32,):
//      no
// Floats are computed as f32. Two tensors of integers give i64 (+ - · wrap around), but divide,
// power and functions such as exp give f32. Comparisons give u8: 1 for true, 0 for false.
#pragma once
#include "trainer/tensor/tensor.h"

#define TENSOR_BINARIES(X)                                                                         \
    X(ADD, "add")                                                                                  \
    X(SUBTRACT, "subtract")                                                                        \
    X(MULTIPLY, "multiply")                                                                        \
    X(DIVIDE, "divide")                                                                            \
    X(POWER, "power")                                                                              \
    X(MAXIMUM, "maximum") /* nan where one of the two is */                                        \
    X(MINIMUM, "minimum")                                                                          \
    X(EQUAL, "equal")                                                                              \
    X(NOT_EQUAL, "not_equal")                                                                      \
    X(LESS, "less")                                                                                \
    X(LESS_EQUAL, "less_equal")                                                                    \
    X(GREATER, "greater")                                                                          \
    X(GREATER_EQUAL, "greater_equal")

//  X(name, text, f(x) of a double x)
#define TENSOR_UNARIES(X)                                                                          \
    X(NEGATIVE, "negative", -x)                                                                    \
    X(ABS, "abs", fabs(x))                                                                         \
    X(EXP, "exp", exp(x))                                                                          \
    X(LOG, "log", log(x))                                                                          \
    X(SQRT, "sqrt", sqrt(x))                                                                       \
    X(SQUARE, "square", x *x)                                                                      \
    X(SIGN, "sign", isnan(x) ? x : (double)((x > 0) - (x < 0)))                                    \
    X(FLOOR, "floor", floor(x))                                                                    \
    X(SIN, "sin", sin(x))                                                                          \
    X(COS, "cos", cos(x))                                                                          \
    X(TANH, "tanh", tanh(x))                                                                       \
    X(SIGMOID, "sigmoid", 1 / (1 + exp(-x)))

#define TENSOR_REDUCTIONS(X)                                                                       \
    X(SUM, "sum")                                                                                  \
    X(MEAN, "mean")                                                                                \
    X(STD, "std") /* of all that there is, as NumPy's: √ mean (x - mean)² */                    \
    X(MIN, "min")                                                                                  \
    X(MAX, "max")                                                                                  \
    X(ARGMAX, "argmax") /* the first greatest, from 0 */

typedef enum tensor_binary {
#define X(name, text) BINARY_##name,
    TENSOR_BINARIES(X)
#undef X
        BINARY_COUNT
} tensor_binary;

typedef enum tensor_unary {
#define X(name, text, f) UNARY_##name,
    TENSOR_UNARIES(X)
#undef X
        UNARY_COUNT
} tensor_unary;

typedef enum tensor_reduction {
#define X(name, text) REDUCTION_##name,
    TENSOR_REDUCTIONS(X)
#undef X
        REDUCTION_COUNT
} tensor_reduction;

const char *tensor_binary_name(tensor_binary op);
const char *tensor_reduction_name(tensor_reduction r);

tensor *tensor_combine(tensor_binary op, const tensor *a, const tensor *b, err *e);
// Negative, abs, square, sign and floor keep integers.
tensor *tensor_map(tensor_unary op, const tensor *t, err *e);
// min(max(t, least), most)
tensor *tensor_clip(const tensor *t, double least, double most, err *e);
// Are shapes and all numbers the same?
bool tensor_same(const tensor *a, const tensor *b);

// Along one dimension, counted from 0, or from -1 for the last; keep: it stays, with size 1. Sums
// of floats are made in double. Sums, minima and maxima of integers are i64 and exact, argmax is
// always i64, the others f32. ERR_LIMIT: a sum of integers has more than 64 bits.
tensor *tensor_reduce(tensor_reduction r, const tensor *t, int64_t axis, bool keep, err *e);
// The same of all numbers; those of integers are computed exactly, then rounded to a double.
double tensor_reduce_all(tensor_reduction r, const tensor *t, err *e);
// Is the result an integer? Then this is the same without rounding.
bool tensor_reduction_is_whole(tensor_reduction r, const tensor *t);
int tensor_reduce_whole(tensor_reduction r, const tensor *t, int64_t *out, err *e);

// Σ over k of a[…, k]·b[k, …], as f32: of matrices and vectors, (m, k)·(k, n), (k)·(k, n), …
tensor *tensor_matmul(const tensor *a, const tensor *b, err *e);
