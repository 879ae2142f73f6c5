// SPDX-License-Identifier: MIT
#include "trainer/tensor/arrange.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

int tensor_axis(const tensor *t, int64_t axis, const char *what, err *e)
{
    if (axis >= -t->dims && axis < t->dims)
        return (int)(axis < 0 ? axis + t->dims : axis);
    AUTO_BUF shape = {0};
    tensor_shape_text(t, &shape);
    return err_set(e, ERR_USAGE, "%s: a tensor of shape %s has no axis %lld", what,
        buf_cstr(&shape), (long long)axis);
}

tensor *tensor_copy(const tensor *t, err *e)
{
    tensor *copy = tensor_new(t->type, t->dims, t->shape, e);
    size_t bytes = tensor_row_size(t) * tensor_type_size(t->type);
    if (!copy)
        return NULL;
    copy->scale = t->scale;
    for (size_t i = 0; i < tensor_rows(t) && bytes; i++)
        memcpy((char *)copy->data + i * bytes, tensor_row_data(t, i), bytes);
    return copy;
}

static int put_integer(tensor *to, size_t i, double value, err *e)
{
    static const struct {
        double least, below;
    } range[TENSOR_TYPE_COUNT] = {[TENSOR_U8] = {0, 256},
        [TENSOR_I16] = {-0x1p15, 0x1p15},
        [TENSOR_I32] = {-0x1p31, 0x1p31},
        [TENSOR_I64] = {-0x1p63, 0x1p63}};
    if (!(trunc(value) >= range[to->type].least && value < range[to->type].below))
        return err_set(
            e, ERR_USAGE, "cast: %g at index %zu is no %s", value, i, tensor_type_name(to->type));
    if (to->type == TENSOR_U8)
        ((uint8_t *)to->data)[i] = (uint8_t)value;
    else if (to->type == TENSOR_I16)
        ((int16_t *)to->data)[i] = (int16_t)value;
    else if (to->type == TENSOR_I32)
        ((int32_t *)to->data)[i] = (int32_t)value;
    else
        ((int64_t *)to->data)[i] = (int64_t)value;
    return 0;
}

static int convert(tensor *to, const tensor *t, err *e)
{
    bool whole = tensor_is_integer(t);
    if (whole && to->type == TENSOR_I64) {
        tensor_integers(t, 0, tensor_count(t), to->data);
        return 0;
    }
    for (size_t i = 0; i < tensor_count(t); i++)
        if (to->type == TENSOR_F32)
            ((float *)to->data)[i] = (float)tensor_at(t, i);
        else if (put_integer(to, i, tensor_at(t, i), e) < 0)
            return -1;
    return 0;
}

tensor *tensor_cast(const tensor *t, tensor_type type, err *e)
{
    if (t->type == type && t->scale == 1)
        return tensor_ref(t);
    tensor *to = tensor_new(type, t->dims, t->shape, e);
    if (to && convert(to, t, e) < 0) {
        tensor_free(to);
        return NULL;
    }
    return to;
}

static size_t clip(int64_t i, size_t n)
{
    if (i < 0)
        return (uint64_t)-i > n ? 0 : n - (size_t)-i;
    return (uint64_t)i > n ? n : (size_t)i;
}

tensor *tensor_columns(const tensor *t, int64_t from, int64_t to, err *e)
{
    if (t->dims < 2) {
        AUTO_BUF shape = {0};
        tensor_shape_text(t, &shape);
        err_set(e, ERR_USAGE, "columns: a tensor of shape %s has no columns", buf_cstr(&shape));
        return NULL;
    }
    size_t first = clip(from, t->shape[1]), last = clip(to, t->shape[1]);
    size_t each = t->shape[1] ? tensor_row_size(t) / t->shape[1] : 0;
    tensor *view = tensor_ref(t);
    view->shape[1] = last > first ? last - first : 0;
    if (view->shape[1])
        view->data = (char *)view->data + first * each * tensor_type_size(t->type);
    return view;
}

static int read_axes(const tensor *t, const int64_t *axes, int *out, err *e)
{
    unsigned seen = 0;
    for (int i = 0; i < t->dims; i++) {
        out[i] = axes ? tensor_axis(t, axes[i], "transpose", e) : t->dims - 1 - i;
        if (out[i] < 0)
            return -1;
        seen |= 1u << out[i];
    }
    return seen == (1u << t->dims) - 1 ? 0
                                       : err_set(e, ERR_USAGE, "transpose: an axis is named twice");
}

tensor *tensor_transpose(const tensor *t, const int64_t *axes, err *e)
{
    int from[TENSOR_MAX_DIMS] = {0};
    size_t shape[TENSOR_MAX_DIMS] = {0}, step[TENSOR_MAX_DIMS] = {0}, at[TENSOR_MAX_DIMS] = {0};
    if (read_axes(t, axes, from, e) < 0)
        return NULL;
    for (int i = 0; i < t->dims; i++) {
        shape[i] = t->shape[from[i]];
        step[i] = from[i] ? 1 : t->stride;
        for (int d = from[i] + 1; from[i] && d < t->dims; d++)
            step[i] *= t->shape[d];
    }
    tensor *out = tensor_new(t->type, t->dims, shape, e);
    if (!out)
        return NULL;
    out->scale = t->scale;
    size_t size = tensor_type_size(t->type), place = 0;
    for (size_t i = 0; i < tensor_count(t); i++) {
        memcpy((char *)out->data + i * size, (const char *)t->data + place * size, size);
        for (int d = t->dims - 1; d >= 0; d--) { // the next index, and its offset
            place += step[d];
            if (++at[d] < shape[d])
                break;
            place -= step[d] * shape[d];
            at[d] = 0;
        }
    }
    return out;
}

// The common type of all of them.
static tensor_type common_type(const tensor *const *list, size_t n)
{
    bool same = true, integers = true;
    for (size_t i = 0; i < n; i++) {
        same = same && list[i]->type == list[0]->type && list[i]->scale == list[0]->scale;
        integers = integers && tensor_is_integer(list[i]);
    }
    return same ? list[0]->type : integers ? TENSOR_I64 : TENSOR_F32;
}

static int check_beside(const tensor *a, const tensor *b, int axis, err *e)
{
    bool fits = a->dims == b->dims;
    for (int d = 0; fits && d < a->dims; d++)
        fits = d == axis || a->shape[d] == b->shape[d];
    if (fits)
        return 0;
    AUTO_BUF mine = {0}, theirs = {0};
    tensor_shape_text(a, &mine);
    tensor_shape_text(b, &theirs);
    return err_set(e, ERR_USAGE, "concatenate: shapes %s and %s do not fit along axis %d",
        buf_cstr(&mine), buf_cstr(&theirs), axis);
}

// Copies t into the part of the result that begins at entry `from` of the dimension.
static int put_beside(tensor *out, const tensor *t, int axis, size_t from, err *e)
{
    tensor *plain = t->type == out->type ? tensor_copy(t, e) : tensor_cast(t, out->type, e);
    if (!plain)
        return -1;
    size_t outer = 1, inner = tensor_type_size(out->type);
    for (int d = 0; d < axis; d++)
        outer *= t->shape[d];
    for (int d = axis + 1; d < t->dims; d++)
        inner *= t->shape[d];
    size_t block = inner * t->shape[axis], whole = inner * out->shape[axis];
    for (size_t i = 0; block && i < outer; i++)
        memcpy(
            (char *)out->data + i * whole + from * inner, (char *)plain->data + i * block, block);
    tensor_free(plain);
    return 0;
}

tensor *tensor_concatenate(const tensor *const *list, size_t n, int64_t along, err *e)
{
    int axis = n ? tensor_axis(list[0], along, "concatenate", e)
                 : err_set(e, ERR_USAGE, "concatenate: there are no tensors");
    size_t shape[TENSOR_MAX_DIMS], from = 0;
    if (axis < 0)
        return NULL;
    memcpy(shape, list[0]->shape, sizeof shape);
    for (size_t i = 1; i < n; i++) {
        if (check_beside(list[0], list[i], axis, e) < 0)
            return NULL;
        shape[axis] += list[i]->shape[axis];
    }
    tensor_type type = common_type(list, n);
    tensor *out = tensor_new(type, list[0]->dims, shape, e);
    int status = out ? 0 : -1;
    if (out && type == TENSOR_U8)
        out->scale = list[0]->scale;
    for (size_t i = 0; i < n && status == 0; from += list[i++]->shape[axis])
        status = put_beside(out, list[i], axis, from, e);
    if (status == 0)
        return out;
    tensor_free(out);
    return NULL;
}

tensor *tensor_take(const tensor *t, const tensor *rows, err *e)
{
    if (!t->dims || rows->dims != 1 || !tensor_is_integer(rows)) {
        err_set(e, ERR_USAGE, "take: expects a list of the numbers of rows");
        return NULL;
    }
    size_t n = tensor_count(rows);
    int64_t have = (int64_t)t->shape[0];
    AUTO_FREE uint32_t *chosen = mem_array(n ? n : 1, sizeof *chosen);
    for (size_t i = 0; i < n; i++) {
        int64_t row = tensor_integer_at(rows, i);
        if (row < -have || row >= have || have > UINT32_MAX) {
            err_set(e, ERR_USAGE, "take: row %lld is out of range: the tensor has %lld rows",
                (long long)row, (long long)have);
            return NULL;
        }
        chosen[i] = (uint32_t)(row < 0 ? row + have : row);
    }
    return tensor_gather(t, chosen, n, e);
}
