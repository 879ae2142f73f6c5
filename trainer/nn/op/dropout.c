// SPDX-License-Identifier: MIT
// Dropout: y = x·m/(1-rate) in training, m[i] = 0 with probability rate, else 1; y = x otherwise.
// Srivastava and others 2014. The factors are computed again for backward: that costs less than to
// keep them.
#include "trainer/nn/layer/layers.h"
#include "trainer/nn/layer/op.h"

#include "trainer/nn/layer/noise.h"
#include "trainer/nn/layer/onnx.h"

#include <string.h>

static void reserve(const op_work *w, op_need *need)
{
    need->forward[0] = need->backward[0] = op_by_rows(w);
}

static const dropout_layer *own(const layer_spec *l)
{
    return l->own;
}

// out = in·m/(1-rate) for row r; they may be the same.
static void apply(const op_work *w, float *out, const float *in, size_t r)
{
    size_t n = shape_size(w->in);
    noise factors = noise_new(w->noise, own(w->layer)->rate);
    if (!w->train || !(own(w->layer)->rate > 0)) {
        memmove(out, in, n * sizeof *out);
        return;
    }
    for (size_t c = 0; c < n; c++)
        out[c] = in[c] * noise_at(factors, r, c);
}

static void forward(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    for (size_t r = op_from(w, chunk); r < op_to(w, chunk); r++)
        apply(w, w->y + r * w->ldy, w->x[0] + r * w->ldx[0], r);
}

static void backward(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    size_t from = op_from(w, chunk), to = op_to(w, chunk);
    for (size_t r = from; r < to; r++)
        apply(w, w->dy + r * w->ldy, w->dy + r * w->ldy, r);
    op_give(w, 0, w->dy + from * w->ldy, w->ldy, from, to);
}

static void to_onnx(const op_work *w, onnx *o)
{
    onnx_layout layout = onnx_given(o);
    onnx_give(o, onnx_take(o, 0, layout), layout);
}

static int check(const layer_spec *l, err *e)
{
    return own(l)->rate >= 0 && own(l)->rate < 1
               ? 0
               : err_set(e, ERR_USAGE, "must have a rate of at least 0 and less than 1");
}

static const attribute attributes[] = {
    {"rate", ATTRIBUTE_FLOAT, offsetof(dropout_layer, rate), .most = 1, .open = true,
        .required = true, .shown = true, .meaning = "The share that is dropped."},
    {0}};

const op op_dropout = {
    .kind = LAYER_DROPOUT,
    .is = {.name = "Dropout",
        .size = sizeof(dropout_layer),
        .attributes = attributes,
        .places = "rate",
        .ask = "which rate? nn.Dropout { 0.2 }",
        .about = "A layer that drops a part of its inputs while training.",
        .formula = "x·m/(1-rate) while training, m = 0 with probability rate, else 1; x otherwise. "
                   "The noise is a function of seed, step, layer, row, column and rank",
        .source = "Srivastava and others 2014",
        .example = "model = nn.Sequential { nn.Dense { 8, input_dim = 4 }, nn.Dropout { 0.2 }, "
                   "nn.Dense { 1 } }"},
    .check = check,
    .least = 1,
    .most = 1,
    .infer = op_same_shape,
    .reserve = reserve,
    .forward = forward,
    .backward = backward,
    .onnx = to_onnx,
};
