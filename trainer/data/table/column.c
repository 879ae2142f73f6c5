// SPDX-License-Identifier: MIT
#include "trainer/data/table/column.h"

tensor_type column_type(int64_t least, int64_t most)
{
    if (least >= 0 && most <= UINT8_MAX)
        return TENSOR_U8;
    if (least >= INT16_MIN && most <= INT16_MAX)
        return TENSOR_I16;
    return least >= INT32_MIN && most <= INT32_MAX ? TENSOR_I32 : TENSOR_I64;
}

void column_range(const tensor *column, int64_t *least, int64_t *most)
{
    int64_t block[COLUMN_BLOCK];
    size_t rows = tensor_rows(column);
    *least = INT64_MAX;
    *most = INT64_MIN;
    for (size_t at = 0, n; at < rows; at += n) {
        n = rows - at < COLUMN_BLOCK ? rows - at : COLUMN_BLOCK;
        tensor_integers(column, at, n, block);
        for (size_t i = 0; i < n; i++) {
            *least = block[i] < *least ? block[i] : *least;
            *most = block[i] > *most ? block[i] : *most;
        }
    }
    if (!rows)
        *least = *most = 0;
}

void column_put(tensor *column, size_t at, const int64_t *values, size_t n)
{
#define PUT(type, element)                                                                         \
    case TENSOR_##type:                                                                            \
        for (size_t i = 0; i < n; i++)                                                             \
            ((element *)column->data)[at + i] = (element)values[i];                                \
        return;
    switch (column->type) {
        PUT(U8, uint8_t)
        PUT(I16, int16_t)
        PUT(I32, int32_t)
        PUT(I64, int64_t)
    default:
        return;
    }
#undef PUT
}

// A copy of an integer column in another type, which holds its numbers.
static tensor *retype(const tensor *t, tensor_type type, err *e)
{
    int64_t block[COLUMN_BLOCK];
    size_t rows = tensor_rows(t);
    tensor *to = tensor_new(type, t->dims, t->shape, e);
    for (size_t at = 0, n; to && at < rows; at += n) {
        n = rows - at < COLUMN_BLOCK ? rows - at : COLUMN_BLOCK;
        tensor_integers(t, at, n, block);
        column_put(to, at, block, n);
    }
    return to;
}

tensor *column_narrow(tensor *t, err *e)
{
    int64_t least, most;
    if (!t || t->type != TENSOR_I64)
        return t;
    column_range(t, &least, &most);
    tensor_type type = column_type(least, most);
    if (type == TENSOR_I64)
        return t;
    tensor *narrow = retype(t, type, e);
    tensor_free(t);
    return narrow;
}

int column_set(tensor **column, size_t row, int64_t value, err *e)
{
    tensor_type type = column_type(value, value);
    if (tensor_type_size(type) > tensor_type_size((*column)->type)) {
        tensor *wider = retype(*column, type, e);
        if (!wider)
            return -1;
        tensor_free(*column);
        *column = wider;
    }
    column_put(*column, row, &value, 1);
    return 0;
}
