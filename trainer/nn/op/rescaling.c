// SPDX-License-Identifier: MIT
// Rescaling: y = x·scale + offset;  dx = dy·scale
//
// Behind a sigmoid it makes an output of any range.
#include "trainer/nn/layer/layers.h"
#include "trainer/nn/layer/onnx.h"
#include "trainer/nn/layer/op.h"

static const rescaling_layer *own(const layer_spec *l)
{
    return l->own;
}

static void reserve(const op_work *w, op_need *need)
{
    need->forward[0] = need->backward[0] = op_by_rows(w);
}

static void forward(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    float scale = (float)own(w->layer)->scale, offset = (float)own(w->layer)->offset;
    size_t n = shape_size(&w->out);
    for (size_t r = op_from(w, chunk); r < op_to(w, chunk); r++)
        for (size_t c = 0; c < n; c++)
            w->y[r * w->ldy + c] = w->x[0][r * w->ldx[0] + c] * scale + offset;
}

static void backward(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    float scale = (float)own(w->layer)->scale;
    size_t n = shape_size(&w->out), from = op_from(w, chunk), to = op_to(w, chunk);
    for (size_t r = from; r < to; r++)
        for (size_t c = 0; c < n; c++)
            w->dy[r * w->ldy + c] *= scale;
    op_give(w, 0, w->dy + from * w->ldy, w->ldy, from, to);
}

static void to_onnx(const op_work *w, onnx *o)
{
    onnx_layout layout = onnx_given(o);
    onnx_value scale = onnx_constant(o, "scale", (float)own(w->layer)->scale);
    onnx_value offset = onnx_constant(o, "offset", (float)own(w->layer)->offset);
    onnx_value scaled = ONNX_NODE(o, "Mul", onnx_take(o, 0, layout), scale);
    onnx_give(o, ONNX_NODE(o, "Add", scaled, offset), layout);
}

static const attribute attributes[] = {
    {"scale", ATTRIBUTE_NUMBER, offsetof(rescaling_layer, scale), .otherwise = 1, .required = true,
        .meaning = "What each number is multiplied by."},
    {"offset", ATTRIBUTE_NUMBER, offsetof(rescaling_layer, offset),
        .meaning = "What is added then."},
    {0}};

const op op_rescaling = {
    .kind = LAYER_RESCALING,
    .is = {.name = "Rescaling",
        .size = sizeof(rescaling_layer),
        .attributes = attributes,
        .places = "scale offset",
        .ask = "which factor? nn.Rescaling { 1 / 255 }",
        .about = "x·scale + offset.",
        .formula = "x·`scale` + `offset`",
        .source = "Keras 3",
        .example =
            "model = nn.Sequential { nn.Input { 2 }, nn.Rescaling { 10, 1 }, nn.Dense { 1 } }\n"
            "print(model:count_params()) --> 3"},
    .least = 1,
    .most = 1,
    .infer = op_same_shape,
    .reserve = reserve,
    .forward = forward,
    .backward = backward,
    .onnx = to_onnx,
};
