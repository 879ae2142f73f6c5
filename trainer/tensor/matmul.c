// SPDX-License-Identifier: MIT
// Products of matrices by the kernels of the trainer: b is laid out in panels of 64 columns, a few
// hundred rows of it at a time, so that a panel stays in the cache.
//
//   a (m, k) ── rows ──► │ panel of b (≤ 512, 64) │ ──► y (≤ 256, 64) ──► out (m, n)
//
// Each number is a sum over k from 0 on, whatever the sizes.
#include "base/mem.h"
#include "trainer/cpu/ops.h"
#include "trainer/tensor/arithmetic.h"
#include "trainer/tensor/arrange.h"
#include "trainer/tensor/memory.h"

#include <string.h>

enum { DEEP = 512, TALL = 256, SMALL = 1 << 12 };

struct sizes {
    size_t m, k, n;
};

// (m, k) of a's shape and (k, n) of b's; a vector is a row on the left, a column on the right.
static int sizes_of(const tensor *a, const tensor *b, struct sizes *s, err *e)
{
    bool fit = a->dims >= 1 && a->dims <= 2 && b->dims >= 1 && b->dims <= 2;
    if (fit) {
        s->m = a->dims == 2 ? a->shape[0] : 1;
        s->k = a->shape[a->dims - 1];
        s->n = b->dims == 2 ? b->shape[1] : 1;
        fit = s->k == b->shape[0];
    }
    if (fit)
        return 0;
    AUTO_BUF left = {0}, right = {0};
    tensor_shape_text(a, &left);
    tensor_shape_text(b, &right);
    return err_set(e, ERR_USAGE, "matmul: shapes %s and %s do not fit together", buf_cstr(&left),
        buf_cstr(&right));
}

static void multiply_plain(const struct sizes *s, float *out, const float *x, const float *y)
{
    for (size_t i = 0; i < s->m; i++)
        for (size_t c = 0; c < s->k; c++)
            for (size_t j = 0; j < s->n; j++)
                out[i * s->n + j] += x[i * s->k + c] * y[c * s->n + j];
}

// Columns [c, c + width) of the result; room: a panel, then a block of results.
static void multiply_panel(const cpu_ops *cpu, const struct sizes *s, float *out, const float *x,
    const float *y, size_t c, float *room)
{
    size_t n = s->n - c < PANEL ? s->n - c : PANEL, width = (n + NARROW - 1) / NARROW * NARROW;
    float *block = room + (size_t)DEEP * PANEL;
    for (size_t k = 0; k < s->k; k += DEEP) {
        size_t deep = s->k - k < DEEP ? s->k - k : DEEP;
        memset(room, 0, deep * width * sizeof *room);
        for (size_t i = 0; i < deep; i++)
            memcpy(room + i * width, y + (k + i) * s->n + c, n * sizeof *room);
        for (size_t r = 0; r < s->m; r += TALL) {
            size_t rows = s->m - r < TALL ? s->m - r : TALL;
            memset(block, 0, rows * width * sizeof *block);
            for (size_t i = 0; k && i < rows; i++)
                memcpy(block + i * width, out + (r + i) * s->n + c, n * sizeof *block);
            cpu->multiply(&(product){.y = block,
                .ldy = width,
                .x = x + r * s->k + k,
                .ldx = s->k,
                .w = room,
                .rows = rows,
                .inputs = deep,
                .width = width});
            for (size_t i = 0; i < rows; i++)
                memcpy(out + (r + i) * s->n + c, block + i * width, n * sizeof *block);
        }
    }
}

static int multiply(const struct sizes *s, float *out, const float *x, const float *y, err *e)
{
    if (s->m * s->n * s->k < SMALL) {
        multiply_plain(s, out, x, y);
        return 0;
    }
    const cpu_ops *cpu = cpu_choose(NULL, e);
    AUTO_FREE float *room = cpu ? memory_passing((DEEP + TALL) * PANEL * sizeof *room) : NULL;
    if (!room)
        return cpu ? err_set(e, ERR_LIMIT, "no memory for matmul") : -1;
    for (size_t c = 0; c < s->n; c += PANEL)
        multiply_panel(cpu, s, out, x, y, c, room);
    return 0;
}

// Without gaps, as f32.
static tensor *plain(const tensor *t, err *e)
{
    bool ready = t->type == TENSOR_F32 && t->scale == 1;
    return ready && tensor_has_gaps(t) ? tensor_copy(t, e) : tensor_cast(t, TENSOR_F32, e);
}

tensor *tensor_matmul(const tensor *a, const tensor *b, err *e)
{
    struct sizes s = {0};
    size_t shape[2];
    int dims = 0;
    if (sizes_of(a, b, &s, e) < 0)
        return NULL;
    if (a->dims == 2)
        shape[dims++] = s.m;
    if (b->dims == 2)
        shape[dims++] = s.n;
    tensor *x = plain(a, e), *y = x ? plain(b, e) : NULL;
    tensor *out = y ? tensor_new(TENSOR_F32, dims, shape, e) : NULL;
    if (out && multiply(&s, out->data, x->data, y->data, e) < 0) {
        tensor_free(out);
        out = NULL;
    }
    tensor_free(x);
    tensor_free(y);
    return out;
}
