// SPDX-License-Identifier: MIT
// Convolutions in which an output sees only some of the channels: Conv2D with `groups`, and
// DepthwiseConv2D, whose groups are the channels.
//
//   y[i, j, g·o + f] = f(Σ over the window and over c < n of x[…, g·n + c]·W[a, b, c, g·o + f] +
//   bias)
//
//   n = channels/groups, o = outputs/groups.  W: Conv2D's (height, width, n, filters);
//   DepthwiseConv2D's (height, width, channels, depth_multiplier), where n is 1: the numbers lie
//   in the same order.
//
//   dz = dy·f'(z);  dx += W·dz and dW += x·dz for each tap;  db = Σ dz
//
// A picture's outputs lie side by side, so the activation takes all of them as one row.
//
// What nn/fuse.h joined to it: a BatchNormalization, another input that is added, a clip.
//
// oneDNN has kernels for them, which are many times quicker (conv2d_dnn.h); the loops here are for
// where it is missing.
//
// Where rows are bf16 they are turned into floats and back, one at a time.
//
// kept: z where backward needs it, then dW and db for each chunk. scratch: what is joined to a
// pixel, then the rows as floats.
#include "trainer/nn/op/conv2d_dnn.h"
#include "trainer/nn/op/normalization.h"
#include "trainer/nn/op/window.h"

#include <string.h>

enum { KERNEL, BIAS };

static const window_layer *own(const layer_spec *l)
{
    return l->own;
}

static bool is_depthwise(const layer_spec *l)
{
    return l->kind == LAYER_DEPTHWISE_CONV2D;
}

static size_t groups_of(const layer_spec *l, const row_shape *in)
{
    return is_depthwise(l) ? in->size[2] : own(l)->groups;
}

static size_t outputs_of(const layer_spec *l, const row_shape *in)
{
    return is_depthwise(l) ? in->size[2] * own(l)->multiplier : own(l)->units;
}

static int infer(const layer_spec *l, size_t n, const row_shape *in, row_shape *out, err *e)
{
    window w;
    if (own(l)->activation == ACTIVATION_SOFTMAX)
        return err_set(e, ERR_USAGE, "has softmax, which expects rows of one dimension");
    if (is_depthwise(l) ? own(l)->multiplier < 1 || own(l)->multiplier > 4096 : !own(l)->units)
        return err_set(e, ERR_USAGE,
            is_depthwise(l) ? "must have a depth_multiplier from 1 to 4096"
                            : "must have between 1 and 16777216 filters");
    if (window_new(l, in, &w, e) < 0)
        return -1;
    if (!is_depthwise(l) && (in->size[2] % own(l)->groups || own(l)->units % own(l)->groups))
        return err_set(e, ERR_USAGE,
            "has %zu groups, which must divide its %zu filters and the %zu channels of its input",
            own(l)->groups, own(l)->units, in->size[2]);
    *out = (row_shape){3, {w.out[0], w.out[1], outputs_of(l, in)}};
    return 0;
}

// Fans are Keras's, which takes the last dimension of any kernel for its outputs.
static size_t parameters(const layer_spec *l, const row_shape *in, op_parameter *out)
{
    size_t field = own(l)->window[0] * own(l)->window[1];
    size_t from = is_depthwise(l) ? in->size[2] : in->size[2] / own(l)->groups;
    size_t to = is_depthwise(l) ? own(l)->multiplier : own(l)->units;
    out[KERNEL] = (op_parameter){.name = "kernel",
        .dims = 4,
        .shape = {own(l)->window[0], own(l)->window[1], from, to},
        .start = START_GLOROT,
        .fan_in = field * from,
        .fan_out = field * to,
        .multiplied = true};
    out[BIAS] = (op_parameter){.name = "bias", .dims = 1, .shape = {outputs_of(l, in)}};
    return own(l)->no_bias ? 1 : 2;
}

struct sizes {
    size_t groups, inputs, outputs; // of a group
    size_t all, kernel, chunks;     // outputs of all groups; numbers in W
    float *z, *partial, *bias;      // in kept
};

// What the layer says alone: a model need not be planned for that.
static struct sizes parts_of(const op_work *w)
{
    const layer_spec *l = w->layer;
    struct sizes s = {.groups = groups_of(l, w->in), .all = outputs_of(l, w->in)};
    s.inputs = w->in->size[2] / s.groups;
    s.outputs = s.all / s.groups;
    s.kernel = own(l)->window[0] * own(l)->window[1] * s.inputs * s.all;
    return s;
}

static struct sizes sizes_of(const op_work *w)
{
    struct sizes s = parts_of(w);
    s.chunks = op_by_rows(w).chunks;
    s.z = w->kept;
    s.partial = s.z + (activation_is_of_output(w->f) ? 0 : w->rows * w->ldy);
    s.bias = s.partial + (w->fixed[KERNEL] ? 0 : s.chunks * s.kernel);
    return s;
}

static bool is_joined(const op_work *w)
{
    return w->norm || w->inputs > 1 || w->clip;
}

static size_t pixel_room(const op_work *w, const struct sizes *s)
{
    return is_joined(w) ? 4 * op_round(s->all, 16) : 0;
}

// Row r of a buffer, in *room where it is not there as floats; room goes on behind it.
static float *floats_of(
    const op_work *w, const float *buffer, size_t ld, size_t r, size_t n, float **room)
{
    float *row = *room;
    if (!w->half)
        return (float *)(uintptr_t)buffer + r * ld;
    w->cpu->widen(row, op_at(w, buffer, ld, r), n);
    *room += ld;
    return row;
}

static void reserve(const op_work *w, op_need *need)
{
    if (w->by_dnn) {
        conv2d_dnn_reserve(w, need);
        return;
    }
    struct sizes s = sizes_of(w);
    need->forward[0] = need->backward[0] = op_by_rows(w);
    need->backward[1].chunks = op_trains(w, own(w->layer)->no_bias ? 1 : 2);
    need->reads_x = !w->fixed[KERNEL];
    need->scratch = pixel_room(w, &s) + (w->half ? 2 * (w->ldx[0] + w->ldy) : 0);
    need->reads_y = w->f != ACTIVATION_LINEAR && activation_is_of_output(w->f);
    need->kept = (size_t)(s.bias - s.z) + s.chunks * s.all;
}

// One tap of the window: y += x·k, group by group.
static void add_tap(const struct sizes *s, float *y, const float *x, const float *k)
{
    if (s->inputs == 1 && s->outputs == 1) {
        for (size_t c = 0; c < s->all; c++)
            y[c] += x[c] * k[c];
        return;
    }
    for (size_t g = 0; g < s->groups; g++)
        for (size_t c = 0; c < s->inputs; c++) {
            float value = x[g * s->inputs + c];
            const float *row = k + c * s->all + g * s->outputs;
            for (size_t f = 0; f < s->outputs; f++)
                y[g * s->outputs + f] += value * row[f];
        }
}

// Its way back: dk += x·d and dx += k·d where somebody wants it.
static void derive_tap(
    const struct sizes *s, const float *d, const float *x, const float *k, float *dx, float *dk)
{
    if (s->inputs == 1 && s->outputs == 1) {
        for (size_t c = 0; dk && c < s->all; c++)
            dk[c] += x[c] * d[c];
        for (size_t c = 0; dx && c < s->all; c++)
            dx[c] += k[c] * d[c];
        return;
    }
    for (size_t g = 0; g < s->groups; g++)
        for (size_t c = 0; c < s->inputs; c++) {
            size_t at = c * s->all + g * s->outputs;
            float value = dk ? x[g * s->inputs + c] : 0, sum = 0;
            for (size_t f = 0; dk && f < s->outputs; f++)
                dk[at + f] += value * d[g * s->outputs + f];
            for (size_t f = 0; dx && f < s->outputs; f++)
                sum += k[at + f] * d[g * s->outputs + f];
            if (dx)
                dx[g * s->inputs + c] += sum;
        }
}

// One pixel's outputs go through what is joined to it, from scratch to y.
static channel_map map_of(const op_work *w, const struct sizes *s, float *scratch)
{
    size_t room = op_round(s->all, 16);
    float *mean = scratch + room, *scale = mean + room, *shift = scale + room;
    for (size_t c = 0; c < s->all; c++) {
        mean[c] = shift[c] = 0;
        scale[c] = 1;
    }
    if (w->norm)
        norm_fold(w, 0, s->all, scale, shift);
    return (channel_map){
        .mean = mean, .scale = scale, .shift = shift, .clip = w->clip, .most = w->most};
}

static void forward_picture(const op_work *w, const window *v, const struct sizes *s, size_t r,
    const channel_map *map, float *scratch)
{
    size_t n = shape_size(&w->out);
    const float *kernel = w->w + w->at[KERNEL];
    float *room = scratch + pixel_room(w, s), *whole = op_at(w, w->y, w->ldy, r);
    const float *x = floats_of(w, w->x[0], w->ldx[0], r, shape_size(w->in), &room);
    const float *other = w->inputs > 1 ? floats_of(w, w->x[1], w->ldx[1], r, n, &room) : NULL;
    float *y = w->half ? room : whole;
    for (size_t p = 0; p < v->out[0] * v->out[1]; p++) {
        float *out = map ? scratch : y + p * s->all;
        if (own(w->layer)->no_bias)
            memset(out, 0, s->all * sizeof *out);
        else
            memcpy(out, w->w + w->at[BIAS], s->all * sizeof *out);
        for (size_t t = 0; t < v->size[0] * v->size[1]; t++) {
            size_t at = window_at(v, p / v->out[1], p % v->out[1], t / v->size[1], t % v->size[1]);
            if (at != SIZE_MAX)
                add_tap(s, out, x + at, kernel + t * s->inputs * s->all);
        }
        if (map)
            w->cpu->channels[false]->scale_shift(
                map, y + p * s->all, out, other ? other + p * s->all : NULL, 1, s->all);
    }
    if (w->half)
        w->cpu->halve((uint16_t *)(void *)whole, y, n);
    op_activate(w, whole, op_at(w, s->z, w->ldy, r), w->ldy, 1, n);
}

static void forward(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    if (w->by_dnn) {
        conv2d_dnn_forward(w, pass, chunk, scratch);
        return;
    }
    struct sizes s = sizes_of(w);
    window v = window_of(w->layer, w->in);
    channel_map map = is_joined(w) ? map_of(w, &s, scratch) : (channel_map){0};
    for (size_t r = op_from(w, chunk); r < op_to(w, chunk); r++)
        forward_picture(w, &v, &s, r, is_joined(w) ? &map : NULL, scratch);
}

static void backward_picture(const op_work *w, const window *v, const struct sizes *s, size_t chunk,
    size_t r, float *scratch)
{
    size_t n = shape_size(w->in), all = shape_size(&w->out);
    const float *kernel = w->w + w->at[KERNEL];
    float *room = scratch, *slopes = w->fixed[KERNEL] ? NULL : s->partial + chunk * s->kernel,
          *bias = s->bias + chunk * s->all;
    op_derive(w, op_at(w, w->dy, w->ldy, r), op_at(w, w->y, w->ldy, r), op_at(w, s->z, w->ldy, r),
        w->ldy, 1, all);
    const float *x = floats_of(w, w->x[0], w->ldx[0], r, n, &room);
    const float *d = floats_of(w, w->dy, w->ldy, r, all, &room);
    float *dx = !w->dx[0] ? NULL : w->half ? room : w->dx[0] + r * w->ldx[0];
    if (dx && (w->half || !w->add[0]))
        memset(dx, 0, n * sizeof *dx);
    for (size_t p = 0; p < v->out[0] * v->out[1]; p++, d += s->all) {
        for (size_t f = 0; f < s->all; f++)
            bias[f] += d[f];
        for (size_t t = 0; t < v->size[0] * v->size[1]; t++) {
            size_t at = window_at(v, p / v->out[1], p % v->out[1], t / v->size[1], t % v->size[1]);
            size_t tap = t * s->inputs * s->all;
            if (at != SIZE_MAX)
                derive_tap(
                    s, d, x + at, kernel + tap, dx ? dx + at : NULL, slopes ? slopes + tap : NULL);
        }
    }
    if (dx && w->half) { // where x was
        w->cpu->halve((uint16_t *)(void *)scratch, dx, n);
        op_give(w, 0, scratch, w->ldx[0], r, r + 1);
    }
}

static void backward(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    if (w->by_dnn) {
        conv2d_dnn_backward(w, pass, chunk, scratch);
        return;
    }
    struct sizes s = sizes_of(w);
    window v = window_of(w->layer, w->in);
    if (pass == 1) {
        if (!w->fixed[KERNEL])
            op_sum(w->g + w->at[KERNEL], s.partial, s.kernel, s.chunks);
        if (!own(w->layer)->no_bias && !w->fixed[BIAS])
            op_sum(w->g + w->at[BIAS], s.bias, s.all, s.chunks);
        return;
    }
    if (!w->fixed[KERNEL])
        memset(s.partial + chunk * s.kernel, 0, s.kernel * sizeof *s.partial);
    memset(s.bias + chunk * s.all, 0, s.all * sizeof *s.bias);
    for (size_t r = op_from(w, chunk); r < op_to(w, chunk); r++)
        backward_picture(w, &v, &s, chunk, r, scratch);
}

// W as (outputs, channels of a group, height, width).
static onnx_value kernel_to_onnx(const op_work *w, const struct sizes *s, onnx *o)
{
    if (!is_depthwise(w->layer))
        return onnx_weight(o, KERNEL, (int[]){3, 2, 0, 1});
    int64_t shape[] = {
        (int64_t)s->all, 1, (int64_t)own(w->layer)->window[0], (int64_t)own(w->layer)->window[1]};
    onnx_value kernel = onnx_weight(o, KERNEL, (int[]){2, 3, 0, 1});
    return s->outputs == 1 ? kernel
                           : ONNX_NODE(o, "Reshape", kernel, onnx_list(o, "shape", 4, shape));
}

static void to_onnx(const op_work *w, onnx *o)
{
    window v = window_of(w->layer, w->in);
    struct sizes s = parts_of(w);
    onnx_value x[] = {onnx_take(o, 0, ONNX_FIRST), kernel_to_onnx(w, &s, o), 0};
    if (!own(w->layer)->no_bias)
        x[2] = onnx_weight(o, BIAS, NULL);
    onnx_value z = onnx_node(o, "Conv", own(w->layer)->no_bias ? 2 : 3, x);
    onnx_set_int(o, "group", (int64_t)s.groups);
    window_to_onnx(&v, o);
    onnx_give(o, op_onnx_activate(o, own(w->layer)->activation, z), ONNX_FIRST);
}

static const attribute attributes[] = {
    WINDOW_SIZE("kernel_size", ATTRIBUTE_PAIR, .required = true,
        .meaning = "Of the window: one number, or {height, width}."),
    WINDOW_STRIDES(ATTRIBUTE_PAIR, .otherwise = 1, .meaning = "How far the window goes in a step."),
    WINDOW_PADDING(window_paddings), WINDOW_DILATION(ATTRIBUTE_PAIR), WINDOW_MULTIPLIER,
    ATTRIBUTE_OF_ACTIVATION(window_layer), WINDOW_BIAS, {0}};

const op op_depthwise_conv2d = {
    .kind = LAYER_DEPTHWISE_CONV2D,
    .is = {.name = "DepthwiseConv2D",
        .size = sizeof(window_layer),
        .attributes = attributes,
        .places = "kernel_size strides padding depth_multiplier",
        .ask = "of which size? nn.DepthwiseConv2D { 3 }",
        .about = "A convolution of each channel by itself.",
        .formula =
            "each channel by itself: `depth_multiplier` outputs for each, otherwise as Conv2D",
        .source = "Chollet, arXiv 1610.02357",
        .example = "model = nn.Sequential { nn.Input { 28, 28, 3 }, nn.DepthwiseConv2D { 3, "
                   "strides = 2 }, nn.Flatten {}, nn.Dense { 10 } }\n"
                   "print(model:count_params()) --> 5110"},
    .least = 1,
    .most = 1,
    .infer = infer,
    .parameters = parameters,
    .reserve = reserve,
    .forward = forward,
    .backward = backward,
    .weight = {{"depthwise", "kernel"}, {"bias", "bias"}},
    .onnx = to_onnx,
    .halves = conv2d_by_dnn,
    .by_dnn = conv2d_by_dnn,
};
