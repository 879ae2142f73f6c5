// SPDX-License-Identifier: MIT
// The operations that only give rows another shape; the numbers stay in their order.
//
//   InputLayer  rows of a shape, from outside
//   Flatten     (n, d1, d2, …) → (n, d1·d2·…)
//   Reshape     (n, …) → (n, target_shape); one size may be left to be found
#include "trainer/nn/op/op.h"

#include "trainer/nn/onnx.h"

#include <string.h>

static int infer_input(const layer_spec *l, size_t n, const row_shape *in, row_shape *out, err *e)
{
    *out = (row_shape){.dims = l->dims};
    memcpy(out->size, l->shape, sizeof out->size);
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
    *out = (row_shape){.dims = l->dims};
    for (int i = 0; i < l->dims; i++) {
        out->size[i] = l->shape[i];
        open = l->shape[i] ? open : i;
        opens += !l->shape[i];
        known = l->shape[i] && __builtin_mul_overflow(known, l->shape[i], &known) ? 0 : known;
    }
    if (opens == 1 && known && size % known == 0)
        out->size[open] = size / known;
    if (opens <= 1 && shape_size(out) == size)
        return 0;
    shape_text(in->dims, in->size, &have);
    for (int i = 0; i < l->dims; i++) // as it was told: 0 is a size to be found
        buf_fmt(&want, "%s%lld", i ? ", " : "", l->shape[i] ? (long long)l->shape[i] : -1LL);
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

static void write(const layer_spec *l, cJSON *j)
{
    op_write_sizes(j, "shape", l->shape, (size_t)l->dims);
}

static int read(layer_spec *l, const cJSON *j, err *e)
{
    l->dims = op_read_sizes(j, "shape", l->shape, TENSOR_MAX_DIMS, l->kind == LAYER_RESHAPE, e);
    return l->dims < 0 ? -1 : 0;
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

// The batch's rows come from tensors: nn/flow.c fills in its output.
const op op_input = {
    .kind = LAYER_INPUT,
    .infer = infer_input,
    .write = write,
    .read = read,
};

const op op_flatten = {
    .kind = LAYER_FLATTEN,
    .least = 1,
    .most = 1,
    .infer = infer_flatten,
    .reserve = reserve,
    .forward = forward,
    .backward = backward,
    .write = write,
    .read = read,
    .onnx = flatten_to_onnx,
    .halves = op_always,
};

const op op_reshape = {
    .kind = LAYER_RESHAPE,
    .least = 1,
    .most = 1,
    .infer = infer_reshape,
    .reserve = reserve,
    .forward = forward,
    .backward = backward,
    .write = write,
    .read = read,
    .onnx = reshape_to_onnx,
    .halves = op_always,
};
