// SPDX-License-Identifier: MIT
// For any machine: the compiler's own vectors of 4 floats, which become SSE2, NEON or plain code.
#include "trainer/cpu/ops.h"

#include <math.h>
#include <string.h>

enum { LANES = 4, ROWS = 4, VECS = 2, SPARSE_VECS = 8, SPARSE_ROWS = 1, PANELS = 1, ABREAST = 1 };

typedef float v __attribute__((vector_size(16)));
typedef int32_t vi __attribute__((vector_size(16)));

#define V static inline __attribute__((always_inline))

// clang-format off: a table of one-liners
V v v_load(const float *p)
{
    return *(const v *)p;
}
V void v_store(float *p, v a)
{
    *(v *)p = a;
}
V v v_set(float a)
{
    return (v){a, a, a, a};
}
V v v_add(v a, v b)
{
    return a + b;
}
V v v_sub(v a, v b)
{
    return a - b;
}
V v v_mul(v a, v b)
{
    return a * b;
}
V v v_div(v a, v b)
{
    return a / b;
}
V v v_fma(v a, v b, v c)
{
    return a * b + c;
}
V v v_where(vi mask, v a, v b)
{
    return (v)((mask & (vi)a) | (~mask & (vi)b));
}
V v v_max(v a, v b)
{
    return v_where(a > b, a, b);
}
V v v_min(v a, v b)
{
    return v_where(a < b, a, b);
}
V v v_sqrt(v a)
{
    return (v){sqrtf(a[0]), sqrtf(a[1]), sqrtf(a[2]), sqrtf(a[3])};
}
// m ← m/(√s + e)
V void v_over_roots(v *m, const v *s, v e, const int n)
{
    for (int j = 0; j < n; j++)
        m[j] = v_div(m[j], v_add(v_sqrt(s[j]), e));
}
// a0 b0 a1 b1, from the lower halves of a and b, or from the upper ones.
V v v_interleave_low(v a, v b)
{
    return (v){a[0], b[0], a[1], b[1]};
}
V v v_interleave_high(v a, v b)
{
    return (v){a[2], b[2], a[3], b[3]};
}
V v v_one_where_positive(v a)
{
    return v_where(a > v_set(0), v_set(1), v_set(0));
}
V v v_from_u8(const uint8_t *p)
{
    return (v){p[0], p[1], p[2], p[3]};
}

// Rounds to the nearest integer: an f32 beyond 1.5·2^23 has no fraction bits. For |a| < 2^22.
V v v_round(v a)
{
    volatile float big = 0x1.8p23f; // volatile, because the optimizer may fold a + big - big
    return a + v_set(big) - v_set(big);
}

// a·2ⁿ: n goes into the exponent field.
V v v_scale2(v a, v n)
{
    return a * (v)((__builtin_convertvector(n, vi) + 127) << 23);
}

V uint64_t v_nonzero_u8(const void *p)
{
    uint64_t set = 0, word;
    for (int i = 0; i < TILE; i += 8) {
        memcpy(&word, (const char *)p + i, sizeof word);
        for (int j = i; word && j < i + 8; j++)
            set |= (uint64_t)(((const uint8_t *)p)[j] != 0) << j;
    }
    return set;
}

V uint64_t v_nonzero_f32(const void *p)
{
    uint64_t set = 0;
    for (int i = 0; i < TILE; i++)
        set |= (uint64_t)(((const float *)p)[i] != 0) << i;
    return set;
}

// clang-format on

#include "trainer/cpu/kernels.inc"
#include "trainer/cpu/pictures.inc"
#include "trainer/cpu/rows.inc"

static bool usable(void)
{
    return true;
}

#define CPU_NAME "plain"
#define CPU_OPS  cpu_plain
#define CPU_TURN turn_u8
#include "trainer/cpu/penalty.inc"
#include "trainer/cpu/table.inc"
