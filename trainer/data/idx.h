// SPDX-License-Identifier: MIT
// Reads IDX files, the format of MNIST and its relatives: plain or gzipped, told by their bytes.
// Layout (big-endian): 0 0 TYPE DIMS, then DIMS sizes of 4 bytes, then the elements.
// http://yann.lecun.com/exdb/mnist/ ; types here: 0x08 u8, 0x0B i16, 0x0C i32 (both to I64), 0x0D
// f32.
#pragma once
#include "base/err.h"
#include "trainer/tensor/tensor.h"

// The file's tensor. When sha256 is not NULL the file's bytes, as stored, must have that sum.
// Errors name the file and what is wrong: NOT_FOUND, CORRUPT (gzip, magic, truncated, trailing
// bytes, wrong sum), LIMIT.
tensor *idx_read(const char *path, const char *sha256, err *e);
// The same from memory, not gzipped.
tensor *idx_parse(const void *bytes, size_t n, err *e);
// Unpacks gzip, at most `limit` bytes; CORRUPT says where it broke.
int gzip_unpack(const void *bytes, size_t n, size_t limit, buf *out, err *e);
