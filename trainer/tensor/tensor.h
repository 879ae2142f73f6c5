// SPDX-License-Identifier: MIT
// A tensor is a typed view of rows in shared, reference-counted memory. The holder of a `tensor *`
// owns that one view (tensor_free). Slices and shards copy nothing; they keep the shared memory
// alive.
//   shape (n, d1, d2, …): n rows, `stride` elements apart; each row is d1·d2·… elements without
//     gaps
//   a value is `stored × scale`: images stay bytes in memory and read as floats in [0, 1]
// Indices count from 0, ranges are half-open and negative numbers count from the end, as in NumPy.
#pragma once
#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

//  X(name, text, bytes). I32 is for indices, such as an Embedding's: half as large as I64; I16 is
// what tables keep small integers in.
// BF16, "bf16", 2, will stand behind I32: files have it already (stored.h), and it needs the second
// half of tensor_at, tensor_set and tensor_cast, gathering (flow.c, step.c), and F32 masters of
// weights beside it in a model.
#define TENSOR_TYPES(X)                                                                            \
    X(F32, "f32", 4)                                                                               \
    X(U8, "u8", 1)                                                                                 \
    X(I64, "i64", 8)                                                                               \
    X(I32, "i32", 4)                                                                               \
    X(I16, "i16", 2)

typedef enum tensor_type {
#define X(name, text, bytes) TENSOR_##name,
    TENSOR_TYPES(X)
#undef X
        TENSOR_TYPE_COUNT
} tensor_type;

enum { TENSOR_MAX_DIMS = 8 };

struct tensor_memory;

// Rows that are made on demand, such as pictures in files.
struct tensor_later {
    void *ctx;
    // Makes these rows: out is (n, a row), as F32. Any thread may call it, also several at once: a
    // feed makes the next batch while a callback reads rows. The implementation must be
    // thread-safe.
    int (*fill)(void *ctx, const uint32_t *rows, size_t n, float *out, err *e);
};

// Callers only read the fields.
typedef struct tensor {
    tensor_type type;
    int dims;                      // 0: a single number
    size_t shape[TENSOR_MAX_DIMS]; // shape[0] rows
    size_t stride;                 // elements from one row to the next
    float scale;                   // 1 for all but U8
    void *data;                    // the first element
    struct tensor_memory *memory;
    // NULL: the rows are in memory. Otherwise this tensor has only a shape (and one row of zeros,
    // for all): only feed.h reads its rows, and it is not sliced.
    const struct tensor_later *later;
    bool mapped; // its rows are in a file: reading one for the first time may wait for a disk
} tensor;

// A tensor of zeros with scale 1. ERR_LIMIT: the size overflows, or there is no memory for it.
tensor *tensor_new(tensor_type type, int dims, const size_t *shape, err *e);
// A copy of contiguous elements.
tensor *tensor_from(tensor_type type, int dims, const size_t *shape, const void *elements, err *e);
// A tensor over elements elsewhere, such as in a mapped file: `release(owner)` is called when the
// last view is freed; after an error it is not called.
tensor *tensor_over(tensor_type type, int dims, const size_t *shape, void *elements,
    void (*release)(void *owner), void *owner, err *e);
// A tensor of that shape with rows made by `later`, which is borrowed.
tensor *tensor_of_later(int dims, const size_t *shape, const struct tensor_later *later, err *e);
// Drops this view; the last view frees the memory. NULL is fine.
void tensor_free(tensor *t);
// Another view of the same elements.
tensor *tensor_ref(const tensor *t);

// Rows [from, to): shape (to-from, d1, …). Out-of-range ends are clipped, as in NumPy.
tensor *tensor_slice(const tensor *t, int64_t from, int64_t to, err *e);
// Rows rank, rank+size, …: x[rank::size].
tensor *tensor_shard(const tensor *t, int rank, int size, err *e);
// Row i without its first dimension: shape (d1, …). ERR_USAGE: "index 70000 is out of range …".
tensor *tensor_row(const tensor *t, int64_t i, err *e);
// The same elements under another shape; one entry may be -1. Only for contiguous tensors.
tensor *tensor_reshape(const tensor *t, int dims, const int64_t *shape, err *e);
// The same bytes read as stored × scale. Only for U8.
tensor *tensor_scaled(const tensor *t, float scale, err *e);
// A contiguous copy of the chosen rows, in that order (the caller checks the bounds).
tensor *tensor_gather(const tensor *t, const uint32_t *rows, size_t n, err *e);
// A contiguous copy as F32.
tensor *tensor_to_f32(const tensor *t, err *e);

size_t tensor_rows(const tensor *t);     // shape[0]; 1 for a number
size_t tensor_row_size(const tensor *t); // elements in a row: d1·d2·…
size_t tensor_count(const tensor *t);    // rows × row size
bool tensor_is_integer(const tensor *t); // I64, I32, I16, or U8 with scale 1
bool tensor_has_gaps(const tensor *t);
// Where row i starts.
static inline const void *tensor_row_data(const tensor *t, size_t i)
{
    static const size_t bytes[] = {
#define X(name, text, size) size,
        TENSOR_TYPES(X)
#undef X
    };
    return (const char *)t->data + i * t->stride * bytes[t->type];
}
size_t tensor_type_size(tensor_type type);
const char *tensor_type_name(tensor_type type);

// Element i of all, counted row by row (the caller checks the bounds).
double tensor_at(const tensor *t, size_t i);
int64_t tensor_integer_at(const tensor *t, size_t i); // the same of an integer tensor, exact
// The same for elements [from, from + n), in one call.
void tensor_numbers(const tensor *t, size_t from, size_t n, double *out);
void tensor_integers(const tensor *t, size_t from, size_t n, int64_t *out);
// A run of n elements of type I64, I32 or I16 as floats.
void tensor_integer_row(tensor_type type, const void *run, size_t n, float *out);
// Sets the element; the value is converted. Not for U8. Other views of the memory see it.
int tensor_set(tensor *t, size_t i, double value, err *e);

// Index of the first greatest element of all; an empty tensor is ERR_USAGE.
int64_t tensor_argmax(const tensor *t, err *e); // -1 on error
// The same row by row: I64 (n).
tensor *tensor_argmax_rows(const tensor *t, err *e);
// The sum of all elements, in double.
double tensor_sum(const tensor *t);

// "(60000, 28, 28)", as NumPy writes shapes; "(3,)", "()".
void tensor_shape_text(const tensor *t, buf *out);
void shape_text(int dims, const size_t *shape, buf *out);
// Text for people: numbers in brackets; long lists are shortened with "...".
void tensor_format(const tensor *t, buf *out);
