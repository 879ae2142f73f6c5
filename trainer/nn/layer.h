// SPDX-License-Identifier: MIT
// The layers of a model as plain values, with Keras's names and formulas, and as text. A layer_spec
// owns nothing; models copy them.
//
//   Flatten   (n, d1, d2, …) → (n, d1·d2·…)
//   Dense     y = f(x·W + b)              x (n, inputs), W (inputs, units), b (units)
//   Dropout   y = x·m/(1-rate) in training, m[i] = 0 with probability rate, else 1; y = x otherwise
//
//   linear f(z) = z · relu max(z, 0) · sigmoid 1/(1+e^-z) · tanh · softmax e^z[i] / Σ e^z[j]
#pragma once
#include "base/err.h"
#include "trainer/tensor/tensor.h"

#define LAYER_KINDS(X)                                                                             \
    X(FLATTEN, "Flatten", "flatten")                                                               \
    X(DENSE, "Dense", "dense")                                                                     \
    X(DROPOUT, "Dropout", "dropout")

typedef enum layer_kind {
#define X(name, text, id) LAYER_##name,
    LAYER_KINDS(X)
#undef X
} layer_kind;

#define ACTIVATIONS(X)                                                                             \
    X(LINEAR, "linear")                                                                            \
    X(RELU, "relu")                                                                                \
    X(SIGMOID, "sigmoid")                                                                          \
    X(TANH, "tanh")                                                                                \
    X(SOFTMAX, "softmax") /* only as the last layer's */

typedef enum activation {
#define X(name, text) ACTIVATION_##name,
    ACTIVATIONS(X)
#undef X
} activation;

enum { LAYER_NAME_SIZE = 48 };

typedef struct layer_spec {
    layer_kind kind;
    char name[LAYER_NAME_SIZE]; // "": named by Keras's rule: dense, dense_1, …
    int dims;                   // Flatten: the shape of one row, if given (0: any)
    size_t shape[TENSOR_MAX_DIMS];
    size_t units;  // Dense
    size_t inputs; // Dense: 0 until known from the layers before
    activation activation;
    bool no_bias; // Dense: y = f(x·W)
    float rate;   // Dropout, 0 <= rate < 1
} layer_spec;

// "Dense(128)", "Flatten(28, 28)", "Dropout(0.2)".
void layer_text(const layer_spec *spec, buf *out);
const char *layer_kind_name(layer_kind kind); // "Dense"
const char *layer_kind_id(layer_kind kind);   // "dense"
// Finds it by name; errors list the known names. "none" is linear.
int layer_kind_parse(const char *text, layer_kind *kind, err *e);
int activation_parse(const char *text, activation *a, err *e);
const char *activation_name(activation a);
