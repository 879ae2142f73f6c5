// SPDX-License-Identifier: MIT
// Dense: y = f(x·W + b)    x (n, inputs), W (inputs, units), b (units)
//
//   dz = dy·f'(z);  dx = dz·Wᵀ;  dW = xᵀ·dz + 2·l2·W;  db = Σ over rows of dz
//
// Where rows are bf16 it is a convolution of pictures of one pixel, whose weights lie the same way.
//
// A chain of Dense layers does not come here: nn/step.c runs it as one fused operation, with the
// same kernels and the same layout of weights.
#include "trainer/nn/op/op.h"

#include "trainer/nn/onnx.h"

#include <string.h>

enum { KERNEL, BIAS };

static int infer(const layer_spec *l, size_t n, const row_shape *in, row_shape *out, err *e)
{
    AUTO_BUF have = {0};
    shape_text(in->dims, in->size, &have);
    if (in->dims != 1)
        return err_set(e, ERR_USAGE, "expects rows of one dimension, got %s: put Flatten before",
            buf_cstr(&have));
    if (l->inputs && l->inputs != in->size[0])
        return err_set(e, ERR_USAGE, "expects %zu inputs, got %zu", l->inputs, in->size[0]);
    *out = (row_shape){1, {l->units}};
    return 0;
}

static size_t parameters(const layer_spec *l, const row_shape *in, op_parameter *out)
{
    out[KERNEL] = (op_parameter){.name = "kernel",
        .dims = 2,
        .shape = {in->size[0], l->units},
        .start = START_GLOROT,
        .fan_in = in->size[0],
        .fan_out = l->units,
        .panels = true};
    out[BIAS] = (op_parameter){.name = "bias", .dims = 1, .shape = {l->units}};
    return l->no_bias ? 1 : 2;
}

static size_t panels(size_t n)
{
    return (n + PANEL - 1) / PANEL;
}

// Columns of panel i of n columns, rounded up to 16.
static size_t width_of(size_t n, size_t i)
{
    size_t left = op_round(n, 16) - i * PANEL;
    return left < PANEL ? left : PANEL;
}

static size_t rest(size_t n, size_t i)
{
    return n - i * PANEL < PANEL ? n - i * PANEL : PANEL;
}

extern const op op_conv2d;

struct as_conv2d {
    layer_spec layer;
    row_shape in;
    op_work w;
};

static const op_work *as_conv2d(const op_work *w, struct as_conv2d *c)
{
    c->layer = *w->layer;
    c->in = (row_shape){3, {1, 1, w->in->size[0]}};
    c->w = *w;
    for (int i = 0; i < 2; i++)
        c->layer.window[i] = c->layer.stride[i] = 1;
    c->w.layer = &c->layer;
    c->w.in = &c->in;
    c->w.out = (row_shape){3, {1, 1, w->layer->units}};
    return &c->w;
}

static bool halves(const op_work *w)
{
    struct as_conv2d c;
    return !(w->layer->l2 > 0) && w->f != ACTIVATION_SOFTMAX && op_conv2d.halves(as_conv2d(w, &c));
}

static bool by_dnn(const op_work *w)
{
    return w->half && halves(w);
}

static size_t kernel_chunks(const op_work *w)
{
    return w->fixed[KERNEL] ? 0 : panels(w->in->size[0]) * panels(w->layer->units);
}

static bool trains_bias(const op_work *w)
{
    return !w->layer->no_bias && !w->fixed[BIAS];
}

static void reserve(const op_work *w, op_need *need)
{
    struct as_conv2d c;
    if (w->half) {
        op_conv2d.reserve(as_conv2d(w, &c), need);
        return;
    }
    size_t slices = panels(w->in->size[0]), wide = panels(w->layer->units);
    need->forward[0] = need->backward[0] = op_by_rows(w);
    need->backward[1].chunks =
        slices * (w->dx && w->dx[0]) + kernel_chunks(w) + wide * trains_bias(w);
    need->reads_x = !w->fixed[KERNEL];
    need->reads_y = w->f != ACTIVATION_LINEAR && activation_is_of_output(w->f);
    need->kept = activation_is_of_output(w->f) ? 0 : w->rows * w->ldy;
    need->scratch = PANEL * PANEL;
}

static const float *weights(const op_work *w, size_t panel)
{
    return w->w + w->at[KERNEL] + panel * w->in->size[0] * PANEL;
}

// NULL where backward needs no z: C adds nothing to that, not even 0.
static float *kept_at(const op_work *w, size_t at)
{
    return w->kept ? w->kept + at : NULL;
}

static void forward(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    static const float no_bias[PANEL] __attribute__((aligned(64)));
    struct as_conv2d c;
    if (w->half) {
        op_conv2d.forward(as_conv2d(w, &c), pass, chunk, scratch);
        return;
    }
    size_t from = op_from(w, chunk), rows = op_to(w, chunk) - from, units = w->layer->units;
    float *y = w->y + from * w->ldy;
    for (size_t p = 0; p < panels(units); p++)
        w->cpu->multiply(&(product){.y = y + p * PANEL,
            .ldy = w->ldy,
            .x = w->x[0] + from * w->ldx[0],
            .ldx = w->ldx[0],
            .w = weights(w, p),
            .bias = w->layer->no_bias ? no_bias : w->w + w->at[BIAS] + p * PANEL,
            .rows = rows,
            .inputs = w->in->size[0],
            .width = width_of(units, p)});
    op_activate(w, y, kept_at(w, from * w->ldy), w->ldy, rows, units);
}

// dx = dz·Wᵀ for 64 inputs. W is transposed block by block, so that the forward kernel does it.
static void back_to_input(const op_work *w, size_t slice, float *flipped)
{
    size_t units = w->layer->units, c = slice * PANEL, n = rest(w->in->size[0], slice);
    size_t width = width_of(w->in->size[0], slice);
    float *dx = w->dx[0] + c;
    for (size_t r = 0; !w->add[0] && r < w->rows; r++)
        memset(dx + r * w->ldx[0], 0, width * sizeof *dx);
    for (size_t p = 0; p < panels(units); p++) {
        size_t columns = rest(units, p), from = width_of(units, p);
        if (n < width)
            memset(flipped, 0, columns * width * sizeof *flipped);
        transpose_f32(flipped, width, weights(w, p) + c * from, from, n, columns);
        w->cpu->multiply(&(product){.y = dx,
            .ldy = w->ldx[0],
            .x = w->dy + p * PANEL,
            .ldx = w->ldy,
            .w = flipped,
            .rows = w->rows,
            .inputs = columns,
            .width = width});
    }
}

static void train_kernel(const op_work *w, size_t panel, size_t slice)
{
    size_t width = width_of(w->layer->units, panel), inputs = w->in->size[0];
    static const update store = {.rule = UPDATE_STORE};
    float *to = w->g + w->at[KERNEL] + panel * inputs * PANEL + slice * PANEL * width;
    w->cpu->train(&(gradient){.to = {.g = to},
        .x = w->x[0] + slice * PANEL,
        .ldx = w->ldx[0],
        .d = w->dy + panel * PANEL,
        .ldd = w->ldy,
        .rows = w->rows,
        .inputs = rest(inputs, slice),
        .width = width,
        .rule = &store});
    const float *weight = w->w + (to - w->g);
    float twice = 2 * (float)w->layer->l2;
    for (size_t i = 0; twice > 0 && i < rest(inputs, slice) * width; i++)
        to[i] += twice * weight[i];
}

static void derive(const op_work *w, size_t chunk)
{
    size_t from = op_from(w, chunk), to = op_to(w, chunk), units = w->layer->units,
           at = from * w->ldy;
    op_derive(w, w->dy + at, w->y + at, kept_at(w, at), w->ldy, to - from, units);
    for (size_t r = from; r < to; r++) // the columns behind must not reach the weights
        memset(w->dy + r * w->ldy + units, 0, (op_round(units, 16) - units) * sizeof *w->dy);
}

static void backward(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    size_t slices = panels(w->in->size[0]), back = w->dx[0] ? slices : 0;
    static const update store = {.rule = UPDATE_STORE};
    struct as_conv2d c;
    if (w->half) {
        op_conv2d.backward(as_conv2d(w, &c), pass, chunk, scratch);
        return;
    }
    if (pass == 0) {
        derive(w, chunk);
    } else if (chunk < back) {
        back_to_input(w, chunk, scratch);
    } else if (chunk - back < kernel_chunks(w)) {
        train_kernel(w, (chunk - back) / slices, (chunk - back) % slices);
    } else {
        size_t p = chunk - back - kernel_chunks(w);
        w->cpu->train_bias(&store, (params){.g = w->g + w->at[BIAS] + p * PANEL}, w->dy + p * PANEL,
            w->ldy, w->rows, width_of(w->layer->units, p));
    }
}

static void write(const layer_spec *l, cJSON *j)
{
    json_set_int(j, "units", (int64_t)l->units);
    json_set_int(j, "inputs", (int64_t)l->inputs);
    json_set_str(j, "activation", activation_name(l->activation));
    json_set_bool(j, "use_bias", !l->no_bias);
    if (l->l2 > 0)
        json_set(j, "l2", cJSON_CreateNumber(l->l2));
}

static int read(layer_spec *l, const cJSON *j, err *e)
{
    l->units = op_size(j, "units");
    l->inputs = op_size(j, "inputs");
    l->no_bias = !json_bool_or(j, "use_bias", true);
    if (op_read_number(j, "l2", 0, &l->l2, e) < 0)
        return -1;
    return activation_parse(json_str_or(j, "activation", "linear"), &l->activation, e);
}

static void to_onnx(const op_work *w, onnx *o)
{
    onnx_value x[] = {onnx_take(o, 0, ONNX_LAST), onnx_weight(o, KERNEL, NULL), 0};
    if (!w->layer->no_bias)
        x[2] = onnx_weight(o, BIAS, NULL);
    onnx_value z = onnx_node(o, "Gemm", w->layer->no_bias ? 2 : 3, x);
    onnx_give(o, op_onnx_activate(o, w->layer->activation, z), ONNX_LAST);
}

const op op_dense = {
    .kind = LAYER_DENSE,
    .least = 1,
    .most = 1,
    .infer = infer,
    .parameters = parameters,
    .reserve = reserve,
    .forward = forward,
    .backward = backward,
    .write = write,
    .read = read,
    .onnx = to_onnx,
    .halves = halves,
    .by_dnn = by_dnn,
};
