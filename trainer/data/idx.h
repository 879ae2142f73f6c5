// SPDX-License-Identifier: MIT
// Reads IDX files, the format of MNIST and its relatives: plain or gzipped, as their first bytes
// tell.
//
//   0 0 TYPE DIMS   DIMS sizes of 4 bytes, big-endian   the elements, big-endian, last index
//   fastest
//
// TYPE 0x08 is u8, 0x0B i16 and 0x0C i32 (both read as I64), 0x0D f32.
#pragma once
#include "base/err.h"
#include "trainer/tensor/tensor.h"

// The file's tensor. If sum (64 hexadecimal digits) is not NULL, the stored bytes of the file must
// have this SHA-256. Errors name the file and the reason: NOT_FOUND; CORRUPT for a wrong checksum,
// gzip damage, a bad magic number, truncation, trailing bytes.
tensor *idx_read(const char *path, const char *sum, err *e);
// The same from bytes in memory, gzipped or not.
tensor *idx_parse(const void *bytes, size_t n, err *e);
