// SPDX-License-Identifier: MIT
#include "trainer/nn/op/op.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

extern const op op_flatten, op_dense, op_dropout, op_input, op_activation, op_reshape, op_add,
    op_concatenate, op_embedding, op_layer_normalization, op_batch_normalization, op_conv2d,
    op_max_pooling2d, op_average_pooling2d, op_global_average_pooling2d, op_rescaling,
    op_grouped_conv2d, op_zero_padding2d, op_global_max_pooling2d, op_relu, op_random_flip,
    op_random_crop, op_center_crop, op_constant_normalization, op_separable_conv2d, op_conv1d,
    op_max_pooling1d, op_average_pooling1d, op_global_average_pooling1d, op_global_max_pooling1d;

const op *op_of(layer_kind kind)
{
    static const op *const all[] = {&op_flatten, &op_dense, &op_dropout, &op_input, &op_activation,
        &op_reshape, &op_add, &op_concatenate, &op_embedding, &op_layer_normalization,
        &op_batch_normalization, &op_conv2d, &op_max_pooling2d, &op_average_pooling2d,
        &op_global_average_pooling2d, &op_rescaling, &op_grouped_conv2d, &op_zero_padding2d,
        &op_global_max_pooling2d, &op_relu, &op_random_flip, &op_random_crop, &op_center_crop,
        &op_constant_normalization, &op_separable_conv2d, &op_conv1d, &op_max_pooling1d,
        &op_average_pooling1d, &op_global_average_pooling1d, &op_global_max_pooling1d};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (all[i]->kind == kind)
            return all[i];
    return NULL;
}

const op *op_of_layer(const layer_spec *l)
{
    return l->kind == LAYER_CONV2D && l->groups > 1 ? &op_grouped_conv2d : op_of(l->kind);
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

int op_read_number(const cJSON *j, const char *key, double otherwise, double *out, err *e)
{
    const cJSON *number = json_get(j, key);
    *out = cJSON_IsNumber(number) ? number->valuedouble : otherwise;
    return isfinite(*out) ? 0 : err_set(e, ERR_INVALID, "%s is not finite", key);
}

static bool read_size(const cJSON *j, bool zero, size_t *size)
{
    int64_t n;
    if (!j || !json_int(j, &n) || n < !zero || n > OP_UNITS_MAX)
        return false;
    *size = (size_t)n;
    return true;
}

size_t op_size(const cJSON *j, const char *key)
{
    size_t n;
    return read_size(json_get(j, key), false, &n) ? n : 0;
}

void op_write_sizes(cJSON *j, const char *key, const size_t *sizes, size_t n)
{
    cJSON *list = json_array_at(j, key);
    for (size_t i = 0; i < n; i++)
        cJSON_AddItemToArray(list, cJSON_CreateNumber((double)sizes[i]));
}

int op_read_sizes(const cJSON *j, const char *key, size_t *sizes, int most, bool zeros, err *e)
{
    const cJSON *item;
    int n = 0;
    cJSON_ArrayForEach(item, json_get(j, key))
    {
        if (n == most || !read_size(item, zeros, &sizes[n++]))
            return err_set(e, ERR_INVALID, "\"%s\" is not a list of at most %d sizes", key, most);
    }
    return n;
}
