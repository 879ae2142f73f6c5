// SPDX-License-Identifier: MIT
// What operations share (nn/layer/operation.h says what one is): rounding, chunks of rows, where a
// row lies, and passes that several of them have.
#pragma once
#include "trainer/nn/layer/operation.h"

static inline size_t op_round(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

// In a chunk, where the largest output of any operation has so many numbers.
static inline size_t op_rows(size_t largest)
{
    return largest >= 1 << 19 ? 1 : largest >= 1 << 17 ? 2 : largest >= 1 << 15 ? 4 : OP_ROWS;
}

static inline op_pass op_by_rows(const op_work *w)
{
    return (op_pass){.chunks = (w->rows + w->chunk_rows - 1) / w->chunk_rows, .by_rows = true};
}

static inline size_t op_from(const op_work *w, size_t chunk)
{
    return chunk * w->chunk_rows;
}

static inline size_t op_to(const op_work *w, size_t chunk)
{
    size_t to = (chunk + 1) * w->chunk_rows;
    return to < w->rows ? to : w->rows;
}

static inline size_t op_last(const row_shape *s)
{
    return s->dims ? s->size[s->dims - 1] : 1;
}

// Where row r of such a buffer begins.
static inline void *op_at(const op_work *w, const float *buffer, size_t ld, size_t r)
{
    size_t bytes = w->half ? sizeof(uint16_t) : sizeof(float);
    return (char *)(uintptr_t)buffer + r * ld * bytes;
}

static inline size_t op_bytes(const op_work *w, size_t n)
{
    return n * (w->half ? sizeof(uint16_t) : sizeof(float));
}

// Does backward compute the gradient of one of its first n parameters?
static inline bool op_trains(const op_work *w, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (!w->fixed[k])
            return true;
    return false;
}

static inline const channel_ops *op_channels(const op_work *w)
{
    return w->cpu->channels[w->half];
}

// What operations share.

bool op_always(const op_work *w); // for op.halves

// Most operations take one input.
int op_same_shape(const layer_spec *l, size_t n, const row_shape *in, row_shape *out, err *e);
// -1 unless rows have a height, a width and channels.
int op_expect_picture(const row_shape *in, err *e);
// Writes (or adds) rows [from, to) of `values`, which are as dx is, to dx[i].
void op_give(const op_work *w, size_t i, const void *values, size_t ld, size_t from, size_t to);
// Applies w->f to rows of z = y in place; z is kept first where backward needs it. width is rounded
// up to 16.
void op_activate(const op_work *w, float *y, float *z, size_t ld, size_t rows, size_t n);
// d ← d·f'(z) in place, from y or from the z that was kept.
void op_derive(
    const op_work *w, float *d, const float *y, const float *z, size_t ld, size_t rows, size_t n);
// y = f(z) in ONNX, at the end of an operation.
size_t op_onnx_activate(onnx *o, activation f, size_t z);
// Replaces n values by their sum over all ranks, on each of them.
void op_sum_ranks(const op_work *w, double *values, size_t n);
// Sums partial[chunk][n] over chunks, in their order.
void op_sum(float *out, const float *partial, size_t n, size_t chunks);
