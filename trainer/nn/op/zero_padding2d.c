// SPDX-License-Identifier: MIT
// ZeroPadding2D: rows and columns of zeros around a picture (height, width, channels).
//
//   y[i + top, j + left] = x[i, j], 0 around it;  dx[i, j] = dy[i + top, j + left]
#include "trainer/nn/layer/layers.h"
#include "trainer/nn/layer/onnx.h"
#include "trainer/nn/layer/op.h"

#include <string.h>

enum { TOP, BOTTOM, LEFT, RIGHT, PAD_MAX = 4096 };

static const padding_layer *own(const layer_spec *l)
{
    return l->own;
}

static int infer(const layer_spec *l, size_t n, const row_shape *in, row_shape *out, err *e)
{
    if (op_expect_picture(in, e))
        return -1;
    for (int i = 0; i < 4; i++)
        if (own(l)->pad[i] > PAD_MAX)
            return err_set(e, ERR_USAGE, "must have a padding from 0 to %d", PAD_MAX);
    *out = *in;
    out->size[0] += own(l)->pad[TOP] + own(l)->pad[BOTTOM];
    out->size[1] += own(l)->pad[LEFT] + own(l)->pad[RIGHT];
    return 0;
}

static void reserve(const op_work *w, op_need *need)
{
    need->forward[0] = need->backward[0] = op_by_rows(w);
}

// Where line i of the picture begins in the output.
static size_t line_at(const op_work *w, size_t i)
{
    return ((i + own(w->layer)->pad[TOP]) * w->out.size[1] + own(w->layer)->pad[LEFT]) *
           w->out.size[2];
}

static void forward(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    size_t line = w->in->size[1] * w->in->size[2];
    for (size_t r = op_from(w, chunk); r < op_to(w, chunk); r++) {
        char *y = op_at(w, w->y, w->ldy, r), *x = op_at(w, w->x[0], w->ldx[0], r);
        memset(y, 0, op_bytes(w, shape_size(&w->out)));
        for (size_t i = 0; i < w->in->size[0]; i++)
            memcpy(y + op_bytes(w, line_at(w, i)), x + op_bytes(w, i * line), op_bytes(w, line));
    }
}

static void backward(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    size_t line = w->in->size[1] * w->in->size[2];
    for (size_t r = op_from(w, chunk); w->dx[0] && r < op_to(w, chunk); r++)
        for (size_t i = 0; i < w->in->size[0]; i++) {
            char *dx = (char *)op_at(w, w->dx[0], w->ldx[0], r) + op_bytes(w, i * line);
            char *d = (char *)op_at(w, w->dy, w->ldy, r) + op_bytes(w, line_at(w, i));
            if (w->add[0])
                op_channels(w)->add_up(dx, d, line);
            else
                memcpy(dx, d, op_bytes(w, line));
        }
}

static void to_onnx(const op_work *w, onnx *o)
{
    const size_t *pad = own(w->layer)->pad;
    onnx_layout layout = onnx_given(o);
    int64_t pads[8] = {0}; // what stands before each dimension, then what stands behind it
    int rows = layout == ONNX_FIRST ? 2 : 1;
    for (int i = 0; i < 2; i++) {
        pads[rows + i] = (int64_t)pad[2 * i];
        pads[rows + i + 4] = (int64_t)pad[2 * i + 1];
    }
    onnx_value list = onnx_list(o, "pads", 8, pads);
    onnx_give(o, ONNX_NODE(o, "Pad", onnx_take(o, 0, layout), list), layout);
}

static const attribute attributes[] = {
    {"padding", ATTRIBUTE_SIDES, offsetof(padding_layer, pad), .otherwise = 1,
        .meaning = "One number for all sides, {rows, columns}, or {{top, bottom}, {left, right}}."},
    {0}};

const op op_zero_padding2d = {
    .kind = LAYER_ZERO_PADDING2D,
    .is = {.name = "ZeroPadding2D",
        .size = sizeof(padding_layer),
        .attributes = attributes,
        .places = "padding",
        .about = "Rows and columns of zeros around a picture: 1, {rows, columns} or {{top, "
                 "bottom}, {left, right}}.",
        .formula =
            "zeros around a picture: `1`, `{rows, columns}`, `{{top, bottom}, {left, right}}`",
        .source = "Keras 3",
        .example = "model = nn.Sequential { nn.Input { 28, 28, 1 }, nn.ZeroPadding2D { { { 0, 1 }, "
                   "{ 0, 1 } } }, nn.Flatten {}, nn.Dense { 1 } }\n"
                   "print(model:count_params()) --> 842"},
    .least = 1,
    .most = 1,
    .infer = infer,
    .reserve = reserve,
    .forward = forward,
    .backward = backward,
    .onnx = to_onnx,
    .halves = op_always,
};
