// SPDX-License-Identifier: MIT
// What the two normalisations share: their attributes, and the parameters gamma and beta.
#pragma once
#include "trainer/nn/layer/layers.h"
#include "trainer/nn/layer/onnx.h"
#include "trainer/nn/layer/op.h"

#include <math.h>

enum { NORM_GAMMA, NORM_BETA, NORM_MEAN, NORM_VARIANCE };

// Keras's default of 0.001 where the layer has none of its own.
float norm_epsilon(const layer_spec *l);
// The output is as the input; errors tell an `axis` that is not the last dimension, or the last
// ones.
int norm_infer(const layer_spec *l, size_t n, const row_shape *in, row_shape *out, err *e);
// How many of the last dimensions have mean and variance (LayerNormalization) or gamma and beta of
// their own, and how many numbers these are.
int norm_dims(const layer_spec *l);
size_t norm_size(const layer_spec *l, const row_shape *in);
// gamma and beta, one each for a channel: those that the layer has. Returns how many.
size_t norm_parameters(const layer_spec *l, const row_shape *in, op_parameter *out);
// Where gamma, beta and the statistics are in the run (w->w) and in the gradients (w->g). NULL: the
// layer has none.
float *norm_at(const op_work *w, float *run, int which);
// Does backward compute its gradient? norm_slope: where that goes; NULL: nowhere.
bool norm_trains(const op_work *w, int which);
float *norm_slope(const op_work *w, int which);
// The parameter in ONNX, whose operators want gamma and beta always.
onnx_value norm_to_onnx(const op_work *w, onnx *o, int which);
// w->norm of channels [from, from + n) as y = x·scale + shift, with its moving statistics.
void norm_fold(const op_work *w, size_t from, size_t n, float *scale, float *shift);

static inline const norm_layer *norm_own(const layer_spec *l)
{
    return l->own;
}

#define NORM_EPSILON_AND_WEIGHTS                                                                   \
    {"epsilon", ATTRIBUTE_NUMBER, offsetof(norm_layer, epsilon), .otherwise = NORM_EPSILON,        \
        .most = HUGE_VAL, .meaning = "What is added to the variance."},                            \
        {"center", ATTRIBUTE_NOT, offsetof(norm_layer, no_center),                                 \
            .meaning = "Whether beta is added."},                                                  \
    {                                                                                              \
        "scale", ATTRIBUTE_NOT, offsetof(norm_layer, no_scale),                                    \
            .meaning = "Whether gamma multiplies."                                                 \
    }
