// SPDX-License-Identifier: MIT
#include "trainer/nn/op/window.h"

const char *const window_paddings[] = {"valid", "same", NULL};
const char *const window_paddings_of_steps[] = {"valid", "same", "causal", NULL};

static const window_layer *own(const layer_spec *l)
{
    return l->own;
}

static bool is_same(const layer_spec *l)
{
    return own(l)->padding == PADDING_SAME;
}

int window_check_groups(layer_spec *l, void *to, err *e)
{
    const window_layer *w = to;
    return w->groups && w->units % w->groups == 0
               ? 0
               : err_set(e, ERR_USAGE,
                     "groups must be positive and divide the %zu filters, got %zu", w->units,
                     w->groups);
}

// A window goes on by its own size.
int window_settle_pool(layer_spec *l, void *to, err *e)
{
    window_layer *w = to;
    for (int i = 0; i < 2; i++)
        w->stride[i] = w->stride[i] ? w->stride[i] : w->window[i];
    return 0;
}

static size_t dilation_of(const layer_spec *l, int i)
{
    return own(l)->dilation[i] ? own(l)->dilation[i] : 1;
}

// What the window spans in the picture.
static size_t reach_of(const layer_spec *l, int i)
{
    return (own(l)->window[i] - 1) * dilation_of(l, i) + 1;
}

// All zeros come in front of the first direction, that of Conv1D's steps.
static bool is_causal(const layer_spec *l, int i)
{
    return own(l)->padding == PADDING_CAUSAL && i == 0;
}

int window_new(const layer_spec *l, const row_shape *in, window *out, err *e)
{
    AUTO_BUF have = {0};
    if (op_expect_picture(in, e))
        return -1;
    shape_text(in->dims, in->size, &have);
    for (int i = 0; i < 2; i++) {
        if (!own(l)->window[i] || !own(l)->stride[i] || own(l)->window[i] > 4096 ||
            own(l)->stride[i] > 4096)
            return err_set(e, ERR_USAGE, "must have a window and strides from 1 to 4096");
        if (own(l)->dilation[i] > 4096)
            return err_set(e, ERR_USAGE, "must have a dilation_rate from 1 to 4096");
        if (!is_same(l) && !is_causal(l, i) && in->size[i] < reach_of(l, i))
            return err_set(e, ERR_USAGE, "has a window of %zux%zu, larger than its input %s",
                reach_of(l, 0), reach_of(l, 1), buf_cstr(&have));
    }
    *out = window_of(l, in);
    return 0;
}

window window_of(const layer_spec *l, const row_shape *in)
{
    window w = {.channels = in->size[2]};
    for (int i = 0; i < 2; i++) {
        size_t n = in->size[i], size = reach_of(l, i), stride = own(l)->stride[i];
        w.in[i] = n;
        w.size[i] = own(l)->window[i];
        w.dilation[i] = dilation_of(l, i);
        w.stride[i] = stride;
        bool padded = is_same(l) || is_causal(l, i);
        w.out[i] = padded ? (n + stride - 1) / stride : (n - size) / stride + 1;
        size_t reach = (w.out[i] - 1) * stride + size;
        w.before[i] = is_same(l) && reach > n ? (reach - n) / 2 : 0;
        if (is_causal(l, i))
            w.before[i] = size - 1;
    }
    return w;
}

void window_to_onnx(const window *w, onnx *o)
{
    int64_t size[2], stride[2], dilation[2], pads[4]; // top, left, bottom, right
    for (int i = 0; i < 2; i++) {
        size_t reach = (w->out[i] - 1) * w->stride[i] + (w->size[i] - 1) * w->dilation[i] + 1;
        size_t have = w->in[i] + w->before[i];
        size[i] = (int64_t)w->size[i];
        stride[i] = (int64_t)w->stride[i];
        dilation[i] = (int64_t)w->dilation[i];
        pads[i] = (int64_t)w->before[i];
        pads[i + 2] = reach > have ? (int64_t)(reach - have) : 0;
    }
    onnx_set_ints(o, "kernel_shape", 2, size);
    onnx_set_ints(o, "strides", 2, stride);
    onnx_set_ints(o, "pads", 4, pads);
    if (dilation[0] > 1 || dilation[1] > 1)
        onnx_set_ints(o, "dilations", 2, dilation);
}
