// SPDX-License-Identifier: MIT
// Gradients of a convolution's weights by own kernels, for the passes of nn/op/conv2d_dnn.c:
// oneDNN's own are at 60 to 80 % of what a core multiplies for many shapes of floats.
#pragma once
#include "trainer/nn/layer/op.h"

// Is that the quicker way? It follows from the shape and from how its numbers are multiplied.
bool conv2d_weights_own(const op_work *w);
size_t conv2d_weights_scratch(const op_work *w); // floats
// Sets kernel (panels of 64 filters, as the weights lie) and bias [filters] to the gradients of
// rows [from, from + rows); dy is dz. All are aligned to 64 bytes.
void conv2d_weights_train(
    const op_work *w, size_t from, size_t rows, float *kernel, float *bias, float *scratch);
