// SPDX-License-Identifier: MIT
// BatchNormalization over the last dimension, the channels: Ioffe & Szegedy, arXiv 1502.03167.
//
//   training  x̂ = (x - mean)/√(var + ε) with mean and var over the rows and positions of the batch;
//             moving ← moving·momentum + (that of the batch)·(1 - momentum)
//   else      the same with moving_mean and moving_variance, as when the layer is frozen:
//             dx = gamma·dy/√(var + ε)
//   y = gamma·x̂ + beta
//   dx = gamma·(dy - mean dy - x̂·mean(dy·x̂))/√(var + ε);  dgamma = Σ dy·x̂;  dbeta = Σ dy
//
// What nn/fuse.h joined to it: a second input is added to y, and y is clipped (relu); dy passes
// where it was not. Without a second input that is computed again from x, else y tells it.
//
// With several ranks each has the statistics of its own rows, as in Horovod. With `synchronized`
// the sums of forward and of backward are those of all ranks: mean, var, mean dy and mean(dy·x̂) are
// over all their rows and positions, each of which counts once, however many a rank has. dgamma and
// dbeta are each rank's own, as all gradients are, which the ranks average.
//
// Sums are floats over some positions, relative to the chunk's first value of the channel, and
// doubles over these: a mean that is much greater than the spread costs no digits.
//
// kept: mean and 1/√(var + ε) of each channel, four rows of what a pass over all positions takes,
// then doubles: a pair of sums of each channel and what they are divided by, and such a pair for
// each chunk. scratch: two sums and the pivot.
#include "trainer/nn/op/normalization.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 256 };

static size_t parameters(const layer_spec *l, const row_shape *in, op_parameter *out)
{
    size_t n = norm_parameters(l, in, out), channels = op_last(in);
    out[n++] = (op_parameter){.name = "moving_mean", .dims = 1, .shape = {channels}, .fixed = true};
    out[n++] = (op_parameter){.name = "moving_variance",
        .dims = 1,
        .shape = {channels},
        .start = START_ONES,
        .fixed = true};
    return n;
}

static void reserve(const op_work *w, op_need *need)
{
    size_t channels = op_round(op_last(w->in), 16);
    op_pass rows = op_by_rows(w), one = {.chunks = 1};
    memcpy(need->forward, (op_pass[OP_PASSES]){rows, one, rows}, sizeof need->forward);
    memcpy(need->backward, (op_pass[OP_PASSES]){rows, one, rows}, sizeof need->backward);
    need->reads_x = true;
    need->reads_y = w->clip && w->inputs > 1;
    need->kept = 6 * channels + (1 + rows.chunks) * 4 * channels + 16;
    need->scratch = 3 * channels;
}

// Where things are in kept.
struct sums {
    float *mean, *scale, *factor, *shift, *less, *along; // [channels]
    double *total;                                       // [2][channels], and [1] positions
    double *partial;                                     // [chunk][2][channels]
    size_t n, positions, chunks;
};

static struct sums sums_of(const op_work *w)
{
    size_t n = op_last(w->in), room = op_round(n, 16);
    double *total = (double *)(void *)(w->kept + 6 * room);
    return (struct sums){w->kept, w->kept + room, w->kept + 2 * room, w->kept + 3 * room,
        w->kept + 4 * room, w->kept + 5 * room, total, total + 2 * room + 8, n,
        shape_size(w->in) / n, op_by_rows(w).chunks};
}

// The sums over all chunks, in their order.
static void add_chunks(const struct sums *s)
{
    memset(s->total, 0, 2 * s->n * sizeof *s->total);
    for (size_t i = 0; i < s->chunks; i++)
        for (size_t c = 0; c < 2 * s->n; c++)
            s->total[c] += s->partial[2 * i * s->n + c];
}

// The first n of the sums become those of all ranks.
static void add_ranks(const op_work *w, const struct sums *s, size_t n)
{
    if (norm_own(w->layer)->synchronized)
        op_sum_ranks(w, s->total, n);
}

// How many positions from p on are summed as floats.
static size_t block_at(const struct sums *s, size_t p)
{
    return s->positions - p < BLOCK ? s->positions - p : BLOCK;
}

// Σ x and Σ x² from sums of x - pivot over n numbers.
static void add_block(const struct sums *s, double *first, double *second, const float *block,
    const float *pivot, size_t n)
{
    for (size_t c = 0; c < s->n; c++) {
        double k = (double)pivot[c], sum = (double)block[c], m = (double)n;
        first[c] += sum + m * k;
        second[c] += (double)block[s->n + c] + 2 * k * sum + m * k * k;
    }
}

// Position p of row r of the input.
static const void *x_at(const op_work *w, const struct sums *s, size_t r, size_t p)
{
    return (const char *)op_at(w, w->x[0], w->ldx[0], r) + op_bytes(w, p * s->n);
}

static const void *dy_at(const op_work *w, const struct sums *s, size_t r, size_t p)
{
    return (const char *)op_at(w, w->dy, w->ldy, r) + op_bytes(w, p * s->n);
}

static void add_moments(const op_work *w, const struct sums *s, size_t chunk, float *scratch)
{
    double *sum = s->partial + 2 * chunk * s->n;
    const void *first = op_at(w, w->x[0], w->ldx[0], op_from(w, chunk));
    float *pivot = scratch + 2 * s->n;
    if (w->half)
        w->cpu->widen(pivot, first, s->n);
    else
        memcpy(pivot, first, s->n * sizeof *pivot);
    memset(sum, 0, 2 * s->n * sizeof *sum);
    for (size_t r = op_from(w, chunk); r < op_to(w, chunk); r++)
        for (size_t p = 0; p < s->positions; p += BLOCK) {
            memset(scratch, 0, 2 * s->n * sizeof *scratch);
            op_channels(w)->moments(
                x_at(w, s, r, p), pivot, block_at(s, p), s->n, scratch, scratch + s->n);
            add_block(s, sum, sum + s->n, scratch, pivot, block_at(s, p));
        }
}

static void move(float *value, double to, double momentum)
{
    *value = (float)((double)*value * momentum + to * (1 - momentum));
}

// Moving statistics are constants: no gradient goes through them.
static bool is_of_batch(const op_work *w)
{
    return w->train && !w->frozen;
}

static void find_moments(const op_work *w, const struct sums *s)
{
    const double *sum = s->total, *squares = sum + s->n, *n = squares + s->n;
    double momentum = norm_own(w->layer)->momentum;
    const float *gamma = norm_at(w, w->w, NORM_GAMMA), *beta = norm_at(w, w->w, NORM_BETA);
    float *mean = norm_at(w, w->w, NORM_MEAN), *variance = norm_at(w, w->w, NORM_VARIANCE);
    if (is_of_batch(w)) {
        add_chunks(s);
        s->total[2 * s->n] = (double)(w->rows * s->positions);
        add_ranks(w, s, 2 * s->n + 1);
    }
    for (size_t c = 0; c < s->n; c++) {
        double m = (double)mean[c], v = (double)variance[c];
        if (is_of_batch(w)) {
            m = sum[c] / *n;
            v = squares[c] / *n - m * m;
            v = v < 0 ? 0 : v;
        }
        if (is_of_batch(w) && w->moves && !(w->ranks && w->ranks->failed)) {
            move(&mean[c], m, momentum);
            move(&variance[c], v, momentum);
        }
        s->mean[c] = (float)m;
        s->scale[c] = 1 / sqrtf((float)v + norm_epsilon(w->layer));
        s->factor[c] = s->scale[c] * (gamma ? gamma[c] : 1);
        s->shift[c] = beta ? beta[c] : 0;
    }
}

static channel_map map_of(const op_work *w, const struct sums *s)
{
    return (channel_map){.mean = s->mean,
        .scale = s->factor,
        .shift = s->shift,
        .less = s->less,
        .along = s->along,
        .clip = w->clip,
        .most = w->most};
}

static void normalise(const op_work *w, const struct sums *s, size_t chunk)
{
    channel_map map = map_of(w, s);
    for (size_t r = op_from(w, chunk); r < op_to(w, chunk); r++)
        op_channels(w)->scale_shift(&map, op_at(w, w->y, w->ldy, r), x_at(w, s, r, 0),
            w->inputs > 1 ? op_at(w, w->x[1], w->ldx[1], r) : NULL, s->positions, s->n);
}

static void forward(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    struct sums s = sums_of(w);
    if (pass == 0 && is_of_batch(w))
        add_moments(w, &s, chunk, scratch);
    else if (pass == 1)
        find_moments(w, &s);
    else if (pass == 2)
        normalise(w, &s, chunk);
}

// Σ dy and Σ dy·(x - mean): of gamma and beta, or as the statistics follow the batch.
static bool wants_slopes(const op_work *w)
{
    return is_of_batch(w) || norm_trains(w, NORM_GAMMA) || norm_trains(w, NORM_BETA);
}

static void add_slopes(const op_work *w, const struct sums *s, size_t chunk, float *scratch)
{
    double *sum = s->partial + 2 * chunk * s->n;
    channel_map map = map_of(w, s);
    size_t from = op_from(w, chunk), to = op_to(w, chunk);
    bool wanted = wants_slopes(w);
    map.clip = w->clip && w->inputs == 1;
    memset(sum, 0, 2 * s->n * sizeof *sum);
    for (size_t r = from; r < to; r++)
        for (size_t p = 0; p < s->positions; p += BLOCK) {
            size_t at = op_bytes(w, p * s->n);
            if (w->clip && w->inputs > 1)
                op_channels(w)->pass_slopes((char *)op_at(w, w->dy, w->ldy, r) + at,
                    (char *)op_at(w, w->y, w->ldy, r) + at, w->most, block_at(s, p) * s->n);
            if (!wanted)
                continue;
            memset(scratch, 0, 2 * s->n * sizeof *scratch);
            op_channels(w)->slopes(&map, x_at(w, s, r, p), dy_at(w, s, r, p), block_at(s, p), s->n,
                scratch, scratch + s->n);
            for (size_t c = 0; c < 2 * s->n; c++)
                sum[c] += (double)scratch[c];
        }
}

// What was along x - mean is along x̂ by 1/√(var + ε).
static void find_slopes(const op_work *w, const struct sums *s)
{
    float *gamma = norm_slope(w, NORM_GAMMA), *beta = norm_slope(w, NORM_BETA);
    const double *sum = s->total, *along = sum + s->n, *n = along + s->n;
    add_chunks(s);
    for (size_t c = 0; c < s->n; c++) {
        if (gamma)
            gamma[c] = (float)(along[c] * (double)s->scale[c]);
        if (beta)
            beta[c] = (float)sum[c];
    }
    if (is_of_batch(w))
        add_ranks(w, s, 2 * s->n);
    for (size_t c = 0; c < s->n; c++) {
        double scale = (double)s->scale[c];
        s->less[c] = is_of_batch(w) ? (float)(sum[c] / *n) : 0;
        s->along[c] = is_of_batch(w) ? (float)(along[c] * scale * scale / *n) : 0;
    }
}

static void give_slopes(const op_work *w, const struct sums *s, size_t chunk)
{
    channel_map map = map_of(w, s);
    map.clip = w->clip && w->inputs == 1;
    for (size_t r = op_from(w, chunk); w->dx[0] && r < op_to(w, chunk); r++)
        op_channels(w)->give_back(&map, op_at(w, w->dx[0], w->ldx[0], r), w->add[0],
            x_at(w, s, r, 0), dy_at(w, s, r, 0), s->positions, s->n);
    if (w->inputs > 1)
        op_give(w, 1, op_at(w, w->dy, w->ldy, op_from(w, chunk)), w->ldy, op_from(w, chunk),
            op_to(w, chunk));
}

static void backward(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    struct sums s = sums_of(w);
    if (pass == 0)
        add_slopes(w, &s, chunk, scratch);
    else if (pass == 1)
        find_slopes(w, &s);
    else
        give_slopes(w, &s, chunk);
}

// With moving_mean and moving_variance, as when nothing is trained.
static void to_onnx(const op_work *w, onnx *o)
{
    onnx_layout layout = w->in->dims > 1 ? ONNX_FIRST : ONNX_LAST;
    onnx_value x[] = {onnx_take(o, 0, layout), norm_to_onnx(w, o, NORM_GAMMA),
        norm_to_onnx(w, o, NORM_BETA), norm_to_onnx(w, o, NORM_MEAN),
        norm_to_onnx(w, o, NORM_VARIANCE)};
    onnx_value y = onnx_node(o, "BatchNormalization", 5, x);
    onnx_set_float(o, "epsilon", norm_own(w->layer)->epsilon);
    onnx_give(o, y, layout);
}

static bool of_all_ranks(const layer_spec *l)
{
    return norm_own(l)->synchronized;
}

static const attribute attributes[] = {NORM_EPSILON_AND_WEIGHTS,
    {"axis", ATTRIBUTE_AXIS, offsetof(norm_layer, axis.first), .sparse = true,
        .meaning = "The dimension of the channels: the last one."},
    {"momentum", ATTRIBUTE_NUMBER, offsetof(norm_layer, momentum), .otherwise = NORM_MOMENTUM,
        .most = 1, .open = true, .meaning = "How much of the moving statistics stays in a step."},
    {"synchronized", ATTRIBUTE_BOOL, offsetof(norm_layer, synchronized), .sparse = true,
        .meaning = "Whether all ranks' rows count together."},
    {0}};

const op op_batch_normalization = {
    .kind = LAYER_BATCH_NORMALIZATION,
    .is = {.name = "BatchNormalization",
        .size = sizeof(norm_layer),
        .attributes = attributes,
        .places = "axis momentum epsilon center scale",
        .about = "Normalises each channel over the rows of a batch; synchronized: over those of "
                 "all ranks.",
        .formula = "gamma·(x - mean)/√(var + ε) + beta over rows and positions, for each channel; "
                   "else with moving_mean and moving_variance, which follow by `momentum` 0.99, "
                   "and when the layer is frozen; ε 0.001. Each rank has its own rows'; with "
                   "`synchronized` all have those of all ranks' rows, each row counting once",
        .source = "Ioffe & Szegedy, arXiv 1502.03167",
        .example = "model = nn.Sequential { nn.Dense { 8, input_dim = 4 }, nn.BatchNormalization "
                   "{}, nn.Dense { 1 } }\n"
                   "print(model:count_params()) --> 81"},
    .of_all_ranks = of_all_ranks,
    .least = 1,
    .most = 1,
    .infer = norm_infer,
    .parameters = parameters,
    .reserve = reserve,
    .forward = forward,
    .backward = backward,
    .weight = {{"gamma", "gamma"}, {"beta", "beta"}, {"moving_mean", "moving_mean", true},
        {"moving_variance", "moving_variance", true}},
    .onnx = to_onnx,
    .halves = op_always,
};
