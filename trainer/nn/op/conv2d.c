// SPDX-License-Identifier: MIT
// Conv2D: y[i, j] = f(Σ over the window of x[i·s + a, j·t + b]·W[a, b] + bias)
//
//   x (n, height, width, channels), W (height, width, channels, filters) of the window
//
// As a product: a patch is what the window covers, a row of (taps · channels) numbers; patches·W is
// the output. Patches are made a few at a time, so that they stay in the cache.
//
//   dz = dy·f'(z);  dx: dz·Wᵀ, each number added where the patch had it from;  dW = patchesᵀ·dz
//
// With groups or of one channel each it is another operation, op_grouped_conv2d.
//
// What nn/fuse.h joined to it: a BatchNormalization, another input that is added, a clip.
//
// kept: z where backward needs it. backward_only: W transposed, dW and db for each chunk.
#include "trainer/cpu/bf16.h"
#include "trainer/nn/op/conv2d_dnn.h"
#include "trainer/nn/op/normalization.h"
#include "trainer/nn/op/window.h"

#include <string.h>

enum { KERNEL, BIAS, PATCHES = 96 };

static const window_layer *own(const layer_spec *l)
{
    return l->own;
}

static int infer(const layer_spec *l, size_t n, const row_shape *in, row_shape *out, err *e)
{
    window w;
    if (own(l)->activation == ACTIVATION_SOFTMAX)
        return err_set(e, ERR_USAGE, "has softmax, which expects rows of one dimension");
    if (!own(l)->units)
        return err_set(e, ERR_USAGE, "must have between 1 and 16777216 filters");
    if (window_new(l, in, &w, e) < 0)
        return -1;
    *out = (row_shape){3, {w.out[0], w.out[1], own(l)->units}};
    return 0;
}

static size_t taps(const layer_spec *l, const row_shape *in)
{
    return own(l)->window[0] * own(l)->window[1] * in->size[2];
}

static size_t parameters(const layer_spec *l, const row_shape *in, op_parameter *out)
{
    size_t field = own(l)->window[0] * own(l)->window[1];
    out[KERNEL] = (op_parameter){.name = "kernel",
        .dims = 4,
        .shape = {own(l)->window[0], own(l)->window[1], in->size[2], own(l)->units},
        .start = START_GLOROT,
        .fan_in = field * in->size[2],
        .fan_out = field * own(l)->units,
        .panels = true};
    out[BIAS] = (op_parameter){.name = "bias", .dims = 1, .shape = {own(l)->units}};
    return own(l)->no_bias ? 1 : 2;
}

// The sizes of everything: a picture's pixels, a patch, filters with their padding.
struct sizes {
    size_t pixels, patch, ld, units, filters, chunks;
    float *z;                        // in kept
    float *flipped, *partial, *bias; // in backward_only
};

static struct sizes sizes_of(const op_work *w)
{
    size_t pixels = w->out.size[0] * w->out.size[1], patch = taps(w->layer, w->in);
    size_t units = own(w->layer)->units, filters = op_round(units, 16);
    struct sizes s = {.pixels = pixels,
        .patch = patch,
        .ld = op_round(patch, 16),
        .units = units,
        .filters = filters,
        .chunks = op_by_rows(w).chunks};
    s.z = w->kept;
    s.flipped = w->backward_only;
    s.partial = s.flipped + s.ld * units;
    s.bias = s.partial + (w->fixed[KERNEL] ? 0 : s.chunks * patch * filters);
    return s;
}

static bool trains_bias(const op_work *w)
{
    return !own(w->layer)->no_bias && !w->fixed[BIAS];
}

static void reserve(const op_work *w, op_need *need)
{
    if (w->by_dnn) {
        conv2d_dnn_reserve(w, need);
        return;
    }
    struct sizes s = sizes_of(w);
    size_t slices = (s.patch + PANEL - 1) / PANEL;
    need->forward[0] = op_by_rows(w);
    need->backward[0].chunks = w->dx && w->dx[0] ? slices : 0;
    // A pass without chunks ends the list.
    need->backward[need->backward[0].chunks ? 1 : 0] = op_by_rows(w);
    need->backward[need->backward[1].chunks ? 2 : 1].chunks = conv2d_trains(w) ? slices : 0;
    need->reads_x = !w->fixed[KERNEL];
    need->reads_y = w->f != ACTIVATION_LINEAR && activation_is_of_output(w->f);
    need->kept = activation_is_of_output(w->f) ? 0 : w->rows * w->ldy;
    need->backward_only = (size_t)(s.bias - s.flipped) + s.chunks * s.filters;
    need->scratch =
        PATCHES * (s.ld + 2 * s.filters) + 2 * s.filters + (w->half ? 3 * w->ldx[0] : 0);
}

// Where a patch begins in the picture: the window's taps of one row lie side by side in memory.
struct corner {
    size_t row, column; // beyond the picture's sizes: in the padding in front
    bool inside;        // all columns of the window are in the picture
};

static struct corner corner_of(const window *v, size_t p)
{
    size_t column = p % v->out[1] * v->stride[1] - v->before[1];
    return (struct corner){.row = p / v->out[1] * v->stride[0] - v->before[0],
        .column = column,
        .inside = v->dilation[1] == 1 && column < v->in[1] && v->in[1] - column >= v->size[1]};
}

// Patches [from, from + n) of a picture, s->ld apart.
static void gather(
    const window *v, const struct sizes *s, const float *x, float *patches, size_t from, size_t n)
{
    size_t run = v->size[1] * v->channels;
    for (size_t p = from; p < from + n; p++) {
        struct corner at = corner_of(v, p);
        float *to = patches + (p - from) * s->ld;
        for (size_t i = 0; i < v->size[0]; i++, to += run) {
            size_t row = at.row + i * v->dilation[0];
            if (row < v->in[0] && at.inside) {
                memcpy(to, x + (row * v->in[1] + at.column) * v->channels, run * sizeof *to);
                continue;
            }
            memset(to, 0, run * sizeof *to);
            for (size_t j = 0; row < v->in[0] && j < v->size[1]; j++) {
                size_t column = at.column + j * v->dilation[1];
                if (column < v->in[1])
                    memcpy(to + j * v->channels, x + (row * v->in[1] + column) * v->channels,
                        v->channels * sizeof *to);
            }
        }
    }
}

// Adds the patches' gradients where their numbers came from.
static void scatter(
    const window *v, const struct sizes *s, float *dx, const float *patches, size_t from, size_t n)
{
    size_t run = v->size[1] * v->channels;
    for (size_t p = from; p < from + n; p++) {
        struct corner at = corner_of(v, p);
        const float *d = patches + (p - from) * s->ld;
        for (size_t i = 0; i < v->size[0]; i++, d += run) {
            size_t row = at.row + i * v->dilation[0];
            for (size_t j = 0; row < v->in[0] && j < v->size[1]; j++) {
                size_t column = at.column + j * v->dilation[1];
                if (column >= v->in[1])
                    continue;
                float *to = dx + (row * v->in[1] + column) * v->channels;
                size_t count = at.inside ? run : v->channels;
                for (size_t c = 0; c < count; c++)
                    to[c] += d[j * v->channels + c];
                if (at.inside)
                    break;
            }
        }
    }
}

// y = x·w for all panels of w, which has `columns` columns; zero where it starts without a bias.
static void multiply(const op_work *w, product p, size_t columns, bool bias)
{
    static const float no_bias[PANEL] __attribute__((aligned(64)));
    size_t all = op_round(columns, 16);
    for (size_t c = 0; c < all; c += PANEL) {
        product part = p;
        part.y += c;
        part.w += c * p.inputs;
        part.bias = bias ? p.bias + c : no_bias;
        part.width = all - c < PANEL ? all - c : PANEL;
        w->cpu->multiply(&part);
    }
}

// Behind what a picture's patches need in scratch: scale and shift of a normalisation, then a row
// of floats where pictures are bf16.
static float *behind(const struct sizes *s, float *scratch)
{
    return scratch + PATCHES * (s->ld + 2 * s->filters);
}

static const float *picture(const op_work *w, const struct sizes *s, size_t r, float *scratch)
{
    float *room = behind(s, scratch) + 2 * s->filters;
    const void *x = op_at(w, w->x[0], w->ldx[0], r);
    if (!w->half)
        return x;
    w->cpu->widen(room, x, shape_size(w->in));
    return room;
}

// n pixels from p on of the output; what is joined comes first.
static void put(const op_work *w, const struct sizes *s, size_t r, size_t p, size_t n, float *out,
    const float *scale)
{
    for (size_t i = 0; i < n; i++, out += s->filters) {
        size_t at = (p + i) * s->units;
        char *y = (char *)op_at(w, w->y, w->ldy, r) + op_bytes(w, at);
        const char *x = w->inputs > 1 ? op_at(w, w->x[1], w->ldx[1], r) : NULL;
        for (size_t c = 0; w->norm && c < s->units; c++)
            out[c] = out[c] * scale[c] + scale[s->filters + c];
        for (size_t c = 0; x && c < s->units; c++)
            out[c] += w->half ? bf16_value(((const uint16_t *)(const void *)x)[at + c])
                              : ((const float *)(const void *)x)[at + c];
        for (size_t c = 0; w->clip && c < s->units; c++) {
            float positive = out[c] < 0 ? 0 : out[c]; // nan stays
            out[c] = positive > w->most ? w->most : positive;
        }
        if (w->half)
            w->cpu->halve((uint16_t *)(void *)y, out, s->units);
        else
            memcpy(y, out, s->units * sizeof *out);
    }
}

static void forward_picture(
    const op_work *w, const window *v, const struct sizes *s, size_t r, float *scratch)
{
    float *out = scratch + PATCHES * s->ld, *z = out + PATCHES * s->filters;
    const float *x = picture(w, s, r, scratch);
    for (size_t p = 0; p < s->pixels; p += PATCHES) {
        size_t n = s->pixels - p < PATCHES ? s->pixels - p : PATCHES;
        gather(v, s, x, scratch, p, n);
        multiply(w,
            (product){.y = out,
                .ldy = s->filters,
                .x = scratch,
                .ldx = s->ld,
                .w = w->w + w->at[KERNEL],
                .bias = w->w + w->at[BIAS],
                .rows = n,
                .inputs = s->patch},
            s->units, !own(w->layer)->no_bias);
        if (!activation_is_of_output(w->f)) {
            memcpy(z, out, n * s->filters * sizeof *z);
            for (size_t i = 0; i < n; i++)
                memcpy(s->z + r * w->ldy + (p + i) * s->units, z + i * s->filters,
                    s->units * sizeof *z);
        }
        if (w->f != ACTIVATION_LINEAR)
            w->cpu->activate(w->f, out, s->filters, n, s->filters);
        put(w, s, r, p, n, out, behind(s, scratch));
    }
}

static void forward(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    if (w->by_dnn) {
        conv2d_dnn_forward(w, pass, chunk, scratch);
        return;
    }
    struct sizes s = sizes_of(w);
    window v = window_of(w->layer, w->in);
    if (w->norm)
        norm_fold(w, 0, s.units, behind(&s, scratch), behind(&s, scratch) + s.filters);
    for (size_t r = op_from(w, chunk); r < op_to(w, chunk); r++)
        forward_picture(w, &v, &s, r, scratch);
}

// Wᵀ (filters, patch) in panels of 64 columns, for one slice of 64.
static void flip(const op_work *w, const struct sizes *s, size_t slice)
{
    size_t c = slice * PANEL, left = s->ld - c, width = left < PANEL ? left : PANEL;
    size_t n = s->patch - c < PANEL ? s->patch - c : PANEL;
    float *to = s->flipped + c * s->units;
    if (n < width)
        memset(to, 0, s->units * width * sizeof *to);
    for (size_t u = 0; u < s->units; u += PANEL) {
        size_t wide = s->filters - u < PANEL ? s->filters - u : PANEL;
        size_t columns = s->units - u < PANEL ? s->units - u : PANEL;
        transpose_f32(to + u * width, width, w->w + w->at[KERNEL] + u * s->patch + c * wide, wide,
            n, columns);
    }
}

// n numbers of row r, as floats.
static void take(const op_work *w, float *to, const float *buffer, size_t r, size_t at, size_t n)
{
    const char *from = (const char *)op_at(w, buffer, w->ldy, r) + op_bytes(w, at);
    if (w->half)
        w->cpu->widen(to, (const uint16_t *)(const void *)from, n);
    else
        memcpy(to, from, n * sizeof *to);
}

// dz of some pixels as rows of whole cache lines.
static void derive(
    const op_work *w, const struct sizes *s, size_t r, size_t p, size_t n, float *dz, float *of)
{
    const float *source = activation_is_of_output(w->f) ? w->y : s->z;
    for (size_t i = 0; i < n; i++) {
        size_t at = (p + i) * s->units;
        memset(dz + i * s->filters, 0, s->filters * sizeof *dz);
        take(w, dz + i * s->filters, w->dy, r, at, s->units);
        if (w->f != ACTIVATION_LINEAR)
            take(w, of + i * s->filters, source, r, at, s->units);
    }
    if (w->f != ACTIVATION_LINEAR)
        w->cpu->derive(w->f, dz, s->filters, of, s->filters, n, s->filters);
    for (size_t i = 0; i < n && s->units < s->filters; i++)
        memset(dz + i * s->filters + s->units, 0, (s->filters - s->units) * sizeof *dz);
}

// The update that adds a gradient to a sum.
static const update add_up = {.rule = UPDATE_ADD};

// dW and db of some pixels, added to the chunk's own.
static void train(const op_work *w, const struct sizes *s, size_t chunk, const float *patches,
    const float *dz, size_t n)
{
    float *kernel = s->partial + chunk * s->patch * s->filters,
          *bias = s->bias + chunk * s->filters;
    for (size_t c = 0; c < s->filters; c += PANEL) {
        size_t width = s->filters - c < PANEL ? s->filters - c : PANEL;
        if (trains_bias(w))
            w->cpu->train_bias(&add_up, (params){.g = bias + c}, dz + c, s->filters, n, width);
        if (w->fixed[KERNEL])
            continue;
        w->cpu->train(&(gradient){.to = {.g = kernel + c * s->patch},
            .x = patches,
            .ldx = s->ld,
            .d = dz + c,
            .ldd = s->filters,
            .rows = n,
            .inputs = s->patch,
            .width = width,
            .rule = &add_up});
    }
}

static void backward_picture(const op_work *w, const window *v, const struct sizes *s, size_t chunk,
    size_t r, float *scratch)
{
    float *dz = scratch + PATCHES * s->ld, *of = dz + PATCHES * s->filters;
    const float *x = w->fixed[KERNEL] ? NULL : picture(w, s, r, scratch);
    float *sum = w->half ? behind(s, scratch) + 2 * s->filters + w->ldx[0] : NULL;
    float *dx = w->dx[0] ? sum ? sum : w->dx[0] + r * w->ldx[0] : NULL;
    if (dx && (sum || !w->add[0]))
        memset(dx, 0, shape_size(w->in) * sizeof *dx);
    for (size_t p = 0; p < s->pixels; p += PATCHES) {
        size_t n = s->pixels - p < PATCHES ? s->pixels - p : PATCHES;
        derive(w, s, r, p, n, dz, of);
        if (!w->fixed[KERNEL])
            gather(v, s, x, scratch, p, n);
        train(w, s, chunk, scratch, dz, n);
        if (!dx)
            continue;
        multiply(w,
            (product){.y = scratch,
                .ldy = s->ld,
                .x = dz,
                .ldx = s->filters,
                .w = s->flipped,
                .rows = n,
                .inputs = s->units},
            s->patch, false);
        scatter(v, s, dx, scratch, p, n);
    }
    if (dx && sum) {
        uint16_t *half = (uint16_t *)(void *)(sum + w->ldx[0]);
        w->cpu->halve(half, sum, shape_size(w->in));
        op_give(w, 0, half, w->ldx[0], r, r + 1);
    }
}

static void backward_rows(const op_work *w, const struct sizes *s, size_t chunk, float *scratch)
{
    window v = window_of(w->layer, w->in);
    if (!w->fixed[KERNEL])
        memset(s->partial + chunk * s->patch * s->filters, 0,
            s->patch * s->filters * sizeof *s->partial);
    memset(s->bias + chunk * s->filters, 0, s->filters * sizeof *s->bias);
    for (size_t r = op_from(w, chunk); r < op_to(w, chunk); r++)
        backward_picture(w, &v, s, chunk, r, scratch);
}

// Sums a part of the kernel's gradient over the chunks.
static void sum_up(const op_work *w, const struct sizes *s, size_t part)
{
    size_t all = s->patch * s->filters, from = part * PANEL * s->filters;
    size_t to = from + PANEL * s->filters < all ? from + PANEL * s->filters : all;
    float *g = w->g + w->at[KERNEL];
    if (!w->fixed[KERNEL])
        memcpy(g + from, s->partial + from, (to - from) * sizeof *g);
    for (size_t i = 1; i < s->chunks && !w->fixed[KERNEL]; i++)
        for (size_t k = from; k < to; k++)
            g[k] += s->partial[i * all + k];
    if (part == 0 && trains_bias(w))
        op_sum(w->g + w->at[BIAS], s->bias, s->filters, s->chunks);
}

static void backward(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    if (w->by_dnn) {
        conv2d_dnn_backward(w, pass, chunk, scratch);
        return;
    }
    struct sizes s = sizes_of(w);
    pass += !w->dx[0];
    if (pass == 0)
        flip(w, &s, chunk);
    else if (pass == 1)
        backward_rows(w, &s, chunk, scratch);
    else
        sum_up(w, &s, chunk);
}

static void to_onnx(const op_work *w, onnx *o)
{
    window v = window_of(w->layer, w->in);
    onnx_value x[] = {onnx_take(o, 0, ONNX_FIRST), onnx_weight(o, KERNEL, (int[]){3, 2, 0, 1}), 0};
    if (!own(w->layer)->no_bias)
        x[2] = onnx_weight(o, BIAS, NULL);
    onnx_value z = onnx_node(o, "Conv", own(w->layer)->no_bias ? 2 : 3, x);
    window_to_onnx(&v, o);
    onnx_give(o, op_onnx_activate(o, own(w->layer)->activation, z), ONNX_FIRST);
}

static const attribute attributes[] = {WINDOW_FILTERS,
    WINDOW_SIZE("kernel_size", ATTRIBUTE_PAIR, .required = true,
        .meaning = "Of the window: one number, or {height, width}."),
    WINDOW_STRIDES(ATTRIBUTE_PAIR, .otherwise = 1, .meaning = "How far the window goes in a step."),
    WINDOW_PADDING(window_paddings), WINDOW_DILATION(ATTRIBUTE_PAIR),
    ATTRIBUTE_OF_ACTIVATION(window_layer), WINDOW_BIAS, WINDOW_GROUPS, {0}};

const op op_conv2d = {
    .kind = LAYER_CONV2D,
    .is = {.name = "Conv2D",
        .size = sizeof(window_layer),
        .attributes = attributes,
        .places = "filters kernel_size strides padding",
        .ask = "how many filters, of which size? nn.Conv2D { 32, 3 }",
        .about = "A convolution of pictures (height, width, channels); padding is valid or same.",
        .formula = "f(Σ over the window x·W + b) on (height, width, channels); `strides`, "
                   "`padding` \"valid\" or \"same\", `dilation_rate`; with `groups` a filter sees "
                   "only its part of the channels; W as Dense's",
        .source = "LeCun and others 1998; groups: Krizhevsky and others 2012",
        .example = "model = nn.Sequential { nn.Input { 28, 28, 1 }, nn.Conv2D { 8, 3, padding = "
                   "\"same\" }, nn.Flatten {}, nn.Dense { 10 } }\n"
                   "print(model:count_params()) --> 62810"},
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
    .halves = conv2d_by_dnn,
    .by_dnn = conv2d_by_dnn,
};
