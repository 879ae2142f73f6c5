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

// The layer with windows of one column: of `kind`, its window, strides and dilation in the first
// direction alone.
static layer_spec picture_layer(const layer_spec *l, layer_kind kind)
{
    layer_spec p = *l;
    p.kind = kind;
    p.window[0] = l->window[0] ? l->window[0] : 1;
    p.stride[0] = l->stride[0] ? l->stride[0] : 1;
    p.window[1] = p.stride[1] = p.dilation[1] = 1;
    return p;
}

const op_work *picture_work(const op_work *w, layer_kind kind, as_picture *p)
{
    p->layer = picture_layer(w->layer, kind);
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
    layer_spec p = picture_layer(l, kind_of(l));
    return op_of_layer(&p);
}

static int infer(const layer_spec *l, size_t n, const row_shape *in, row_shape *out, err *e)
{
    AUTO_BUF have = {0};
    shape_text(in->dims, in->size, &have);
    if (in->dims != 2)
        return err_set(e, ERR_USAGE, "expects rows of two dimensions (steps, channels), got %s",
            buf_cstr(&have));
    size_t reach = (l->window[0] - 1) * (l->dilation[0] ? l->dilation[0] : 1) + 1;
    if (l->window[0] && !l->same && !l->causal && reach > in->size[0])
        return err_set(
            e, ERR_USAGE, "has a window of %zu, larger than its input %s", reach, buf_cstr(&have));
    layer_spec as = picture_layer(l, kind_of(l));
    row_shape picture = picture_shape(in), found;
    if (op_of_layer(&as)->infer(&as, n, &picture, &found, e) < 0)
        return -1;
    *out = found.dims == 3 ? (row_shape){2, {found.size[0], found.size[2]}} : found;
    return 0;
}

static size_t parameters(const layer_spec *l, const row_shape *in, op_parameter *out)
{
    layer_spec as = picture_layer(l, LAYER_CONV2D);
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

static void write_window(const layer_spec *l, const char *size, cJSON *j)
{
    op_write_sizes(j, size, l->window, 1);
    op_write_sizes(j, "strides", l->stride, 1);
    json_set_str(j, "padding", l->causal ? "causal" : l->same ? "same" : "valid");
    if (l->dilation[0])
        op_write_sizes(j, "dilation_rate", l->dilation, 1);
}

static void write(const layer_spec *l, cJSON *j)
{
    json_set_int(j, "filters", (int64_t)l->units);
    write_window(l, "kernel_size", j);
    json_set_str(j, "activation", activation_name(l->activation));
    json_set_bool(j, "use_bias", !l->no_bias);
    if (l->groups > 1)
        json_set_int(j, "groups", (int64_t)l->groups);
}

static void write_pool(const layer_spec *l, cJSON *j)
{
    write_window(l, "pool_size", j);
}

static void write_global(const layer_spec *l, cJSON *j)
{
    if (l->keepdims)
        json_set_bool(j, "keepdims", true);
}

static int read(layer_spec *l, const cJSON *j, err *e)
{
    l->causal = strcmp(json_str_or(j, "padding", ""), "causal") == 0;
    return op_of(LAYER_CONV2D)->read(l, j, e);
}

static int read_pool(layer_spec *l, const cJSON *j, err *e)
{
    return window_read(l, "pool_size", j, e);
}

static int read_global(layer_spec *l, const cJSON *j, err *e)
{
    l->keepdims = json_bool_or(j, "keepdims", false);
    return 0;
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
    if (!w->layer->no_bias)
        x[2] = onnx_weight(o, BIAS, NULL);
    onnx_value z = onnx_node(o, "Conv", w->layer->no_bias ? 2 : 3, x);
    if (w->layer->groups > 1)
        onnx_set_int(o, "group", (int64_t)w->layer->groups);
    window_of_steps(w, o);
    onnx_give(o, op_onnx_activate(o, w->layer->activation, z), ONNX_FIRST);
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
    onnx_set_int(o, "keepdims", w->layer->keepdims);
    onnx_give(o, y, w->layer->keepdims ? layout : ONNX_LAST);
}

const op op_conv1d = {
    .kind = LAYER_CONV1D,
    .least = 1,
    .most = 1,
    .infer = infer,
    .parameters = parameters,
    .reserve = reserve,
    .forward = forward,
    .backward = backward,
    .write = write,
    .read = read,
    .weight = {{"kernel", "kernel"}, {"bias", "bias"}},
    .onnx = to_onnx,
    .halves = halves,
    .by_dnn = by_dnn,
};

const op op_max_pooling1d = {
    .kind = LAYER_MAX_POOLING1D,
    .least = 1,
    .most = 1,
    .infer = infer,
    .reserve = reserve,
    .forward = forward,
    .backward = backward,
    .write = write_pool,
    .read = read_pool,
    .onnx = pool_to_onnx,
    .halves = halves,
};

const op op_average_pooling1d = {
    .kind = LAYER_AVERAGE_POOLING1D,
    .least = 1,
    .most = 1,
    .infer = infer,
    .reserve = reserve,
    .forward = forward,
    .backward = backward,
    .write = write_pool,
    .read = read_pool,
    .onnx = pool_to_onnx,
};

const op op_global_average_pooling1d = {
    .kind = LAYER_GLOBAL_AVERAGE_POOLING1D,
    .least = 1,
    .most = 1,
    .infer = infer,
    .reserve = reserve,
    .forward = forward,
    .backward = backward,
    .write = write_global,
    .read = read_global,
    .onnx = global_to_onnx,
    .halves = halves,
};

const op op_global_max_pooling1d = {
    .kind = LAYER_GLOBAL_MAX_POOLING1D,
    .least = 1,
    .most = 1,
    .infer = infer,
    .reserve = reserve,
    .forward = forward,
    .backward = backward,
    .write = write_global,
    .read = read_global,
    .onnx = global_to_onnx,
    .halves = halves,
};
