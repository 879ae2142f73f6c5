// SPDX-License-Identifier: MIT
// The operations that only give rows another shape; the numbers stay in their order.
//
//   InputLayer  rows of a shape, from outside
//   Flatten     (n, d1, d2, …) → (n, d1·d2·…)
//   Reshape     (n, …) → (n, target_shape); one size may be left to be found
#include "trainer/nn/layer/layers.h"
#include "trainer/nn/layer/op.h"

#include "trainer/nn/layer/onnx.h"

#include <string.h>

static const shape_layer *own(const layer_spec *l)
{
    return l->own;
}

static int infer_input(const layer_spec *l, size_t n, const row_shape *in, row_shape *out, err *e)
{
    *out = *own(l);
    return 0;
}

static int infer_flatten(const layer_spec *l, size_t n, const row_shape *in, row_shape *out, err *e)
{
    *out = (row_shape){1, {shape_size(in)}};
    return 0;
}

static int infer_reshape(const layer_spec *l, size_t n, const row_shape *in, row_shape *out, err *e)
{
    AUTO_BUF have = {0}, want = {0};
    size_t known = 1, size = shape_size(in);
    int open = -1, opens = 0;
    *out = (row_shape){.dims = own(l)->dims};
    for (int i = 0; i < own(l)->dims; i++) {
        out->size[i] = own(l)->size[i];
        open = own(l)->size[i] ? open : i;
        opens += !own(l)->size[i];
        known =
            own(l)->size[i] && __builtin_mul_overflow(known, own(l)->size[i], &known) ? 0 : known;
    }
    if (opens == 1 && known && size % known == 0)
        out->size[open] = size / known;
    if (opens <= 1 && shape_size(out) == size)
        return 0;
    shape_text(in->dims, in->size, &have);
    for (int i = 0; i < own(l)->dims; i++) // as it was told: 0 is a size to be found
        buf_fmt(
            &want, "%s%lld", i ? ", " : "", own(l)->size[i] ? (long long)own(l)->size[i] : -1LL);
    return err_set(
        e, ERR_USAGE, "cannot make (%s) of rows of shape %s", buf_cstr(&want), buf_cstr(&have));
}

static void reserve(const op_work *w, op_need *need)
{
    need->forward[0] = need->backward[0] = op_by_rows(w);
}

static void forward(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    size_t from = op_from(w, chunk);
    memcpy(op_at(w, w->y, w->ldy, from), op_at(w, w->x[0], w->ldy, from),
        op_bytes(w, (op_to(w, chunk) - from) * w->ldy));
}

static void backward(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    size_t from = op_from(w, chunk);
    op_give(w, 0, op_at(w, w->dy, w->ldy, from), w->ldy, from, op_to(w, chunk));
}

static void flatten_to_onnx(const op_work *w, onnx *o)
{
    onnx_give(o, ONNX_NODE(o, "Flatten", onnx_take(o, 0, ONNX_LAST)), ONNX_LAST);
}

static void reshape_to_onnx(const op_work *w, onnx *o)
{
    int64_t shape[TENSOR_MAX_DIMS + 1] = {0}; // 0: the rows as they are
    for (int i = 0; i < w->out.dims; i++)
        shape[i + 1] = (int64_t)w->out.size[i];
    onnx_value to = onnx_list(o, "shape", (size_t)w->out.dims + 1, shape);
    onnx_give(o, ONNX_NODE(o, "Reshape", onnx_take(o, 0, ONNX_LAST), to), ONNX_LAST);
}

static int check_shape(const layer_spec *l, size_t least, err *e)
{
    if (own(l)->dims < 0 || own(l)->dims > TENSOR_MAX_DIMS)
        return err_set(e, ERR_USAGE, "has too many dimensions");
    for (int d = 0; d < own(l)->dims; d++)
        if (own(l)->size[d] < least || own(l)->size[d] > OP_UNITS_MAX)
            return err_set(e, ERR_USAGE, "must have sizes between 1 and 16777216");
    return 0;
}

static int check_input(const layer_spec *l, err *e)
{
    return own(l)->dims < 1 ? err_set(e, ERR_USAGE, "must have a shape") : check_shape(l, 1, e);
}

static int check_flatten(const layer_spec *l, err *e)
{
    return check_shape(l, 1, e);
}

static int check_reshape(const layer_spec *l, err *e)
{
    return check_shape(l, 0, e);
}

// nn.Flatten { 28, 28 } is nn.Flatten { input_shape = { 28, 28 } }.
static int settle_flatten(layer_spec *l, void *own_, err *e)
{
    memcpy(own_, &l->in, sizeof l->in);
    l->in.dims = 0;
    return 0;
}

static const attribute shapes[] = {
    {"shape", ATTRIBUTE_SHAPE, 0, .shown = true, .no_option = true}, {0}};

static const attribute inputs[] = {
    {"shape", ATTRIBUTE_SHAPE, 0, .shown = true, .meaning = "Of a row."}, {0}};

static const attribute targets[] = {
    {"target_shape", ATTRIBUTE_OPEN_SHAPE, 0, .required = true, .shown = true, .file = "shape",
        .meaning = "Of a row; one of its sizes may be -1."},
    {0}};

// The batch's rows come from tensors: nn/flow.c fills in its output.
const op op_input_layer = {
    .kind = LAYER_INPUT,
    .is = {.name = "InputLayer",
        .size = sizeof(shape_layer),
        .attributes = inputs,
        .formula = "rows of a shape: `nn.Input { 28, 28 }`",
        .source = "Keras 3"},
    .check = check_input,
    .infer = infer_input,
};

const op op_flatten = {
    .kind = LAYER_FLATTEN,
    .is = {.name = "Flatten",
        .size = sizeof(shape_layer),
        .attributes = shapes,
        .rest = "input_shape",
        .about = "A layer that makes each sample one row; the first layer names the shape.",
        .formula = "(n, d1, d2, …) → (n, d1·d2·…)",
        .source = "Keras 3",
        .example = "print(nn.Sequential({ nn.Flatten { 28, 28 }, nn.Dense { 10 } "
                   "}):count_params()) --> 7850"},
    .check = check_flatten,
    .settle = settle_flatten,
    .least = 1,
    .most = 1,
    .infer = infer_flatten,
    .reserve = reserve,
    .forward = forward,
    .backward = backward,
    .onnx = flatten_to_onnx,
    .halves = op_always,
};

const op op_reshape = {
    .kind = LAYER_RESHAPE,
    .is = {.name = "Reshape",
        .size = sizeof(shape_layer),
        .attributes = targets,
        .rest = "target_shape",
        .ask = "which shape? nn.Reshape { 7, 7, 64 }",
        .about = "Gives rows another shape; one size may be -1.",
        .formula = "(n, …) → (n, target_shape), one size of which may be -1",
        .source = "Keras 3",
        .example = "model = nn.Sequential { nn.Input { 784 }, nn.Reshape { 28, 28, -1 }, "
                   "nn.GlobalAveragePooling2D {}, nn.Dense { 1 } }\n"
                   "print(model:count_params()) --> 2"},
    .check = check_reshape,
    .least = 1,
    .most = 1,
    .infer = infer_reshape,
    .reserve = reserve,
    .forward = forward,
    .backward = backward,
    .onnx = reshape_to_onnx,
    .halves = op_always,
};
