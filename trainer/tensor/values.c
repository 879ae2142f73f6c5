// SPDX-License-Identifier: MIT
// Reads single values, computes reductions, and prints tensors as text.
#include "trainer/tensor/tensor.h"

#include <math.h>

// NumPy shortens at 1000 elements to 3 on each side; so do we.
enum { FORMAT_ALL = 1000, FORMAT_EDGE = 3 };

// Drops the sign of a nan: printf would show it as "-nan".
static double without_sign(double value)
{
    return isnan(value) ? (double)NAN : value;
}

// The offset of element i, in elements. Most tensors have no gaps, and a division costs more than
// the rest of reading a number.
static size_t place(const tensor *t, size_t i)
{
    size_t width = tensor_row_size(t);
    return width == t->stride ? i : width == 1 ? i * t->stride : i / width * t->stride + i % width;
}

double tensor_at(const tensor *t, size_t i)
{
    size_t at = place(t, i);
    switch (t->type) {
    case TENSOR_U8:
        return (double)((float)((const uint8_t *)t->data)[at] * t->scale);
    case TENSOR_I64:
        return (double)((const int64_t *)t->data)[at];
    case TENSOR_I32:
        return (double)((const int32_t *)t->data)[at];
    case TENSOR_I16:
        return (double)((const int16_t *)t->data)[at];
    default:
        return without_sign((double)((const float *)t->data)[at]);
    }
}

int64_t tensor_integer_at(const tensor *t, size_t i)
{
    size_t at = place(t, i);
    switch (t->type) {
    case TENSOR_I64:
        return ((const int64_t *)t->data)[at];
    case TENSOR_I32:
        return ((const int32_t *)t->data)[at];
    case TENSOR_I16:
        return ((const int16_t *)t->data)[at];
    default:
        return (int64_t)tensor_at(t, i);
    }
}

// Copies n elements from `run` into `out` as its type, and returns.
#define FROM(type, element)                                                                        \
    case TENSOR_##type:                                                                            \
        for (size_t i = 0; i < n; i++)                                                             \
            out[i] = (__typeof__(*out))((const element *)run)[i];                                  \
        return;
#define FROM_INTEGERS FROM(I64, int64_t) FROM(I32, int32_t) FROM(I16, int16_t)

static const void *run_of(const tensor *t, size_t from)
{
    return (const char *)t->data + from * tensor_type_size(t->type);
}

void tensor_numbers(const tensor *t, size_t from, size_t n, double *out)
{
    const void *run = run_of(t, from);
    if (!tensor_has_gaps(t))
        switch (t->type) {
            FROM_INTEGERS
        default: // a byte has a scale, and a nan a sign
            break;
        }
    for (size_t i = 0; i < n; i++)
        out[i] = tensor_at(t, from + i);
}

void tensor_integers(const tensor *t, size_t from, size_t n, int64_t *out)
{
    const void *run = run_of(t, from);
    if (!tensor_has_gaps(t))
        switch (t->type) {
            FROM_INTEGERS FROM(U8, uint8_t) default : break;
        }
    for (size_t i = 0; i < n; i++)
        out[i] = tensor_integer_at(t, from + i);
}

void tensor_integer_row(tensor_type type, const void *run, size_t n, float *out)
{
    switch (type) {
        FROM_INTEGERS
    default:
        return;
    }
}

int tensor_set(tensor *t, size_t i, double value, err *e)
{
    size_t width = tensor_row_size(t);
    if (i >= tensor_count(t))
        return err_set(e, ERR_USAGE, "index %zu is out of range: the tensor has %zu elements", i,
            tensor_count(t));
    void *row = (void *)tensor_row_data(t, i / width);
    if (t->type == TENSOR_U8)
        return err_set(e, ERR_USAGE, "a u8 tensor is read-only");
    if (t->type == TENSOR_F32)
        ((float *)row)[i % width] = (float)value;
    else if (t->type == TENSOR_I32 && value >= -0x1p31 && value < 0x1p31)
        ((int32_t *)row)[i % width] = (int32_t)value;
    else if (t->type == TENSOR_I16 && value >= INT16_MIN && value <= INT16_MAX)
        ((int16_t *)row)[i % width] = (int16_t)value;
    else if (t->type == TENSOR_I64 && value >= -0x1p63 && value < 0x1p63)
        ((int64_t *)row)[i % width] = (int64_t)value;
    else
        return err_set(
            e, ERR_USAGE, "%g is no %zu-bit integer", value, 8 * tensor_type_size(t->type));
    return 0;
}

// The index of the first greatest element of [from, to), relative to `from`.
static int64_t argmax(const tensor *t, size_t from, size_t to)
{
    size_t best = from;
    for (size_t i = from + 1; i < to; i++)
        if (tensor_at(t, i) > tensor_at(t, best))
            best = i;
    return (int64_t)(best - from);
}

int64_t tensor_argmax(const tensor *t, err *e)
{
    if (!tensor_count(t))
        return err_set(e, ERR_USAGE, "argmax: the tensor is empty");
    return argmax(t, 0, tensor_count(t));
}

tensor *tensor_argmax_rows(const tensor *t, err *e)
{
    size_t width = tensor_row_size(t), n = tensor_rows(t);
    if (!width || !t->dims) {
        err_set(e, ERR_USAGE, "argmax: the rows are empty");
        return NULL;
    }
    tensor *out = tensor_new(TENSOR_I64, 1, &n, e);
    for (size_t i = 0; out && i < n; i++)
        ((int64_t *)out->data)[i] = argmax(t, i * width, (i + 1) * width);
    return out;
}

double tensor_sum(const tensor *t)
{
    double sum = 0;
    for (size_t i = 0; i < tensor_count(t); i++)
        sum += tensor_at(t, i);
    return without_sign(sum);
}

void shape_text(int dims, const size_t *shape, buf *out)
{
    buf_char(out, '(');
    for (int i = 0; i < dims; i++)
        buf_fmt(out, "%s%zu", i ? ", " : "", shape[i]);
    buf_str(out, dims == 1 ? ",)" : ")");
}

void tensor_shape_text(const tensor *t, buf *out)
{
    shape_text(t->dims, t->shape, out);
}

// Drops the sign of a nan, which printf would show: "-nan".
static void format_real(double value, buf *out)
{
    if (isnan(value))
        buf_str(out, "nan");
    else
        buf_fmt(out, "%.6g", value);
}

// Formats the block of dimension `dim` whose first element has index `at`.
static void format_block(const tensor *t, int dim, size_t at, buf *out)
{
    if (dim == t->dims) {
        if (tensor_is_integer(t))
            buf_fmt(out, "%lld", (long long)tensor_integer_at(t, at));
        else
            format_real(tensor_at(t, at), out);
        return;
    }
    size_t n = t->shape[dim], block = 1;
    for (int d = dim + 1; d < t->dims; d++)
        block *= t->shape[d];
    buf_char(out, '[');
    for (size_t i = 0; i < n; i++) {
        if (tensor_count(t) > FORMAT_ALL && n > 2 * FORMAT_EDGE && i == FORMAT_EDGE) {
            buf_str(out, ", ...");
            i = n - FORMAT_EDGE;
        }
        if (i) {
            buf_str(out, dim == t->dims - 1 ? ", " : ",\n");
            for (int d = 0; dim < t->dims - 1 && d <= dim; d++)
                buf_char(out, ' ');
        }
        format_block(t, dim + 1, at + i * block, out);
    }
    buf_char(out, ']');
}

void tensor_format(const tensor *t, buf *out)
{
    format_block(t, 0, 0, out);
}
