// SPDX-License-Identifier: MIT
// The arithmetic of training as one table of functions for each instruction set, chosen at run
// time. Nothing is owned; every function works on plain memory and on one thread.
//
// Weights lie in panels: up to 64 units (columns) of a layer, row after row.
//
//   panel   w[k][c], k < inputs, c < width; width is a multiple of 16, at most 64; unused columns
//   are 0 rows    x[r][k], r < rows, `ld` floats from one row to the next
//
// All pointers to floats that are not x are aligned to 64 bytes; ld is a multiple of 16.
#pragma once
#include "base/err.h"
#include "trainer/cpu/activation.h"

#include <stddef.h>
#include <stdint.h>

enum { PANEL = 64, NARROW = 16, TILE = 64 };

// What an update does with the gradient g of weights w, and optimizer state m and v; see
// nn/optimizer.h.
typedef enum update_rule {
    UPDATE_STORE, // g is kept, to be averaged with other ranks
    UPDATE_ADD,   // it is added to the old g
    UPDATE_SGD,
    UPDATE_MOMENTUM,
    UPDATE_NESTEROV,
    UPDATE_ADAM,
    UPDATE_RMSPROP,          // m is the mean square
    UPDATE_RMSPROP_MOMENTUM, // and v the momentum
    UPDATE_RMSPROP_CENTERED, // the same two, and a is the mean
    UPDATE_RMSPROP_CENTERED_MOMENTUM,
    UPDATE_ADAGRAD, // m is the sum of squares
} update_rule;

typedef struct update {
    update_rule rule;
    float rate;           // Adam: lr·√(1-β2ᵗ)/(1-β1ᵗ)
    float beta_1, beta_2; // SGD, RMSprop: beta_1 is the momentum; RMSprop: beta_2 is rho
    float epsilon;
    float decay; // learning rate · weight decay; first of all w ← w - decay·w
} update;

// The same place in arrays of equal layout. g is only for UPDATE_STORE and _ADD; the rule decides
// whether m, v and a are needed.
typedef struct params {
    float *w, *m, *v, *g, *a;
} params;

static inline params params_at(const params *p, size_t i)
{
    return (params){p->w ? p->w + i : NULL, p->m ? p->m + i : NULL, p->v ? p->v + i : NULL,
        p->g ? p->g + i : NULL, p->a ? p->a + i : NULL};
}

// y[r][c] = start + Σ_k x[r][k]·w[k][c]; start is bias[c], or y's old value when bias is NULL.
typedef struct product {
    float *y;
    const float *x, *w, *bias; // (rows, width), (rows, inputs), (inputs, width), (width)
    size_t ldy, ldx, rows, inputs, width;
} product;

// Rows that will be needed soon, anywhere in memory, and how far they have been prefetched.
typedef struct upcoming {
    const char *data; // row i: the `bytes` bytes at data + i·stride
    size_t stride, bytes;
    const uint32_t *rows; // [n], rows that are left
    size_t n, at;         // at: how many bytes of the first of them were prefetched
} upcoming;

// dw[k][c] = Σ_r x[r][k]·d[r][c]; then w, m and v are updated by dw.
typedef struct gradient {
    params to;      // (inputs, width)
    const float *x; // (rows, inputs)
    const float *d; // (rows, width)
    size_t ldx, ldd, rows, inputs, width;
    const update *rule;
    // For sparse input: has input k ever been other than 0? If not, every update of its weights is
    // exactly 0, except for their decay.
    uint8_t *seen; // (inputs)
    // Prefetched during the product, a few lines with each input: all at once they would stall
    // everything until memory has answered. NULL: nothing.
    upcoming *ahead;
} gradient;

static inline void upcoming_fetch(upcoming *u, size_t lines)
{
    for (; lines > 0 && u->n > 0; lines--) {
        __builtin_prefetch(u->data + *u->rows * u->stride + u->at, 0, 2);
        u->at += 64;
        if (u->at >= u->bytes) {
            u->at = 0;
            u->rows++;
            u->n--;
        }
    }
}

// Input with many zeros, used without copying. `bytes`: values are scale × u8, else f32.
typedef struct sparse_rows {
    const void *const *row; // [rows]
    const float *value;     // bytes: value[b] = scale·b
    bool bytes;
    size_t inputs; // of a row
    size_t from;   // index of the first input of the product or gradient
    // The same values transposed in tiles of 64 rows: turned[tile][k][64], zero where there is no
    // row.
    const void *turned;
} sparse_rows;

// z = (x - mean)·scale + shift, channel by channel: [n] of each. clip: y = max(min(z, most), 0),
// and a gradient passes only where 0 < z < most.
typedef struct channel_map {
    const float *mean, *scale, *shift;
    const float *less, *along; // for give_back
    bool clip;
    float most; // INFINITY: none
} channel_map;

// Functions on positions of n channels, x[p][c], without gaps, and aligned only as a single number
// is. Numbers are floats or bf16, see cpu_ops.channels. The functions that sum add to floats, so
// call them for some hundred positions at a time.
typedef struct channel_ops {
    // out = the greater of out and in, where = the index of what was taken: at, at + 1, …; nan is
    // greater than all. first: out has nothing yet.
    void (*take_greater)(
        void *out, uint32_t *where, const void *in, uint32_t at, bool first, size_t n);
    // sum += Σ (x - pivot), squares += Σ (x - pivot)²
    void (*moments)(
        const void *x, const float *pivot, size_t positions, size_t n, float *sum, float *squares);
    // y = z, or z + add where add is not NULL; clipped where the map says so.
    void (*scale_shift)(
        const channel_map *m, void *y, const void *x, const void *add, size_t positions, size_t n);
    // Keeps d of n numbers where 0 < y < most; elsewhere it becomes 0.
    void (*pass_slopes)(void *d, const void *y, float most, size_t n);
    // sum += Σ d, along += Σ d·(x - mean), with the d that the map lets through.
    void (*slopes)(const channel_map *m, const void *x, const void *d, size_t positions, size_t n,
        float *sum, float *along);
    // dx = (d - less - (x - mean)·along)·scale, with the d that the map lets through; add: to dx.
    void (*give_back)(const channel_map *m, void *dx, bool add, const void *x, const void *d,
        size_t positions, size_t n);
    // to += from, n numbers.
    void (*add_up)(void *to, const void *from, size_t n);
} channel_ops;

typedef struct cpu_ops {
    const char *name;
    bool (*usable)(void);
    void (*multiply)(const product *p);
    // The same for sparse input (p->x and ldx are not used); skips zeros, which is exact. Two
    // panels of one size (n = 2) are faster together than one after the other; the bits are the
    // same.
    void (*multiply_sparse)(const product *p, size_t n, const sparse_rows *x);
    void (*train)(const gradient *g);
    void (*train_sparse)(const gradient *g, size_t n, const sparse_rows *x);
    // Updates n parameters (a multiple of 16) by n gradients.
    void (*update)(const update *rule, params to, const float *g, size_t n);
    // Computes Σ_r d[r][c], then updates as above.
    void (*train_bias)(
        const update *rule, params to, const float *d, size_t ldd, size_t rows, size_t width);
    // y = f(y), in place; d ← d·f'(z), computed from y = f(z), gelu's and
    // silu's from z. Not for softmax.
    void (*activate)(activation f, float *y, size_t ld, size_t rows, size_t width);
    void (*derive)(
        activation f, float *d, size_t ldd, const float *y, size_t ldy, size_t rows, size_t width);
    // z = softmax(z) over the first n columns, in place; the other columns become 0. log_sum[r] =
    // log Σ e^z when it is not NULL.
    void (*softmax)(float *z, size_t ld, size_t rows, size_t n, float *log_sum);
    // out[i] = scale·in[i].
    void (*expand)(float *out, const uint8_t *in, size_t n, float scale);
    // Transposes rows in tiles of 64: turned[tile][k][64], aligned to 64 bytes; missing rows are 0.
    void (*turn_u8)(uint8_t *turned, const uint8_t *const *row, size_t rows, size_t inputs);
    // bf16: the upper half of a float, rounded to the nearest, to even in between; nan stays nan.
    void (*halve)(uint16_t *out, const float *in, size_t n);
    void (*widen)(float *out, const uint16_t *in, size_t n);
    // to[i][c] = from[i][c], c < n, as floats; 0 where from[i] is NULL. Rows of `to` are ld apart;
    // from, which need not be aligned, are floats or with `half` bf16; n is a multiple of 16.
    void (*copy_lines)(
        float *to, size_t ld, const void *const *from, size_t rows, size_t n, bool half);
    // Σ w² or Σ |w| of n weights, a multiple of 16; its bits are the same for all sets.
    double (*penalty)(const float *w, size_t n, bool squares);
    // g += 2·l2·w + l1·sign w, n numbers; at 0 the sign is 0.
    void (*add_slopes)(float *restrict g, const float *restrict w, size_t n, float l1, float l2);
    const channel_ops *channels[2]; // of floats, of bf16
} cpu_ops;

// "avx512", "avx2", "plain"; NULL: the best one that this machine supports. Errors: unknown name
// (lists the known ones), or not supported here.
const cpu_ops *cpu_choose(const char *name, err *e);
// The i-th known instruction set, best first; NULL after the last.
const cpu_ops *cpu_nth(size_t i);

// out[c][r] = in[r][c].
void transpose_f32(
    float *out, size_t ldo, const float *in, size_t ldi, size_t rows, size_t columns);
// See cpu_ops.turn_u8: for any machine.
void turn_u8(uint8_t *turned, const uint8_t *const *row, size_t rows, size_t inputs);
void turn_f32(float *turned, const float *const *row, size_t rows, size_t inputs);
