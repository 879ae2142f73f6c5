// SPDX-License-Identifier: MIT
// LayerNormalization over the last dimension, or the last ones: Ba, Kiros & Hinton, arXiv
// 1607.06450.
//
//   x̂ = (x - mean x)/√(var x + ε);  y = gamma·x̂ + beta
//   dx = (e - mean e - x̂·mean(e·x̂))/√(var x + ε) with e = dy·gamma
//   dgamma = Σ dy·x̂;  dbeta = Σ dy      over rows and positions
//
// kept: mean and 1/√(var + ε) of each group, then a partial dgamma and dbeta for each chunk.
#include "trainer/nn/op/normalization.h"

#include <math.h>
#include <string.h>

static size_t size_of(const op_work *w)
{
    return norm_size(w->layer, w->in);
}

static size_t groups(const op_work *w)
{
    return shape_size(w->in) / size_of(w);
}

static bool trains(const op_work *w)
{
    return norm_trains(w, NORM_GAMMA) || norm_trains(w, NORM_BETA);
}

static void reserve(const op_work *w, op_need *need)
{
    need->forward[0] = need->backward[0] = op_by_rows(w);
    need->backward[1].chunks = trains(w);
    need->reads_x = true;
    need->kept = 2 * w->rows * groups(w) + need->forward[0].chunks * 2 * size_of(w);
}

static void forward_group(const op_work *w, const float *x, float *y, float *of)
{
    size_t n = size_of(w);
    const float *gamma = norm_at(w, w->w, NORM_GAMMA), *beta = norm_at(w, w->w, NORM_BETA);
    double sum = 0, squares = 0;
    for (size_t c = 0; c < n; c++)
        sum += (double)x[c];
    double mean = sum / (double)n;
    for (size_t c = 0; c < n; c++)
        squares += ((double)x[c] - mean) * ((double)x[c] - mean);
    of[0] = (float)mean;
    of[1] = 1 / sqrtf((float)(squares / (double)n) + norm_epsilon(w->layer));
    for (size_t c = 0; c < n; c++)
        y[c] = (x[c] - of[0]) * of[1] * (gamma ? gamma[c] : 1) + (beta ? beta[c] : 0);
}

static void forward(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    size_t n = size_of(w), all = groups(w);
    for (size_t r = op_from(w, chunk); r < op_to(w, chunk); r++)
        for (size_t i = 0; i < all; i++)
            forward_group(w, w->x[0] + r * w->ldx[0] + i * n, w->y + r * w->ldy + i * n,
                w->kept + 2 * (r * all + i));
}

// Adds to the sums of dgamma and dbeta, if there are some; d becomes dx.
static void backward_group(const op_work *w, const float *x, float *d, const float *of, float *sums)
{
    size_t n = size_of(w);
    const float *gamma = norm_at(w, w->w, NORM_GAMMA);
    double mean = 0, along = 0;
    for (size_t c = 0; c < n; c++) {
        float hat = (x[c] - of[0]) * of[1];
        if (sums) {
            sums[c] += d[c] * hat;
            sums[n + c] += d[c];
        }
        d[c] *= gamma ? gamma[c] : 1;
        mean += (double)d[c];
        along += (double)(d[c] * hat);
    }
    float m = (float)(mean / (double)n), a = (float)(along / (double)n);
    for (size_t c = 0; c < n; c++)
        d[c] = (d[c] - m - (x[c] - of[0]) * of[1] * a) * of[1];
}

static void backward(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    size_t n = size_of(w), all = groups(w), from = op_from(w, chunk), to = op_to(w, chunk);
    float *partial = w->kept + 2 * w->rows * all, *sums = partial + chunk * 2 * n;
    if (pass == 1) {
        size_t chunks = op_by_rows(w).chunks;
        for (size_t i = 1; i < chunks; i++)
            for (size_t c = 0; c < 2 * n; c++)
                partial[c] += partial[i * 2 * n + c];
        for (int k = NORM_GAMMA; k <= NORM_BETA; k++)
            if (norm_slope(w, k))
                memcpy(norm_slope(w, k), partial + (size_t)k * n, n * sizeof *partial);
        return;
    }
    memset(sums, 0, 2 * n * sizeof *sums);
    for (size_t r = from; r < to; r++)
        for (size_t i = 0; i < all; i++)
            backward_group(w, w->x[0] + r * w->ldx[0] + i * n, w->dy + r * w->ldy + i * n,
                w->kept + 2 * (r * all + i), trains(w) ? sums : NULL);
    op_give(w, 0, w->dy + from * w->ldy, w->ldy, from, to);
}

static void to_onnx(const op_work *w, onnx *o)
{
    onnx_value scale = norm_to_onnx(w, o, NORM_GAMMA), shift = norm_to_onnx(w, o, NORM_BETA);
    onnx_value y = ONNX_NODE(o, "LayerNormalization", onnx_take(o, 0, ONNX_LAST), scale, shift);
    onnx_set_int(o, "axis", -norm_dims(w->layer));
    onnx_set_float(o, "epsilon", norm_own(w->layer)->epsilon);
    onnx_give(o, y, ONNX_LAST);
}

static const attribute attributes[] = {NORM_EPSILON_AND_WEIGHTS,
    {"axis", ATTRIBUTE_AXES, offsetof(norm_layer, axis), .sparse = true,
        .meaning = "The last dimension, or a list of the last ones."},
    {0}};

const op op_layer_normalization = {
    .kind = LAYER_LAYER_NORMALIZATION,
    .is = {.name = "LayerNormalization",
        .size = sizeof(norm_layer),
        .attributes = attributes,
        .places = "axis epsilon center scale",
        .about =
            "Normalises each row over its last dimension, or the last ones: axis = { -2, -1 }.",
        .formula = "gamma·(x - mean)/√(var + ε) + beta over the last dimension of each row, or "
                   "those that `axis` lists, up to the last; ε 0.001",
        .source = "Ba, Kiros & Hinton, arXiv 1607.06450",
        .example = "model = nn.Sequential { nn.Dense { 8, input_dim = 4 }, nn.LayerNormalization "
                   "{}, nn.Dense { 1 } }\n"
                   "print(model:count_params()) --> 65"},
    .least = 1,
    .most = 1,
    .infer = norm_infer,
    .parameters = norm_parameters,
    .reserve = reserve,
    .forward = forward,
    .backward = backward,
    .weight = {{"gamma", "gamma"}, {"beta", "beta"}},
    .onnx = to_onnx,
};
