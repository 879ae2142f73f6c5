// SPDX-License-Identifier: MIT
// The operations that make one of several.
//
//   Add          y = Σ x[i], all of one shape
//   Concatenate  y = x[0], x[1], … side by side along a dimension; the others are the same
#include "trainer/nn/layer/layers.h"
#include "trainer/nn/layer/op.h"

#include "base/mem.h"
#include "trainer/nn/layer/onnx.h"

#include <stdint.h>
#include <string.h>

static int differ(const row_shape *a, const row_shape *b, err *e)
{
    AUTO_BUF one = {0}, other = {0};
    shape_text(a->dims, a->size, &one);
    shape_text(b->dims, b->size, &other);
    return err_set(e, ERR_USAGE, "expects inputs that fit together, got rows of shapes %s and %s",
        buf_cstr(&one), buf_cstr(&other));
}

static int infer_add(const layer_spec *l, size_t n, const row_shape *in, row_shape *out, err *e)
{
    *out = in[0];
    for (size_t i = 1; i < n; i++)
        if (in[i].dims != in[0].dims ||
            memcmp(in[i].size, in[0].size, (size_t)in[0].dims * sizeof *in[0].size) != 0)
            return differ(&in[0], &in[i], e);
    return 0;
}

static const concatenate_layer *own(const layer_spec *l)
{
    return l->own;
}

// Which dimension of a row: Keras counts that of the rows, too.
static int axis_of(const layer_spec *l, int dims)
{
    int axis = own(l)->axis ? own(l)->axis : -1;
    return axis < 0 ? axis + dims : axis - 1;
}

static int infer_concatenate(
    const layer_spec *l, size_t n, const row_shape *in, row_shape *out, err *e)
{
    *out = in[0];
    if (in[0].dims < 1)
        return err_set(e, ERR_USAGE, "expects rows of at least one dimension");
    int axis = axis_of(l, in[0].dims);
    if (axis < 0 || axis >= in[0].dims)
        return err_set(e, ERR_USAGE,
            "has axis %d, which must be from 1 to %d, or from -%d to -1: its inputs have %d "
            "dimension%s, and axis 0 are the rows",
            own(l)->axis, in[0].dims, in[0].dims, in[0].dims, in[0].dims > 1 ? "s" : "");
    for (size_t i = 1; i < n; i++) {
        row_shape other = in[i];
        other.size[axis] = in[0].size[axis];
        if (in[i].dims != in[0].dims ||
            memcmp(other.size, in[0].size, (size_t)in[0].dims * sizeof *other.size) != 0)
            return differ(&in[0], &in[i], e);
        if (__builtin_add_overflow(out->size[axis], in[i].size[axis], &out->size[axis]))
            return err_set(e, ERR_LIMIT, "would be too large");
    }
    return 0;
}

// How many numbers of a row lie side by side in it: its size along the axis, times those behind.
static size_t run_of(const op_work *w, const row_shape *s)
{
    size_t n = 1;
    for (int d = axis_of(w->layer, s->dims); d < s->dims; d++)
        n *= s->size[d];
    return n;
}

static void reserve(const op_work *w, op_need *need)
{
    need->forward[0] = need->backward[0] = op_by_rows(w);
}

static void forward_add(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    size_t n = shape_size(&w->out);
    for (size_t r = op_from(w, chunk); r < op_to(w, chunk); r++) {
        void *y = op_at(w, w->y, w->ldy, r);
        memcpy(y, op_at(w, w->x[0], w->ldx[0], r), op_bytes(w, n));
        for (size_t i = 1; i < w->inputs; i++)
            op_channels(w)->add_up(y, op_at(w, w->x[i], w->ldx[i], r), n);
    }
}

static void backward_add(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    size_t from = op_from(w, chunk);
    for (size_t i = 0; i < w->inputs; i++)
        op_give(w, i, op_at(w, w->dy, w->ldy, from), w->ldy, from, op_to(w, chunk));
}

static void forward_concatenate(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    size_t all = run_of(w, &w->out), outer = shape_size(&w->out) / all, at = 0;
    for (size_t i = 0; i < w->inputs; at += run_of(w, &w->in[i++])) {
        size_t n = run_of(w, &w->in[i]);
        for (size_t r = op_from(w, chunk); r < op_to(w, chunk); r++)
            for (size_t o = 0; o < outer; o++)
                memcpy(w->y + r * w->ldy + o * all + at, w->x[i] + r * w->ldx[i] + o * n,
                    n * sizeof *w->y);
    }
}

static void backward_concatenate(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    size_t all = run_of(w, &w->out), outer = shape_size(&w->out) / all, at = 0;
    for (size_t i = 0; i < w->inputs; at += run_of(w, &w->in[i++])) {
        size_t n = run_of(w, &w->in[i]);
        for (size_t r = op_from(w, chunk); w->dx[i] && r < op_to(w, chunk); r++)
            for (size_t o = 0; o < outer; o++) {
                const float *d = w->dy + r * w->ldy + o * all + at;
                float *dx = w->dx[i] + r * w->ldx[i] + o * n;
                for (size_t c = 0; c < n; c++)
                    dx[c] = (w->add[i] ? dx[c] : 0) + d[c];
            }
    }
}

// All inputs in one layout.
static onnx_value join(const op_work *w, onnx *o, const char *type, onnx_layout layout)
{
    AUTO_FREE onnx_value *x = mem_array(w->inputs, sizeof *x);
    for (size_t i = 0; i < w->inputs; i++)
        x[i] = onnx_take(o, i, layout);
    return onnx_node(o, type, w->inputs, x);
}

static void add_to_onnx(const op_work *w, onnx *o)
{
    onnx_layout layout = onnx_given(o);
    onnx_give(o, join(w, o, "Sum", layout), layout);
}

static void concatenate_to_onnx(const op_work *w, onnx *o)
{
    onnx_layout layout = onnx_given(o);
    onnx_value y = join(w, o, "Concat", layout);
    int dims = w->out.dims, axis = axis_of(w->layer, dims);
    onnx_set_int(o, "axis", layout == ONNX_FIRST ? (axis + 1) % dims + 1 : axis + 1);
    onnx_give(o, y, layout);
}

const op op_add = {
    .kind = LAYER_ADD,
    .is = {.name = "Add",
        .about = "The sum of several nodes: nn.Add {} { a, b }.",
        .formula = "Σ x[i], all of one shape",
        .source = "He and others, arXiv 1512.03385",
        .example = "x = nn.Input { 4 }\n"
                   "print(nn.Model({ inputs = x, outputs = nn.Dense { 1 } (nn.Add {} { x, nn.Dense "
                   "{ 4 } (x) }) }):count_params()) --> 25"},
    .least = 2,
    .most = SIZE_MAX,
    .infer = infer_add,
    .reserve = reserve,
    .forward = forward_add,
    .backward = backward_add,
    .onnx = add_to_onnx,
    .halves = op_always,
};

static const attribute attributes[] = {
    {"axis", ATTRIBUTE_AXIS, offsetof(concatenate_layer, axis), .otherwise = -1,
        .meaning = "The dimension, as Keras counts: the rows are 0."},
    {0}};

const op op_concatenate = {
    .kind = LAYER_CONCATENATE,
    .is = {.name = "Concatenate",
        .size = sizeof(concatenate_layer),
        .attributes = attributes,
        .places = "axis",
        .about = "Several nodes side by side, along the last dimension or another; 1 is the first "
                 "of a row.",
        .formula = "x[0], x[1], … side by side along `axis`: -1, the last dimension, or another "
                   "one; 1 is the first of a row, all other sizes are the same",
        .source = "Szegedy and others, arXiv 1409.4842",
        .example = "a, b = nn.Input { 2 }, nn.Input { 3 }\n"
                   "print(nn.Model({ inputs = { a, b }, outputs = nn.Dense { 1 } (nn.Concatenate "
                   "{} { a, b }) }):count_params()) --> 6"},
    .least = 2,
    .most = SIZE_MAX,
    .infer = infer_concatenate,
    .reserve = reserve,
    .forward = forward_concatenate,
    .backward = backward_concatenate,
    .onnx = concatenate_to_onnx,
};
