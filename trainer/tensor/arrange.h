// SPDX-License-Identifier: MIT
// Slices, joins and rearranges tensors. A function described as a view shares the memory of its
// tensor; all others make copies without gaps.
#pragma once
#include "trainer/tensor/tensor.h"

// The numbers as another type, in the same shape: rounded towards 0 for integers; an error for
// numbers that the type cannot hold. A view if nothing changes.
tensor *tensor_cast(const tensor *t, tensor_type type, err *e);
// A copy.
tensor *tensor_copy(const tensor *t, err *e);
// Columns [from, to) of every row, t[:, from:to]: a view.
tensor *tensor_columns(const tensor *t, int64_t from, int64_t to, err *e);
// Dimension i of the result is dimension axes[i]; axes NULL: in reverse order.
tensor *tensor_transpose(const tensor *t, const int64_t *axes, err *e);
// Side by side along a dimension; all other sizes are the same. f32 unless all have one type, or
// are integers.
tensor *tensor_concatenate(const tensor *const *list, size_t n, int64_t axis, err *e);
// The rows whose indices are in a tensor of integers; negative ones count from the end.
tensor *tensor_take(const tensor *t, const tensor *rows, err *e);
// A dimension as callers count it, from 0 or from -1 for the last; -1 with e when there is none.
int tensor_axis(const tensor *t, int64_t axis, const char *what, err *e);
