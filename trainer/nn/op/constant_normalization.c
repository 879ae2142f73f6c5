// SPDX-License-Identifier: MIT
// Normalization, with a mean and a variance that are given: y = (x - mean)/max(√variance, 1e-7)
// over the last dimension;  dx = dy/max(√variance, 1e-7)
//
// One number counts for all channels, otherwise each has its own.
#include "base/mem.h"
#include "trainer/nn/layer/layers.h"
#include "trainer/nn/layer/onnx.h"
#include "trainer/nn/layer/op.h"

#include <math.h>

static const normalization_layer *own(const layer_spec *l)
{
    return l->own;
}

static int infer(const layer_spec *l, size_t n, const row_shape *in, row_shape *out, err *e)
{
    *out = *in;
    if (own(l)->mean.n < 1 || own(l)->mean.n > NUMBERS_MOST || own(l)->variance.n != own(l)->mean.n)
        return err_set(
            e, ERR_USAGE, "must have a mean and a variance of 1 to %d numbers", NUMBERS_MOST);
    for (size_t c = 0; c < own(l)->mean.n; c++)
        if (!isfinite(own(l)->mean.values[c]) || !(own(l)->variance.values[c] >= 0) ||
            !isfinite(own(l)->variance.values[c]))
            return err_set(e, ERR_USAGE, "must have finite means, and variances of 0 or more");
    return own(l)->mean.n == 1 || own(l)->mean.n == op_last(in)
               ? 0
               : err_set(e, ERR_USAGE, "has %zu means, its input has %zu channels", own(l)->mean.n,
                     op_last(in));
}

static void reserve(const op_work *w, op_need *need)
{
    need->forward[0] = need->backward[0] = op_by_rows(w);
}

static float mean_of(const layer_spec *l, size_t c)
{
    return (float)own(l)->mean.values[c % own(l)->mean.n];
}

static float scale_of(const layer_spec *l, size_t c)
{
    float deviation = sqrtf((float)own(l)->variance.values[c % own(l)->mean.n]);
    return 1 / (deviation > 1e-7f ? deviation : 1e-7f);
}

static void forward(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    size_t n = shape_size(&w->out), step = own(w->layer)->mean.n;
    for (size_t c = 0; c < step; c++) {
        float mean = mean_of(w->layer, c), scale = scale_of(w->layer, c);
        for (size_t r = op_from(w, chunk); r < op_to(w, chunk); r++)
            for (size_t i = c; i < n; i += step)
                w->y[r * w->ldy + i] = (w->x[0][r * w->ldx[0] + i] - mean) * scale;
    }
}

static void backward(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    size_t n = shape_size(&w->out), step = own(w->layer)->mean.n;
    size_t from = op_from(w, chunk), to = op_to(w, chunk);
    for (size_t c = 0; c < step; c++) {
        float scale = scale_of(w->layer, c);
        for (size_t r = from; r < to; r++)
            for (size_t i = c; i < n; i += step)
                w->dy[r * w->ldy + i] *= scale;
    }
    op_give(w, 0, w->dy + from * w->ldy, w->ldy, from, to);
}

static onnx_value list_of(
    const op_work *w, onnx *o, const char *name, float (*of)(const layer_spec *, size_t))
{
    size_t n = own(w->layer)->mean.n;
    AUTO_FREE float *values = mem_array(n, sizeof *values);
    for (size_t c = 0; c < n; c++)
        values[c] = of(w->layer, c);
    return onnx_floats(o, name, n, values);
}

static void to_onnx(const op_work *w, onnx *o)
{
    onnx_value mean = list_of(w, o, "mean", mean_of), scale = list_of(w, o, "scale", scale_of);
    onnx_value less = ONNX_NODE(o, "Sub", onnx_take(o, 0, ONNX_LAST), mean);
    onnx_give(o, ONNX_NODE(o, "Mul", less, scale), ONNX_LAST);
}

// x·√variance + mean is (x - m)/√v with other numbers m and v. The lists are the caller's.
static int settle(layer_spec *l, void *to, err *e)
{
    normalization_layer *n = to;
    if (n->mean.n != n->variance.n)
        return err_set(e, ERR_USAGE, "has %zu means and %zu variances", n->mean.n, n->variance.n);
    for (size_t i = 0; n->invert && i < n->mean.n; i++) {
        double deviation = fmax(sqrt(n->variance.values[i]), 1e-7);
        ((double *)(uintptr_t)n->mean.values)[i] = -n->mean.values[i] / deviation;
        ((double *)(uintptr_t)n->variance.values)[i] = 1 / (deviation * deviation);
    }
    n->invert = false;
    return 0;
}

static const attribute attributes[] = {
    {"axis", ATTRIBUTE_LUA, .signature = "-1", .no_file = true,
        .meaning = "The last dimension; false: one mean and one variance of all numbers."},
    {"mean", ATTRIBUTE_NUMBERS, offsetof(normalization_layer, mean),
        .meaning = "One number, or one for each of the last dimension."},
    {"variance", ATTRIBUTE_NUMBERS, offsetof(normalization_layer, variance),
        .meaning = "As many numbers."},
    {"invert", ATTRIBUTE_BOOL, offsetof(normalization_layer, invert), .no_file = true,
        .meaning = "The other way: x·√variance + mean."},
    {0}};

const op op_normalization = {
    .kind = LAYER_NORMALIZATION,
    .settle = settle,
    .is = {.name = "Normalization",
        .size = sizeof(normalization_layer),
        .attributes = attributes,
        .places = "axis mean variance",
        .about = "(x - mean)/√variance, of numbers that are given, or that its method adapt(x) "
                 "takes from a tensor before the model is made: one for each of the last "
                 "dimension, or with axis = false one of all; invert: the other way.",
        .formula =
            "(x - `mean`)/√`variance` of numbers that are given, or that `adapt` has taken from a "
            "tensor: one, or one for each of the last dimension; `invert`: x·√variance + mean",
        .source = "Keras 3",
        .example = "model = nn.Sequential { nn.Input { 2 }, nn.Normalization { mean = { 1, 2 }, "
                   "variance = { 4, 9 } }, nn.Dense { 1 } }\n"
                   "print(model:count_params()) --> 3"},
    .least = 1,
    .most = 1,
    .infer = infer,
    .reserve = reserve,
    .forward = forward,
    .backward = backward,
    .onnx = to_onnx,
};
