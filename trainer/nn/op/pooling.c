// SPDX-License-Identifier: MIT
// Pooling: each channel of a picture (height, width, channels) by itself.
//
//   MaxPooling2D            the greatest in the window; its gradient goes to the first of these
//   AveragePooling2D        the mean of those in the window that are not padding
//   GlobalMaxPooling2D      the greatest of the picture
//   GlobalAveragePooling2D  the mean over the picture: (height, width, channels) → (channels)
#include "trainer/cpu/bf16.h"
#include "trainer/nn/op/window.h"

#include <math.h>
#include <string.h>

static int infer(const layer_spec *l, size_t n, const row_shape *in, row_shape *out, err *e)
{
    window w;
    if (window_new(l, in, &w, e) < 0)
        return -1;
    *out = (row_shape){3, {w.out[0], w.out[1], w.channels}};
    return 0;
}

static void reserve_max(const op_work *w, op_need *need)
{
    need->forward[0] = need->backward[0] = op_by_rows(w);
    need->kept = w->rows * w->ldy; // where the greatest was, as uint32_t
}

static void reserve_average(const op_work *w, op_need *need)
{
    need->forward[0] = need->backward[0] = op_by_rows(w);
}

// The greatest of output (y, x), channel by channel. nan counts as the greatest.
static void greatest(
    const op_work *w, const window *v, const void *in, size_t p, void *out, uint32_t *where)
{
    bool first = true;
    for (size_t t = 0; t < v->size[0] * v->size[1]; t++) {
        size_t at = window_at(v, p / v->out[1], p % v->out[1], t / v->size[1], t % v->size[1]);
        if (at == SIZE_MAX)
            continue;
        op_channels(w)->take_greater(
            out, where, (const char *)in + op_bytes(w, at), (uint32_t)at, first, v->channels);
        first = false;
    }
}

static void forward_max(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    window v = window_of(w->layer, w->in);
    uint32_t *where = (uint32_t *)(void *)w->kept;
    for (size_t r = op_from(w, chunk); r < op_to(w, chunk); r++)
        for (size_t p = 0; p < v.out[0] * v.out[1]; p++) {
            size_t at = p * v.channels;
            greatest(w, &v, op_at(w, w->x[0], w->ldx[0], r), p,
                (char *)op_at(w, w->y, w->ldy, r) + op_bytes(w, at), where + r * w->ldy + at);
        }
}

// Rows of dx that only this node writes start at 0.
static void *clear(const op_work *w, size_t r)
{
    void *dx = op_at(w, w->dx[0], w->ldx[0], r);
    if (!w->add[0])
        memset(dx, 0, op_bytes(w, shape_size(w->in)));
    return dx;
}

static void add_half(uint16_t *to, uint16_t d)
{
    *to = bf16_of(bf16_value(*to) + bf16_value(d));
}

static void backward_max(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    const uint32_t *where = (const uint32_t *)(const void *)w->kept;
    size_t n = shape_size(&w->out);
    for (size_t r = op_from(w, chunk); w->dx[0] && r < op_to(w, chunk); r++) {
        void *dx = clear(w, r), *dy = op_at(w, w->dy, w->ldy, r);
        for (size_t i = 0; i < n; i++)
            if (w->half)
                add_half((uint16_t *)dx + where[r * w->ldy + i], ((uint16_t *)dy)[i]);
            else
                ((float *)dx)[where[r * w->ldy + i]] += ((float *)dy)[i];
    }
}

// How many of the window's taps lie in the picture.
static size_t taps(const window *v, size_t y, size_t x)
{
    size_t n = 0;
    for (size_t i = 0; i < v->size[0]; i++)
        for (size_t j = 0; j < v->size[1]; j++)
            n += window_at(v, y, x, i, j) != SIZE_MAX;
    return n;
}

static void forward_average(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    window v = window_of(w->layer, w->in);
    for (size_t r = op_from(w, chunk); r < op_to(w, chunk); r++)
        for (size_t p = 0; p < v.out[0] * v.out[1]; p++) {
            float *y = w->y + r * w->ldy + p * v.channels;
            const float *in = w->x[0] + r * w->ldx[0];
            float scale = 1 / (float)taps(&v, p / v.out[1], p % v.out[1]);
            memset(y, 0, v.channels * sizeof *y);
            for (size_t t = 0; t < v.size[0] * v.size[1]; t++) {
                size_t at = window_at(&v, p / v.out[1], p % v.out[1], t / v.size[1], t % v.size[1]);
                for (size_t c = 0; at != SIZE_MAX && c < v.channels; c++)
                    y[c] += in[at + c] * scale;
            }
        }
}

static void backward_average(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    window v = window_of(w->layer, w->in);
    for (size_t r = op_from(w, chunk); w->dx[0] && r < op_to(w, chunk); r++) {
        float *dx = clear(w, r);
        for (size_t p = 0; p < v.out[0] * v.out[1]; p++) {
            const float *d = w->dy + r * w->ldy + p * v.channels;
            float scale = 1 / (float)taps(&v, p / v.out[1], p % v.out[1]);
            for (size_t t = 0; t < v.size[0] * v.size[1]; t++) {
                size_t at = window_at(&v, p / v.out[1], p % v.out[1], t / v.size[1], t % v.size[1]);
                for (size_t c = 0; at != SIZE_MAX && c < v.channels; c++)
                    dx[at + c] += d[c] * scale;
            }
        }
    }
}

static const global_layer *global(const layer_spec *l)
{
    return l->own;
}

static int infer_global(const layer_spec *l, size_t n, const row_shape *in, row_shape *out, err *e)
{
    if (op_expect_picture(in, e))
        return -1;
    *out =
        global(l)->keepdims ? (row_shape){3, {1, 1, in->size[2]}} : (row_shape){1, {in->size[2]}};
    return 0;
}

static void reserve_global(const op_work *w, op_need *need)
{
    reserve_average(w, need);
    need->scratch = op_round(w->in->size[2], 16);
}

static void forward_global(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    size_t channels = w->in->size[2], pixels = w->in->size[0] * w->in->size[1];
    for (size_t r = op_from(w, chunk); r < op_to(w, chunk); r++) {
        memset(scratch, 0, channels * sizeof *scratch);
        const char *x = op_at(w, w->x[0], w->ldx[0], r);
        for (size_t p = 0; p < pixels; p++)
            if (w->half)
                for (size_t c = 0; c < channels; c++)
                    scratch[c] += bf16_value(((const uint16_t *)(const void *)x)[p * channels + c]);
            else
                for (size_t c = 0; c < channels; c++)
                    scratch[c] += ((const float *)(const void *)x)[p * channels + c];
        for (size_t c = 0; c < channels; c++)
            scratch[c] /= (float)pixels;
        if (w->half)
            w->cpu->halve(op_at(w, w->y, w->ldy, r), scratch, channels);
        else
            memcpy(w->y + r * w->ldy, scratch, channels * sizeof *scratch);
    }
}

// The whole picture as one window.
static void forward_global_max(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    const size_t *in = w->in->size;
    window v = {.in = {in[0], in[1]},
        .out = {1, 1},
        .size = {in[0], in[1]},
        .stride = {1, 1},
        .dilation = {1, 1},
        .channels = in[2]};
    uint32_t *where = (uint32_t *)(void *)w->kept;
    for (size_t r = op_from(w, chunk); r < op_to(w, chunk); r++)
        greatest(w, &v, op_at(w, w->x[0], w->ldx[0], r), 0, op_at(w, w->y, w->ldy, r),
            where + r * w->ldy);
}

static void backward_global(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    size_t channels = w->in->size[2], pixels = w->in->size[0] * w->in->size[1];
    for (size_t r = op_from(w, chunk); w->dx[0] && r < op_to(w, chunk); r++) {
        char *dx = op_at(w, w->dx[0], w->ldx[0], r);
        uint16_t *half = (uint16_t *)(void *)scratch, *d = op_at(w, w->dy, w->ldy, r);
        for (size_t c = 0; c < channels; c++)
            if (w->half)
                half[c] = bf16_of(bf16_value(d[c]) / (float)pixels);
            else
                scratch[c] = w->dy[r * w->ldy + c] / (float)pixels;
        for (size_t p = 0; p < pixels; p++, dx += op_bytes(w, channels))
            if (w->add[0])
                op_channels(w)->add_up(dx, scratch, channels);
            else
                memcpy(dx, scratch, op_bytes(w, channels));
    }
}

// Padding counts in neither, as here.
static void to_onnx(const op_work *w, onnx *o)
{
    window v = window_of(w->layer, w->in);
    bool max = w->layer->kind == LAYER_MAX_POOLING2D;
    onnx_value y = ONNX_NODE(o, max ? "MaxPool" : "AveragePool", onnx_take(o, 0, ONNX_FIRST));
    window_to_onnx(&v, o);
    onnx_give(o, y, ONNX_FIRST);
}

static void global_to_onnx(const op_work *w, onnx *o)
{
    onnx_layout layout = onnx_given(o);
    bool first = layout == ONNX_FIRST;
    bool max = w->layer->kind == LAYER_GLOBAL_MAX_POOLING2D;
    onnx_value y = ONNX_NODE(o, max ? "ReduceMax" : "ReduceMean", onnx_take(o, 0, layout));
    onnx_set_ints(o, "axes", 2, (int64_t[]){1 + first, 2 + first});
    onnx_set_int(o, "keepdims", global(w->layer)->keepdims);
    onnx_give(o, y, global(w->layer)->keepdims ? layout : ONNX_LAST);
}

static const attribute attributes[] = {
    WINDOW_SIZE("pool_size", ATTRIBUTE_PAIR, .otherwise = 2,
        .meaning = "Of the window: one number, or {height, width}."),
    WINDOW_STRIDES(ATTRIBUTE_PAIR, .signature = "",
        .meaning = "How far the window goes in a step; its own size, where it is not told."),
    WINDOW_PADDING(window_paddings), {0}};

static const attribute globals[] = {
    {"keepdims", ATTRIBUTE_BOOL, offsetof(global_layer, keepdims), .sparse = true,
        .meaning = "Whether the dimensions stay, of size 1."},
    {0}};

const op op_max_pooling2d = {
    .kind = LAYER_MAX_POOLING2D,
    .is = {.name = "MaxPooling2D",
        .size = sizeof(window_layer),
        .attributes = attributes,
        .places = "pool_size strides padding",
        .about = "The greatest of each window; strides are the window's size.",
        .formula = "the greatest of a window in each channel; padding does not count",
        .source = "Scherer, Müller & Behnke 2010",
        .example = "model = nn.Sequential { nn.Input { 28, 28, 1 }, nn.MaxPooling2D { 2 }, "
                   "nn.Flatten {}, nn.Dense { 10 } }\n"
                   "print(model:count_params()) --> 1970"},
    .settle = window_settle_pool,
    .least = 1,
    .most = 1,
    .infer = infer,
    .reserve = reserve_max,
    .forward = forward_max,
    .backward = backward_max,
    .onnx = to_onnx,
    .halves = op_always,
};

const op op_average_pooling2d = {
    .kind = LAYER_AVERAGE_POOLING2D,
    .is = {.name = "AveragePooling2D",
        .size = sizeof(window_layer),
        .attributes = attributes,
        .places = "pool_size strides padding",
        .about = "The mean of each window.",
        .formula = "the mean of a window in each channel; padding does not count",
        .source = "LeCun and others 1998",
        .example = "model = nn.Sequential { nn.Input { 28, 28, 1 }, nn.AveragePooling2D { 4 }, "
                   "nn.Flatten {}, nn.Dense { 10 } }\n"
                   "print(model:count_params()) --> 500"},
    .settle = window_settle_pool,
    .least = 1,
    .most = 1,
    .infer = infer,
    .reserve = reserve_average,
    .forward = forward_average,
    .backward = backward_average,
    .onnx = to_onnx,
};

const op op_global_average_pooling2d = {
    .kind = LAYER_GLOBAL_AVERAGE_POOLING2D,
    .is = {.name = "GlobalAveragePooling2D",
        .size = sizeof(global_layer),
        .attributes = globals,
        .about =
            "The mean of each channel over the whole picture; keepdims: of height and width 1.",
        .formula = "the mean over the picture: (height, width, channels) → (channels), with "
                   "`keepdims` → (1, 1, channels)",
        .source = "Lin and others, arXiv 1312.4400",
        .example = "model = nn.Sequential { nn.Input { 28, 28, 3 }, nn.GlobalAveragePooling2D {}, "
                   "nn.Dense { 10 } }\n"
                   "print(model:count_params()) --> 40"},
    .least = 1,
    .most = 1,
    .infer = infer_global,
    .reserve = reserve_global,
    .forward = forward_global,
    .backward = backward_global,
    .onnx = global_to_onnx,
    .halves = op_always,
};

const op op_global_max_pooling2d = {
    .kind = LAYER_GLOBAL_MAX_POOLING2D,
    .is = {.name = "GlobalMaxPooling2D",
        .size = sizeof(global_layer),
        .attributes = globals,
        .about = "The greatest of each channel in the whole picture.",
        .formula = "the greatest over the picture: (height, width, channels) → (channels), with "
                   "`keepdims` → (1, 1, channels)",
        .source = "Keras 3",
        .example = "model = nn.Sequential { nn.Input { 28, 28, 3 }, nn.GlobalMaxPooling2D {}, "
                   "nn.Dense { 10 } }\n"
                   "print(model:count_params()) --> 40"},
    .least = 1,
    .most = 1,
    .infer = infer_global,
    .reserve = reserve_max,
    .forward = forward_global_max,
    .backward = backward_max,
    .onnx = global_to_onnx,
    .halves = op_always,
};
