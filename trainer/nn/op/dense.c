// SPDX-License-Identifier: MIT
// Dense: y = f(x·W + b)    x (n, …, inputs), W (inputs, units), b (units)
//
//   dz = dy·f'(z);  dx = dz·Wᵀ;  dW = xᵀ·dz;  db = Σ over rows of dz
//
// Weights that no cache near the core holds are read once or twice for all rows, not once for each
// chunk of rows: forward goes panel by panel then, 128 inputs at a time, in the same order of sums.
//
// Where rows are bf16, or have more dimensions than one, it is a convolution of windows of one
// pixel, whose weights lie the same way.
//
// A chain of Dense layers does not come here: nn/step.c runs it as one fused operation, with the
// same kernels and the same layout of weights.
#include "trainer/nn/layer/layers.h"
#include "trainer/nn/layer/op.h"

#include "trainer/nn/layer/onnx.h"
#include "trainer/nn/op/picture.h"

#include <string.h>

enum { KERNEL, BIAS };

enum { LARGE = 1 << 16, INPUTS = 128, SHARES = 4, SHARE_ROWS = 12 };

static const dense_layer *own(const layer_spec *l)
{
    return l->own;
}

static int infer(const layer_spec *l, size_t n, const row_shape *in, row_shape *out, err *e)
{
    AUTO_BUF have = {0};
    shape_text(in->dims, in->size, &have);
    if (in->dims < 1 || (in->dims > 1 && own(l)->activation == ACTIVATION_SOFTMAX))
        return err_set(e, ERR_USAGE, "%s rows of one dimension, got %s: put Flatten before",
            in->dims < 1 ? "expects" : "has softmax, which expects", buf_cstr(&have));
    if (own(l)->inputs && own(l)->inputs != op_last(in))
        return err_set(e, ERR_USAGE, "expects %zu inputs, got %zu%s%s", own(l)->inputs, op_last(in),
            in->dims > 1 ? " in rows of shape " : "", in->dims > 1 ? buf_cstr(&have) : "");
    *out = *in;
    out->size[out->dims - 1] = own(l)->units;
    return 0;
}

static size_t parameters(const layer_spec *l, const row_shape *in, op_parameter *out)
{
    out[KERNEL] = (op_parameter){.name = "kernel",
        .dims = 2,
        .shape = {op_last(in), own(l)->units},
        .start = START_GLOROT,
        .fan_in = op_last(in),
        .fan_out = own(l)->units,
        .panels = true};
    out[BIAS] = (op_parameter){.name = "bias", .dims = 1, .shape = {own(l)->units}};
    return own(l)->no_bias ? 1 : 2;
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

static const op_work *as_conv2d(const op_work *w, as_picture *p)
{
    return picture_work(w, LAYER_CONV2D, p);
}

static bool is_picture(const op_work *w)
{
    return w->half || w->in->dims > 1;
}

static bool halves(const op_work *w)
{
    as_picture c;
    return w->f != ACTIVATION_SOFTMAX && op_conv2d.halves(as_conv2d(w, &c));
}

static bool by_dnn(const op_work *w)
{
    as_picture c;
    return w->half ? halves(w) : is_picture(w) && op_conv2d.by_dnn(as_conv2d(w, &c));
}

static size_t kernel_chunks(const op_work *w)
{
    return w->fixed[KERNEL] ? 0 : panels(w->in->size[0]) * panels(own(w->layer)->units);
}

static bool trains_bias(const op_work *w)
{
    return !own(w->layer)->no_bias && !w->fixed[BIAS];
}

static bool is_large(const op_work *w)
{
    return w->in->size[0] * own(w->layer)->units >= LARGE;
}

// Of the rows, for as many chunks that a few threads have work if there are few panels.
static size_t shares(const op_work *w)
{
    size_t wide = panels(own(w->layer)->units), most = w->rows / SHARE_ROWS;
    size_t n = wide < SHARES ? SHARES / wide : 1;
    return n < most ? n : most ? most : 1;
}

static void reserve(const op_work *w, op_need *need)
{
    as_picture c;
    if (is_picture(w)) {
        op_conv2d.reserve(as_conv2d(w, &c), need);
        return;
    }
    size_t slices = panels(w->in->size[0]), wide = panels(own(w->layer)->units);
    need->forward[0] = need->backward[0] = op_by_rows(w);
    if (is_large(w)) {
        need->forward[0] = (op_pass){.chunks = wide * shares(w)};
        need->forward[1] = op_by_rows(w);
    }
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

// Rows [from, from + rows) of z for one panel, from inputs [k, k + n) on top of those before.
static void multiply(const op_work *w, size_t panel, size_t from, size_t rows, size_t k, size_t n)
{
    static const float no_bias[PANEL] __attribute__((aligned(64)));
    const float *bias = own(w->layer)->no_bias ? no_bias : w->w + w->at[BIAS] + panel * PANEL;
    size_t width = width_of(own(w->layer)->units, panel);
    w->cpu->multiply(&(product){.y = w->y + from * w->ldy + panel * PANEL,
        .ldy = w->ldy,
        .x = w->x[0] + from * w->ldx[0] + k,
        .ldx = w->ldx[0],
        .w = weights(w, panel) + k * width,
        .bias = k ? NULL : bias,
        .rows = rows,
        .inputs = n,
        .width = width});
}

static void multiply_share(const op_work *w, size_t chunk)
{
    size_t wide = panels(own(w->layer)->units), n = shares(w), inputs = w->in->size[0];
    size_t share = chunk / wide, from = w->rows * share / n, to = w->rows * (share + 1) / n;
    for (size_t k = 0; k < inputs; k += INPUTS)
        multiply(w, chunk % wide, from, to - from, k, inputs - k < INPUTS ? inputs - k : INPUTS);
}

static void forward(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    as_picture c;
    if (is_picture(w)) {
        op_conv2d.forward(as_conv2d(w, &c), pass, chunk, scratch);
        return;
    }
    if (is_large(w) && pass == 0) {
        multiply_share(w, chunk);
        return;
    }
    size_t from = op_from(w, chunk), rows = op_to(w, chunk) - from, units = own(w->layer)->units;
    float *y = w->y + from * w->ldy;
    for (size_t p = 0; p < panels(units) && !is_large(w); p++)
        multiply(w, p, from, rows, 0, w->in->size[0]);
    op_activate(w, y, kept_at(w, from * w->ldy), w->ldy, rows, units);
}

// dx = dz·Wᵀ for 64 inputs. W is transposed block by block, so that the forward kernel does it.
static void back_to_input(const op_work *w, size_t slice, float *flipped)
{
    size_t units = own(w->layer)->units, c = slice * PANEL, n = rest(w->in->size[0], slice);
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
    size_t width = width_of(own(w->layer)->units, panel), inputs = w->in->size[0];
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
}

static void derive(const op_work *w, size_t chunk)
{
    size_t from = op_from(w, chunk), to = op_to(w, chunk), units = own(w->layer)->units,
           at = from * w->ldy;
    op_derive(w, w->dy + at, w->y + at, kept_at(w, at), w->ldy, to - from, units);
    for (size_t r = from; r < to; r++) // the columns behind must not reach the weights
        memset(w->dy + r * w->ldy + units, 0, (op_round(units, 16) - units) * sizeof *w->dy);
}

static void backward(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    size_t slices = panels(w->in->size[0]), back = w->dx[0] ? slices : 0;
    static const update store = {.rule = UPDATE_STORE};
    as_picture c;
    if (is_picture(w)) {
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
            w->ldy, w->rows, width_of(own(w->layer)->units, p));
    }
}

static void to_onnx(const op_work *w, onnx *o)
{
    onnx_value x[] = {onnx_take(o, 0, ONNX_LAST), onnx_weight(o, KERNEL, NULL), 0};
    bool flat = w->in->dims == 1;
    if (!own(w->layer)->no_bias)
        x[2] = onnx_weight(o, BIAS, NULL);
    onnx_value z =
        onnx_node(o, flat ? "Gemm" : "MatMul", own(w->layer)->no_bias || !flat ? 2 : 3, x);
    if (!flat && !own(w->layer)->no_bias)
        z = ONNX_NODE(o, "Add", z, x[2]);
    onnx_give(o, op_onnx_activate(o, own(w->layer)->activation, z), ONNX_LAST);
}

static int check(const layer_spec *l, err *e)
{
    return own(l)->units >= 1 && own(l)->units <= OP_UNITS_MAX && own(l)->inputs <= OP_UNITS_MAX
               ? 0
               : err_set(e, ERR_USAGE, "must have between 1 and 16777216 units and inputs");
}

// An input_shape of one dimension says how many inputs there are.
static int settle(layer_spec *l, void *to, err *e)
{
    dense_layer *d = to;
    if (l->in.dims == 1 && !d->inputs)
        d->inputs = l->in.size[0];
    if (l->in.dims == 1)
        l->in.dims = 0;
    return 0;
}

// As files had it where a kernel's L2 was the only regularizer.
static int read_older(layer_spec *l, void *to, const cJSON *in, err *e)
{
    double *l2 = &l->weight[KERNEL].l2;
    return json_read_number(in, "l2", *l2, l2, e);
}

static const attribute attributes[] = {
    {"units", ATTRIBUTE_SIZE, offsetof(dense_layer, units), .least = 1, .most = SIZE_MOST,
        .required = true, .shown = true, .meaning = "How many numbers a row becomes."},
    {"input_dim", ATTRIBUTE_SIZE, offsetof(dense_layer, inputs), .most = SIZE_MOST,
        .file = "inputs", .signature = "",
        .meaning = "How many numbers a row has, of the first layer."},
    ATTRIBUTE_OF_ACTIVATION(dense_layer),
    {"use_bias", ATTRIBUTE_NOT, offsetof(dense_layer, no_bias),
        .meaning = "Whether numbers are added to the products."},
    {0}};

const op op_dense = {
    .kind = LAYER_DENSE,
    .is = {.name = "Dense",
        .size = sizeof(dense_layer),
        .attributes = attributes,
        .places = "units activation use_bias kernel_initializer bias_initializer",
        .ask = "how many units? nn.Dense { 128 }",
        .about =
            "A fully connected layer, over the last dimension of each row; activations are linear, "
            "relu, sigmoid, tanh, softmax, gelu, silu, elu, selu, leaky_relu and softplus.",
        .formula = "f(x·W + b) over the last dimension of each row, W from Glorot's uniform "
                   "distribution, b = 0",
        .source = "Glorot & Bengio 2010",
        .example = "print(nn.Sequential({ nn.Dense { 3, input_dim = 2, use_bias = false } "
                   "}):count_params()) --> 6"},
    .check = check,
    .settle = settle,
    .read_older = read_older,
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
