// SPDX-License-Identifier: MIT
// Normalization, with a mean and a variance that are given: y = (x - mean)/max(√variance, 1e-7)
// over the last dimension;  dx = dy/max(√variance, 1e-7)
//
// One number counts for all channels, otherwise each has its own.
#include "base/mem.h"
#include "trainer/nn/onnx.h"
#include "trainer/nn/op/op.h"

#include <math.h>

static int infer(const layer_spec *l, size_t n, const row_shape *in, row_shape *out, err *e)
{
    *out = *in;
    if (l->constants < 1 || l->constants > LAYER_CONSTANTS)
        return err_set(
            e, ERR_USAGE, "must have a mean and a variance of 1 to %d numbers", LAYER_CONSTANTS);
    for (size_t c = 0; c < l->constants; c++)
        if (!isfinite(l->mean[c]) || !(l->variance[c] >= 0) || !isfinite(l->variance[c]))
            return err_set(e, ERR_USAGE, "must have finite means, and variances of 0 or more");
    return l->constants == 1 || l->constants == op_last(in)
               ? 0
               : err_set(e, ERR_USAGE, "has %zu means, its input has %zu channels", l->constants,
                     op_last(in));
}

static void reserve(const op_work *w, op_need *need)
{
    need->forward[0] = need->backward[0] = op_by_rows(w);
}

static float mean_of(const layer_spec *l, size_t c)
{
    return (float)l->mean[c % l->constants];
}

static float scale_of(const layer_spec *l, size_t c)
{
    float deviation = sqrtf((float)l->variance[c % l->constants]);
    return 1 / (deviation > 1e-7f ? deviation : 1e-7f);
}

static void forward(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    size_t n = shape_size(&w->out), step = w->layer->constants;
    for (size_t c = 0; c < step; c++) {
        float mean = mean_of(w->layer, c), scale = scale_of(w->layer, c);
        for (size_t r = op_from(w, chunk); r < op_to(w, chunk); r++)
            for (size_t i = c; i < n; i += step)
                w->y[r * w->ldy + i] = (w->x[0][r * w->ldx[0] + i] - mean) * scale;
    }
}

static void backward(const op_work *w, size_t pass, size_t chunk, float *scratch)
{
    size_t n = shape_size(&w->out), step = w->layer->constants;
    size_t from = op_from(w, chunk), to = op_to(w, chunk);
    for (size_t c = 0; c < step; c++) {
        float scale = scale_of(w->layer, c);
        for (size_t r = from; r < to; r++)
            for (size_t i = c; i < n; i += step)
                w->dy[r * w->ldy + i] *= scale;
    }
    op_give(w, 0, w->dy + from * w->ldy, w->ldy, from, to);
}

static void write(const layer_spec *l, cJSON *j)
{
    cJSON *mean = json_array_at(j, "mean"), *variance = json_array_at(j, "variance");
    for (size_t c = 0; c < l->constants; c++) {
        cJSON_AddItemToArray(mean, cJSON_CreateNumber(l->mean[c]));
        cJSON_AddItemToArray(variance, cJSON_CreateNumber(l->variance[c]));
    }
}

static double *numbers_of(const cJSON *list, size_t n)
{
    size_t i = 0;
    const cJSON *item;
    double *numbers = mem_array(n, sizeof *numbers);
    cJSON_ArrayForEach(item, list) numbers[i++] = cJSON_IsNumber(item) ? item->valuedouble : NAN;
    return numbers;
}

static int read(layer_spec *l, const cJSON *j, err *e)
{
    const cJSON *mean = json_get(j, "mean"), *variance = json_get(j, "variance");
    int n = cJSON_GetArraySize(mean);
    if (n < 1 || n > LAYER_CONSTANTS || cJSON_GetArraySize(variance) != n)
        return err_set(
            e, ERR_INVALID, "mean and variance must have 1 to %d numbers each", LAYER_CONSTANTS);
    l->constants = (size_t)n;
    l->mean = numbers_of(mean, (size_t)n); // config_model frees both
    l->variance = numbers_of(variance, (size_t)n);
    return 0;
}

static onnx_value list_of(
    const op_work *w, onnx *o, const char *name, float (*of)(const layer_spec *, size_t))
{
    size_t n = w->layer->constants;
    AUTO_FREE float *values = mem_array(n, sizeof *values);
    for (size_t c = 0; c < n; c++)
        values[c] = of(w->layer, c);
    return onnx_floats(o, name, n, values);
}

static void to_onnx(const op_work *w, onnx *o)
{
    onnx_value mean = list_of(w, o, "mean", mean_of), scale = list_of(w, o, "scale", scale_of);
    onnx_value less = ONNX_NODE(o, "Sub", onnx_take(o, 0, ONNX_LAST), mean);
    onnx_give(o, ONNX_NODE(o, "Mul", less, scale), ONNX_LAST);
}

const op op_constant_normalization = {
    .kind = LAYER_NORMALIZATION,
    .least = 1,
    .most = 1,
    .infer = infer,
    .reserve = reserve,
    .forward = forward,
    .backward = backward,
    .write = write,
    .read = read,
    .onnx = to_onnx,
};
