// SPDX-License-Identifier: MIT
// Numbers in files have more types than tensors; here are their conversions: reals become F32,
// bytes and truth values U8, signed integers of 2 and 4 bytes I16 and I32, all others I64.
#pragma once
#include "base/buf.h"
#include "trainer/tensor/tensor.h"

typedef struct stored_type {
    // 'f' IEEE 754 (of one byte: E5M2, the upper half of an F16), 'g' bfloat16, 'n' E4M3, 'i' and
    // 'u' integers, 'b' truth values
    char kind;
    size_t bytes; // 1, 2, 4 or 8
    bool big;     // the first byte is the highest
} stored_type;

tensor_type stored_as(stored_type type);
// Are the bytes in the file the same as in a tensor?
bool stored_is_native(stored_type type);
// Number `from` of a run of them becomes number `to` of a tensor that lies in one piece. ERR_LIMIT:
// it is greater than an I64.
int stored_read(stored_type type, const void *run, size_t from, tensor *t, size_t to, err *e);

// The type of a tensor's numbers in a file: its own, but bytes with a scale become F32. The second
// function appends them, row after row.
tensor_type stored_written_as(const tensor *t);
void stored_write(const tensor *t, buf *out);
