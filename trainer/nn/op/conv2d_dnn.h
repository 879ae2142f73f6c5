// SPDX-License-Identifier: MIT
// Conv2D by oneDNN, where its plug-in is loaded and has a quick kernel for the shape; see
// trainer/dnn/dnn.h. The operations ask when memory is reserved whether they should go this way
// (op_work.by_dnn); of a smaller batch, what has no kernel goes row by row.
#pragma once
#include "trainer/nn/layer/layers.h"
#include "trainer/nn/layer/op.h"

static inline const window_layer *conv2d_own(const op_work *w)
{
    return w->layer->own;
}

// Does backward compute gradients of its weights?
static inline bool conv2d_trains(const op_work *w)
{
    return op_trains(w, conv2d_own(w)->no_bias ? 1 : 2);
}

bool conv2d_by_dnn(const op_work *w);
void conv2d_dnn_reserve(const op_work *w, op_need *need);
void conv2d_dnn_forward(const op_work *w, size_t pass, size_t chunk, float *scratch);
void conv2d_dnn_backward(const op_work *w, size_t pass, size_t chunk, float *scratch);
