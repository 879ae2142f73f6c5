// SPDX-License-Identifier: MIT
// NumPy's .npy files: one array. The format is
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html, versions 1 to 3.
//
//   in the file                      tensor
//   f2 f4 f8                         F32, rounded
//   i1 i2 i4 i8, u2 u4, u8 to 2^63   I64
//   u1, bool                         U8
//
// of either byte order, in C or Fortran order. Text, complex numbers, dates, objects and records
// are errors that say so.
#pragma once
#include "base/buf.h"
#include "trainer/tensor/tensor.h"

tensor *npy_parse(const void *bytes, size_t n, err *e);
// The same from bytes that it frees, or that the tensor keeps.
tensor *npy_take(void *bytes, size_t n, err *e);
// Is this the start of a file of `total` bytes, according to its header? The start must include the
// header.
int npy_check(const void *bytes, size_t n, size_t total, err *e);
// Errors start with the path.
tensor *npy_read(const char *path, err *e);
// The mapped file itself as the tensor: reads nothing before it is used, and changes do not reach
// the file. Only for f4, i8 and u1 of this machine's byte order, in C order.
tensor *npy_map(const char *path, err *e);
// Appends the tensor as a file of f4, u1 or i8; a U8 with a scale becomes f4.
void npy_format(const tensor *t, buf *out);
int npy_write(const char *path, const tensor *t, err *e);
