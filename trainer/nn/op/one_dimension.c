// SPDX-License-Identifier: MIT
// Layers of rows (steps, channels): what those of pictures do, with one column.
//
//   Conv1D                  W (steps, channels, filters) of the window; padding "causal" puts all
//                           zeros in front, so an output sees no later step
//   MaxPooling1D, AveragePooling1D, GlobalMaxPooling1D, GlobalAveragePooling1D
//
// Their passes are those of Conv2D (with `groups` of the one that has groups) and of the pools.
#include "trainer/nn/op/picture.h"
#include "trainer/nn/op/window.h"

#include <string.h>

enum { KERNEL, BIAS };

// (a, b, …, c) as (a·b·…, 1, c).
static row_shape picture_shape(const row_shape *s)
{
    return (row_shape){3, {shape_size(s) / op_last(s), 1, op_last(s)}};
}

static const window_layer *own(const layer_spec *l)
{
    return l->own;
}

static bool keeps(const layer_spec *l)
{
    return ((const global_layer *)l->own)->keepdims;
}

static bool is_global(const layer_spec *l)
{
    return l->kind == LAYER_GLOBAL_MAX_POOLING1D || l->kind == LAYER_GLOBAL_AVERAGE_POOLING1D;
}

// The layer with windows of one column: of `kind`, its window, strides and dilation in the first
// direction alone. `room` has what it is told then.
static layer_spec picture_layer(const layer_spec *l, layer_kind kind, window_layer *room)
{
    const dense_layer *dense = l->own;
    layer_spec p = *l;
    p.kind = kind;
    if (is_global(l))
        return p;
    if (l->kind == LAYER_DENSE)
        *room = (window_layer){.window[0] = 1,
            .stride[0] = 1,
            .units = dense->units,
            .activation = dense->activation,
            .no_bias = dense->no_bias};
    else
        *room = *own(l);
    room->window[1] = room->stride[1] = room->dilation[1] = 1;
    p.own = room;
    return p;
}

const op_work *picture_work(const op_work *w, layer_kind kind, as_picture *p)
{
    p->layer = picture_layer(w->layer, kind, &p->own);
    p->in = picture_shape(w->in);
    p->w = *w;
    p->w.layer = &p->layer;
    p->w.in = &p->in;
    p->w.out = picture_shape(&w->out);
    return &p->w;
}

static layer_kind kind_of(const layer_spec *l)
{
    switch (l->kind) {
    case LAYER_MAX_POOLING1D:
        return LAYER_MAX_POOLING2D;
    case LAYER_AVERAGE_POOLING1D:
        return LAYER_AVERAGE_POOLING2D;
    case LAYER_GLOBAL_MAX_POOLING1D:
        return LAYER_GLOBAL_MAX_POOLING2D;
    case LAYER_GLOBAL_AVERAGE_POOLING1D:
        return LAYER_GLOBAL_AVERAGE_POOLING2D;
    default:
        return LAYER_CONV2D;
    }
}

static const op *op_of_picture(const layer_spec *l)
{
    window_layer room;
    layer_spec p = picture_layer(l, kind_of(l), &room);
    return op_of_layer(&p);
}

// Of how many steps an output needs to see; 0: of as many as there are.
static size_t reach_of(const window_layer *w)
{
    bool whole = w->window[0] && w->padding == PADDING_VALID;
    return whole ? (w->window[0] - 1) * (w->dilation[0] ? w->dilation[0] : 1) + 1 : 0;
}

static int infer(const layer_spec *l, size_t n, const row_shape *in, row_shape *out, err *e)
{
    AUTO_BUF have = {0};
    shape_text(in->dims, in->size, &have);
    if (in->dims != 2)
        return err_set(e, ERR_USAGE, "expects rows of two dimensions (steps, channels), got %s",
            buf_cstr(&have));
    size_t reach = is_global(l) ? 0 : reach_of(own(l));
    if (reach > in->size[0])
        return err_set(
            e, ERR_USAGE, "has a window of %zu, larger than its input %s", reach, buf_cstr(&have));
    window_layer room;
    layer_spec as = picture_layer(l, kind_of(l), &room);
    row_shape picture = picture_shape(in), found;
    if (op_of_layer(&as)->infer(&as, n, &picture, &found, e) < 0)
        return -1;
    *out = found.dims == 3 ? (row_shape){2, {found.size[0], found.size[2]}} : found;
    return 0;
}

static size_t parameters(const layer_spec *l, const row_shape *in, op_parameter *out)
{
    window_layer room;
    layer_spec as = picture_layer(l, LAYER_CONV2D, &room);
    row_shape picture = picture_shape(in);
    size_t n = op_of_layer(&as)->parameters(&as, &picture, out);
    size_t *shape = out[KERNEL].shape; // (window, 1, channels, filters)
    memmove(shape + 1, shape + 2, 2 * sizeof *shape);
    out[KERNEL].dims = 3;
    return n;
}

static void reserve(const op_work *w, op_need *need)
{
    as_picture p;
    op_of_picture(w->layer)->reserve(picture_work(w, kind_of(w->layer), &p), need);
}

static void forward(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    as_picture p;
    op_of_picture(w->layer)->forward(picture_work(w, kind_of(w->layer), &p), pass, chunk, scratch);
}

static void backward(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    as_picture p;
    op_of_picture(w->layer)->backward(picture_work(w, kind_of(w->layer), &p), pass, chunk, scratch);
}

static bool halves(const op_work *w)
{
    as_picture p;
    const op *as = op_of_picture(w->layer);
    return as->halves && as->halves(picture_work(w, kind_of(w->layer), &p));
}

static bool by_dnn(const op_work *w)
{
    as_picture p;
    const op *as = op_of_picture(w->layer);
    return as->by_dnn && as->by_dnn(picture_work(w, kind_of(w->layer), &p));
}

static void window_of_steps(const op_work *w, onnx *o)
{
    as_picture p;
    picture_work(w, kind_of(w->layer), &p);
    window v = window_of(&p.layer, &p.in);
    size_t reach = (v.out[0] - 1) * v.stride[0] + (v.size[0] - 1) * v.dilation[0] + 1;
    size_t have = v.in[0] + v.before[0];
    int64_t size = (int64_t)v.size[0], stride = (int64_t)v.stride[0];
    int64_t dilation = (int64_t)v.dilation[0];
    int64_t pads[] = {(int64_t)v.before[0], reach > have ? (int64_t)(reach - have) : 0};
    onnx_set_ints(o, "kernel_shape", 1, &size);
    onnx_set_ints(o, "strides", 1, &stride);
    onnx_set_ints(o, "pads", 2, pads);
    if (dilation > 1)
        onnx_set_ints(o, "dilations", 1, &dilation);
}

static void to_onnx(const op_work *w, onnx *o)
{
    onnx_value x[] = {onnx_take(o, 0, ONNX_FIRST), onnx_weight(o, KERNEL, (int[]){2, 1, 0}), 0};
    if (!own(w->layer)->no_bias)
        x[2] = onnx_weight(o, BIAS, NULL);
    onnx_value z = onnx_node(o, "Conv", own(w->layer)->no_bias ? 2 : 3, x);
    if (own(w->layer)->groups > 1)
        onnx_set_int(o, "group", (int64_t)own(w->layer)->groups);
    window_of_steps(w, o);
    onnx_give(o, op_onnx_activate(o, own(w->layer)->activation, z), ONNX_FIRST);
}

static void pool_to_onnx(const op_work *w, onnx *o)
{
    bool max = w->layer->kind == LAYER_MAX_POOLING1D;
    onnx_value y = ONNX_NODE(o, max ? "MaxPool" : "AveragePool", onnx_take(o, 0, ONNX_FIRST));
    window_of_steps(w, o);
    onnx_give(o, y, ONNX_FIRST);
}

static void global_to_onnx(const op_work *w, onnx *o)
{
    onnx_layout layout = onnx_given(o);
    bool max = w->layer->kind == LAYER_GLOBAL_MAX_POOLING1D;
    onnx_value y = ONNX_NODE(o, max ? "ReduceMax" : "ReduceMean", onnx_take(o, 0, layout));
    onnx_set_ints(o, "axes", 1, &(int64_t){layout == ONNX_FIRST ? 2 : 1});
    onnx_set_int(o, "keepdims", keeps(w->layer));
    onnx_give(o, y, keeps(w->layer) ? layout : ONNX_LAST);
}

static const attribute attributes[] = {WINDOW_FILTERS,
    WINDOW_SIZE(
        "kernel_size", ATTRIBUTE_LENGTH, .required = true, .meaning = "Of the window: of steps."),
    WINDOW_STRIDES(
        ATTRIBUTE_LENGTH, .otherwise = 1, .meaning = "How far the window goes in a step."),
    WINDOW_PADDING(window_paddings_of_steps), WINDOW_DILATION(ATTRIBUTE_LENGTH),
    ATTRIBUTE_OF_ACTIVATION(window_layer), WINDOW_BIAS, WINDOW_GROUPS, {0}};

static const attribute pools[] = {WINDOW_SIZE("pool_size", ATTRIBUTE_LENGTH, .otherwise = 2,
                                      .meaning = "Of the window: of steps."),
    WINDOW_STRIDES(ATTRIBUTE_LENGTH, .signature = "",
        .meaning = "How far the window goes in a step; its own size, where it is not told."),
    WINDOW_PADDING(window_paddings), {0}};

static const attribute globals[] = {
    {"keepdims", ATTRIBUTE_BOOL, offsetof(global_layer, keepdims), .sparse = true,
        .meaning = "Whether the dimensions stay, of size 1."},
    {0}};

const op op_conv1d = {
    .kind = LAYER_CONV1D,
    .is = {.name = "Conv1D",
        .size = sizeof(window_layer),
        .attributes = attributes,
        .places = "filters kernel_size strides padding",
        .ask = "how many filters, of which size? nn.Conv1D { 32, 3 }",
        .about = "A convolution of rows (steps, channels); padding is valid, same or causal.",
        .formula = "the same on (steps, channels); `padding` may be \"causal\": all zeros in "
                   "front, so an output sees no later step",
        .source = "van den Oord and others, arXiv 1609.03499",
        .example = "model = nn.Sequential { nn.Input { 20, 4 }, nn.Conv1D { 8, 3, padding = "
                   "\"causal\" }, nn.GlobalMaxPooling1D {}, nn.Dense { 1 } }\n"
                   "print(model:count_params()) --> 113"},
    .settle = window_check_groups,
    .least = 1,
    .most = 1,
    .infer = infer,
    .parameters = parameters,
    .reserve = reserve,
    .forward = forward,
    .backward = backward,
    .weight = {{"kernel", "kernel"}, {"bias", "bias"}},
    .onnx = to_onnx,
    .halves = halves,
    .by_dnn = by_dnn,
};

const op op_max_pooling1d = {
    .kind = LAYER_MAX_POOLING1D,
    .is = {.name = "MaxPooling1D",
        .size = sizeof(window_layer),
        .attributes = pools,
        .places = "pool_size strides padding",
        .about = "The greatest of each window of steps.",
        .formula = "as MaxPooling2D, on (steps, channels)",
        .source = "Keras 3",
        .example = "model = nn.Sequential { nn.Input { 20, 4 }, nn.MaxPooling1D { 5 }, nn.Flatten "
                   "{}, nn.Dense { 1 } }\n"
                   "print(model:count_params()) --> 17"},
    .settle = window_settle_pool,
    .least = 1,
    .most = 1,
    .infer = infer,
    .reserve = reserve,
    .forward = forward,
    .backward = backward,
    .onnx = pool_to_onnx,
    .halves = halves,
};

const op op_average_pooling1d = {
    .kind = LAYER_AVERAGE_POOLING1D,
    .is = {.name = "AveragePooling1D",
        .size = sizeof(window_layer),
        .attributes = pools,
        .places = "pool_size strides padding",
        .about = "The mean of each window of steps.",
        .formula = "as AveragePooling2D, on (steps, channels)",
        .source = "Keras 3",
        .example = "model = nn.Sequential { nn.Input { 20, 4 }, nn.AveragePooling1D { 5, strides = "
                   "5 }, nn.Flatten {}, nn.Dense { 1 } }\n"
                   "print(model:count_params()) --> 17"},
    .settle = window_settle_pool,
    .least = 1,
    .most = 1,
    .infer = infer,
    .reserve = reserve,
    .forward = forward,
    .backward = backward,
    .onnx = pool_to_onnx,
};

const op op_global_average_pooling1d = {
    .kind = LAYER_GLOBAL_AVERAGE_POOLING1D,
    .is = {.name = "GlobalAveragePooling1D",
        .size = sizeof(global_layer),
        .attributes = globals,
        .about = "The mean of each channel over all steps; keepdims: of one step.",
        .formula = "the mean over the steps",
        .source = "Lin and others, arXiv 1312.4400",
        .example = "model = nn.Sequential { nn.Input { 20, 4 }, nn.Dense { 6 }, "
                   "nn.GlobalAveragePooling1D {}, nn.Dense { 1 } }\n"
                   "print(model:count_params()) --> 37"},
    .least = 1,
    .most = 1,
    .infer = infer,
    .reserve = reserve,
    .forward = forward,
    .backward = backward,
    .onnx = global_to_onnx,
    .halves = halves,
};

const op op_global_max_pooling1d = {
    .kind = LAYER_GLOBAL_MAX_POOLING1D,
    .is = {.name = "GlobalMaxPooling1D",
        .size = sizeof(global_layer),
        .attributes = globals,
        .about = "The greatest of each channel in all steps.",
        .formula = "the greatest over the steps: (steps, channels) → (channels), with `keepdims` → "
                   "(1, channels)",
        .source = "Keras 3",
        .example = "model = nn.Sequential { nn.Input { 20, 4 }, nn.GlobalMaxPooling1D {}, nn.Dense "
                   "{ 1 } }\n"
                   "print(model:count_params()) --> 5"},
    .least = 1,
    .most = 1,
    .infer = infer,
    .reserve = reserve,
    .forward = forward,
    .backward = backward,
    .onnx = global_to_onnx,
    .halves = halves,
};
