// SPDX-License-Identifier: MIT
// Dropout: y = x·m/(1-rate) in training, m[i] = 0 with probability rate, else 1; y = x otherwise.
// Srivastava and others 2014. The factors are computed again for backward: that costs less than to
// keep them.
#include "trainer/nn/op/op.h"

#include "trainer/nn/noise.h"
#include "trainer/nn/onnx.h"

#include <string.h>

static void reserve(const op_work *w, op_need *need)
{
    need->forward[0] = need->backward[0] = op_by_rows(w);
}

// out = in·m/(1-rate) for row r; they may be the same.
static void apply(const op_work *w, float *out, const float *in, size_t r)
{
    size_t n = shape_size(w->in);
    noise factors = noise_new(w->noise, w->layer->rate);
    if (!w->train || !(w->layer->rate > 0)) {
        memmove(out, in, n * sizeof *out);
        return;
    }
    for (size_t c = 0; c < n; c++)
        out[c] = in[c] * noise_at(factors, r, c);
}

static void forward(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    for (size_t r = op_from(w, chunk); r < op_to(w, chunk); r++)
        apply(w, w->y + r * w->ldy, w->x[0] + r * w->ldx[0], r);
}

static void backward(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    size_t from = op_from(w, chunk), to = op_to(w, chunk);
    for (size_t r = from; r < to; r++)
        apply(w, w->dy + r * w->ldy, w->dy + r * w->ldy, r);
    op_give(w, 0, w->dy + from * w->ldy, w->ldy, from, to);
}

static void write(const layer_spec *l, cJSON *j)
{
    json_set(j, "rate", cJSON_CreateNumber((double)l->rate));
}

static int read(layer_spec *l, const cJSON *j, err *e)
{
    const cJSON *rate = json_get(j, "rate");
    l->rate = cJSON_IsNumber(rate) ? (float)rate->valuedouble : 0;
    return 0;
}

static void to_onnx(const op_work *w, onnx *o)
{
    onnx_layout layout = onnx_given(o);
    onnx_give(o, onnx_take(o, 0, layout), layout);
}

const op op_dropout = {
    .kind = LAYER_DROPOUT,
    .least = 1,
    .most = 1,
    .infer = op_same_shape,
    .reserve = reserve,
    .forward = forward,
    .backward = backward,
    .write = write,
    .read = read,
    .onnx = to_onnx,
};
