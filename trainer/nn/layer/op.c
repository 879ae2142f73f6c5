// SPDX-License-Identifier: MIT
#include "trainer/nn/layer/op.h"

#include "trainer/nn/layer/layers.h"

#include <string.h>

#define LAYER(name, id, file) extern const op op_##id;
#include "trainer/nn/layer/layers.def"
#undef LAYER

const op *op_of(layer_kind kind)
{
    static const op *const all[] = {
#define LAYER(name, id, file) [LAYER_##name] = &op_##id,
#include "trainer/nn/layer/layers.def"
#undef LAYER
    };
    return all[kind];
}

// A Conv2D with groups is computed as a DepthwiseConv2D is.
const op *op_of_layer(const layer_spec *l)
{
    const window_layer *own = l->own;
    return l->kind == LAYER_CONV2D && own->groups > 1 ? &op_depthwise_conv2d : op_of(l->kind);
}

int op_same_shape(const layer_spec *l, size_t n, const row_shape *in, row_shape *out, err *e)
{
    *out = in[0];
    return 0;
}

int op_expect_picture(const row_shape *in, err *e)
{
    AUTO_BUF have = {0};
    shape_text(in->dims, in->size, &have);
    return in->dims == 3 ? 0
                         : err_set(e, ERR_USAGE,
                               "expects rows of three dimensions (height, width, channels), got %s",
                               buf_cstr(&have));
}

bool op_always(const op_work *w)
{
    return true;
}

void op_give(const op_work *w, size_t i, const void *values, size_t ld, size_t from, size_t to)
{
    size_t n = shape_size(&w->in[i]);
    if (!w->dx[i])
        return;
    for (size_t r = from; r < to; r++) {
        void *out = op_at(w, w->dx[i], w->ldx[i], r);
        const void *v = op_at(w, values, ld, r - from);
        if (!w->add[i])
            memcpy(out, v, op_bytes(w, n));
        else
            op_channels(w)->add_up(out, v, n);
    }
}

enum { BLOCK = 1024 };

// Floats of some bf16, and back.
static void activate_half(const op_work *w, uint16_t *y, size_t n)
{
    _Alignas(64) float block[BLOCK];
    for (size_t i = 0; i < n; i += BLOCK) {
        size_t count = n - i < BLOCK ? n - i : BLOCK;
        w->cpu->widen(block, y + i, count);
        w->cpu->activate(w->f, block, BLOCK, 1, op_round(count, 16));
        w->cpu->halve(y + i, block, count);
    }
}

static void derive_half(const op_work *w, uint16_t *d, const uint16_t *of, size_t n)
{
    _Alignas(64) float block[BLOCK], source[BLOCK];
    for (size_t i = 0; i < n; i += BLOCK) {
        size_t count = n - i < BLOCK ? n - i : BLOCK;
        w->cpu->widen(block, d + i, count);
        w->cpu->widen(source, of + i, count);
        w->cpu->derive(w->f, block, BLOCK, source, BLOCK, 1, op_round(count, 16));
        w->cpu->halve(d + i, block, count);
    }
}

void op_activate(const op_work *w, float *y, float *z, size_t ld, size_t rows, size_t n)
{
    if (z && !activation_is_of_output(w->f))
        memcpy(z, y, op_bytes(w, rows * ld));
    if (w->f == ACTIVATION_LINEAR)
        return;
    for (size_t r = 0; w->half && r < rows; r++)
        activate_half(w, op_at(w, y, ld, r), n);
    if (w->half)
        return;
    if (w->f == ACTIVATION_SOFTMAX)
        w->cpu->softmax(y, ld, rows, n, NULL);
    else
        w->cpu->activate(w->f, y, ld, rows, op_round(n, 16));
}

// dL/dz[i] = y[i]·(d[i] - Σ d[j]·y[j])
static void derive_softmax(float *d, const float *y, size_t ld, size_t rows, size_t n)
{
    for (size_t r = 0; r < rows; r++, d += ld, y += ld) {
        float sum = 0;
        for (size_t j = 0; j < n; j++)
            sum += d[j] * y[j];
        for (size_t j = 0; j < n; j++)
            d[j] = y[j] * (d[j] - sum);
    }
}

void op_derive(
    const op_work *w, float *d, const float *y, const float *z, size_t ld, size_t rows, size_t n)
{
    const float *of = activation_is_of_output(w->f) ? y : z;
    if (w->half && w->f != ACTIVATION_LINEAR)
        for (size_t r = 0; r < rows; r++)
            derive_half(w, op_at(w, d, ld, r), op_at(w, of, ld, r), n);
    else if (w->f == ACTIVATION_SOFTMAX)
        derive_softmax(d, y, ld, rows, n);
    else if (w->f != ACTIVATION_LINEAR)
        w->cpu->derive(w->f, d, ld, of, ld, rows, op_round(n, 16));
}

void op_sum_ranks(const op_work *w, double *values, size_t n)
{
    op_ranks *r = w->ranks;
    if (r && !r->failed)
        r->failed = r->sum(r->ctx, values, n, w->layer->name, &r->error) < 0;
}

void op_sum(float *out, const float *partial, size_t n, size_t chunks)
{
    memcpy(out, partial, n * sizeof *out);
    for (size_t i = 1; i < chunks; i++)
        for (size_t k = 0; k < n; k++)
            out[k] += partial[i * n + k];
}
