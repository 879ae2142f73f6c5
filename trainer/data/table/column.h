// SPDX-License-Identifier: MIT
// Columns as tables keep them: integers in the narrowest of U8, I16, I32 and I64 that holds them
// all, other numbers as F32. tensor_integer_at and tensor_at read the same values from each type.
#pragma once
#include "trainer/tensor/tensor.h"

// The type for integers from least to most.
tensor_type column_type(int64_t least, int64_t most);
// Takes a tensor of one number a row and converts an I64 to the narrowest type; other types stay as
// they are. NULL passes through.
tensor *column_narrow(tensor *t, err *e);
// n integers from row `at` on; the column's type must hold them.
void column_put(tensor *column, size_t at, const int64_t *values, size_t n);
// Sets one integer. A column that is too narrow for it becomes a wider one.
int column_set(tensor **column, size_t row, int64_t value, err *e);
// The smallest and the largest of an integer column; 0 and 0 of an empty one.
void column_range(const tensor *column, int64_t *least, int64_t *most);

enum { COLUMN_BLOCK = 1024 }; // rows that are processed together
