// SPDX-License-Identifier: MIT
// Activation: y = f(x), the functions of layer.h. softmax is over the last dimension, the only one.
//
//   gelu  Hendrycks & Gimpel, arXiv 1606.08415     elu   Clevert and others, arXiv 1511.07289
//   silu  Elfwing and others, arXiv 1702.03118     selu  Klambauer and others, arXiv 1706.02515
//   leaky_relu  Maas, Hannun & Ng 2013, with Keras's slope of 0.2
#include "trainer/nn/layer/layers.h"
#include "trainer/nn/layer/op.h"

#include "trainer/nn/layer/onnx.h"

#include <string.h>

static const activation_layer *own(const layer_spec *l)
{
    return l->own;
}

static int infer(const layer_spec *l, size_t n, const row_shape *in, row_shape *out, err *e)
{
    if (own(l)->activation == ACTIVATION_SOFTMAX && in->dims != 1)
        return err_set(e, ERR_USAGE, "has softmax, which expects rows of one dimension");
    *out = *in;
    return 0;
}

static void reserve(const op_work *w, op_need *need)
{
    need->forward[0] = need->backward[0] = op_by_rows(w);
    need->reads_y = activation_is_of_output(w->f);
    need->reads_x = !need->reads_y;
}

static void forward(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    size_t from = op_from(w, chunk), rows = op_to(w, chunk) - from;
    float *y = op_at(w, w->y, w->ldy, from);
    memcpy(y, op_at(w, w->x[0], w->ldx[0], from), op_bytes(w, rows * w->ldy));
    op_activate(w, y, NULL, w->ldy, rows, shape_size(w->in));
}

static void backward(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    size_t from = op_from(w, chunk), to = op_to(w, chunk);
    float *d = op_at(w, w->dy, w->ldy, from);
    op_derive(w, d, op_at(w, w->y, w->ldy, from), op_at(w, w->x[0], w->ldx[0], from), w->ldy,
        to - from, shape_size(w->in));
    op_give(w, 0, d, w->ldy, from, to);
}

static bool halves(const op_work *w)
{
    return own(w->layer)->activation != ACTIVATION_SOFTMAX;
}

// z·(1 + erf(z/√2))/2
static onnx_value gelu(onnx *o, onnx_value z)
{
    onnx_value root = onnx_constant(o, "root_2", 1.41421356f), one = onnx_constant(o, "one", 1);
    onnx_value erf = ONNX_NODE(o, "Erf", ONNX_NODE(o, "Div", z, root));
    onnx_value half = ONNX_NODE(o, "Mul", z, onnx_constant(o, "half", 0.5f));
    return ONNX_NODE(o, "Mul", half, ONNX_NODE(o, "Add", erf, one));
}

size_t op_onnx_activate(onnx *o, activation f, size_t z)
{
    static const char *const types[] = {
        [ACTIVATION_RELU] = "Relu",
        [ACTIVATION_SIGMOID] = "Sigmoid",
        [ACTIVATION_TANH] = "Tanh",
        [ACTIVATION_SOFTMAX] = "Softmax", // of the last dimension, as here
        [ACTIVATION_ELU] = "Elu",
        [ACTIVATION_SELU] = "Selu", // with the same two numbers
        [ACTIVATION_LEAKY_RELU] = "LeakyRelu",
        [ACTIVATION_SOFTPLUS] = "Softplus",
    };
    if (f == ACTIVATION_LINEAR)
        return z;
    if (f == ACTIVATION_SILU)
        return ONNX_NODE(o, "Mul", z, ONNX_NODE(o, "Sigmoid", z));
    if (f == ACTIVATION_GELU)
        return gelu(o, z);
    onnx_value y = ONNX_NODE(o, types[f], z);
    if (f == ACTIVATION_LEAKY_RELU)
        onnx_set_float(o, "alpha", 0.2);
    return y;
}

static void to_onnx(const op_work *w, onnx *o)
{
    onnx_layout layout = onnx_given(o);
    onnx_give(o, op_onnx_activate(o, own(w->layer)->activation, onnx_take(o, 0, layout)), layout);
}

static const attribute attributes[] = {
    {"activation", ATTRIBUTE_CHOICE, offsetof(activation_layer, activation), .required = true,
        .shown = true, .choices = activation_names, .parse = activation_choice,
        .meaning = "The function: its name."},
    {0}};

const op op_activation = {
    .kind = LAYER_ACTIVATION,
    .is = {.name = "Activation",
        .size = sizeof(activation_layer),
        .attributes = attributes,
        .places = "activation",
        .ask = "which function? nn.Activation { \"relu\" }",
        .about = "A function by itself.",
        .formula = "f(x)",
        .source = "Keras 3",
        .example = "model = nn.Sequential { nn.Dense { 8, input_dim = 4 }, nn.Activation { "
                   "\"gelu\" }, nn.Dense { 1 } }\n"
                   "print(model:count_params()) --> 49"},
    .least = 1,
    .most = 1,
    .infer = infer,
    .reserve = reserve,
    .forward = forward,
    .backward = backward,
    .onnx = to_onnx,
    .halves = halves,
};
