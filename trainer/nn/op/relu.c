// SPDX-License-Identifier: MIT
// ReLU, the layer, with Keras's three numbers:
//
//   y = max_value                          where x >= max_value
//       x                                  where threshold <= x < max_value
//       negative_slope·(x - threshold)     below
//
// threshold and negative_slope are 0 or more, so y tells which of them it was; at x = threshold = 0
// the slope is negative_slope.
#include "trainer/nn/layer/layers.h"
#include "trainer/nn/layer/onnx.h"
#include "trainer/nn/layer/op.h"

#include <math.h>

static const relu_layer *own(const layer_spec *l)
{
    return l->own;
}

static int infer(const layer_spec *l, size_t n, const row_shape *in, row_shape *out, err *e)
{
    *out = *in;
    return own(l)->slope >= 0 && own(l)->threshold >= 0 && own(l)->most >= 0
               ? 0
               : err_set(e, ERR_USAGE,
                     "must have a max_value, a negative_slope and a threshold of 0 or more");
}

static void reserve(const op_work *w, op_need *need)
{
    need->forward[0] = need->backward[0] = op_by_rows(w);
    need->reads_y = true;
}

static void forward(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    float slope = (float)own(w->layer)->slope, threshold = (float)own(w->layer)->threshold;
    float most = (float)own(w->layer)->most;
    size_t n = shape_size(&w->out);
    for (size_t r = op_from(w, chunk); r < op_to(w, chunk); r++) {
        const float *x = w->x[0] + r * w->ldx[0];
        float *y = w->y + r * w->ldy;
        for (size_t c = 0; c < n; c++) {
            float v = x[c] < threshold ? slope * (x[c] - threshold) : x[c]; // nan stays
            y[c] = v > most ? most : v;
        }
    }
}

static void backward(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    float slope = (float)own(w->layer)->slope, threshold = (float)own(w->layer)->threshold;
    float most = (float)own(w->layer)->most;
    size_t n = shape_size(&w->out), from = op_from(w, chunk), to = op_to(w, chunk);
    for (size_t r = from; r < to; r++) {
        const float *y = w->y + r * w->ldy;
        float *d = w->dy + r * w->ldy;
        for (size_t c = 0; c < n; c++)
            d[c] *= y[c] >= most ? 0 : y[c] > 0 && y[c] >= threshold ? 1 : slope;
    }
    op_give(w, 0, w->dy + from * w->ldy, w->ldy, from, to);
}

static onnx_value below(const op_work *w, onnx *o, onnx_value x)
{
    onnx_value threshold = onnx_constant(o, "threshold", (float)own(w->layer)->threshold);
    onnx_value slope = onnx_constant(o, "negative_slope", (float)own(w->layer)->slope);
    onnx_value low = ONNX_NODE(o, "Mul", ONNX_NODE(o, "Sub", x, threshold), slope);
    return ONNX_NODE(o, "Where", ONNX_NODE(o, "Less", x, threshold), low, x);
}

static void to_onnx(const op_work *w, onnx *o)
{
    onnx_layout layout = onnx_given(o);
    bool plain = own(w->layer)->slope <= 0 && own(w->layer)->threshold <= 0;
    onnx_value x = onnx_take(o, 0, layout);
    onnx_value y = plain ? ONNX_NODE(o, "Relu", x) : below(w, o, x);
    if (isfinite(own(w->layer)->most))
        y = ONNX_NODE(o, "Min", y, onnx_constant(o, "max_value", (float)own(w->layer)->most));
    onnx_give(o, y, layout);
}

static const attribute attributes[] = {
    {"max_value", ATTRIBUTE_NUMBER, offsetof(relu_layer, most), .otherwise = HUGE_VAL,
        .most = HUGE_VAL, .sparse = true, .signature = "",
        .meaning = "What is greater becomes this."},
    {"negative_slope", ATTRIBUTE_NUMBER, offsetof(relu_layer, slope), .most = HUGE_VAL,
        .open = true, .meaning = "Of the line below the threshold."},
    {"threshold", ATTRIBUTE_NUMBER, offsetof(relu_layer, threshold), .most = HUGE_VAL, .open = true,
        .meaning = "Where x begins to pass as it is."},
    {0}};

const op op_re_lu = {
    .kind = LAYER_RELU,
    .is = {.name = "ReLU",
        .size = sizeof(relu_layer),
        .attributes = attributes,
        .places = "max_value negative_slope threshold",
        .about = "relu as a layer, with an upper limit where one is given.",
        .formula = "`max_value` where x ≥ max_value, `negative_slope`·(x - `threshold`) where x < "
                   "threshold, else x",
        .source = "Nair & Hinton 2010",
        .example = "model = nn.Sequential { nn.Dense { 8, input_dim = 4 }, nn.ReLU { 6 }, nn.Dense "
                   "{ 1 } }\n"
                   "print(model:count_params()) --> 49"},
    .least = 1,
    .most = 1,
    .infer = infer,
    .reserve = reserve,
    .forward = forward,
    .backward = backward,
    .onnx = to_onnx,
};
