// SPDX-License-Identifier: MIT
// The functions that layers apply, with Keras's names. doc/models.md has this table
// (tests/support/formulapage.py).
//
// Activations:
//   linear      z  [Keras 3]
//   relu        max(z, 0)  [Nair & Hinton 2010]
//   leaky_relu  z where z > 0, else 0.2·z  [Maas, Hannun & Ng 2013]
//   sigmoid     1/(1 + e^-z)  [Rumelhart, Hinton & Williams 1986]
//   tanh        (e^z - e^-z)/(e^z + e^-z)  [LeCun and others 1998]
//   softmax     e^z[i]/Σ e^z[j]  [Bridle 1990]
//   gelu        z·(1 + erf(z/√2))/2  [Hendrycks & Gimpel, arXiv 1606.08415]
//   silu, swish  z·sigmoid(z)  [Elfwing and others, arXiv 1702.03118]
//   elu         z where z > 0, else e^z - 1  [Clevert and others, arXiv 1511.07289]
//   selu        1.0507·(z where z > 0, else 1.67326·(e^z - 1))
//               [Klambauer and others, arXiv 1706.02515]
//   softplus    log(1 + e^z)  [Dugas and others 2001]
#pragma once

#define ACTIVATIONS(X)                                                                             \
    X(LINEAR, "linear")                                                                            \
    X(RELU, "relu")                                                                                \
    X(SIGMOID, "sigmoid")                                                                          \
    X(TANH, "tanh")                                                                                \
    X(SOFTMAX, "softmax")                                                                          \
    X(GELU, "gelu")                                                                                \
    X(SILU, "silu")                                                                                \
    X(ELU, "elu")                                                                                  \
    X(SELU, "selu")                                                                                \
    X(LEAKY_RELU, "leaky_relu")                                                                    \
    X(SOFTPLUS, "softplus")

typedef enum activation {
#define X(name, text) ACTIVATION_##name,
    ACTIVATIONS(X)
#undef X
} activation;
