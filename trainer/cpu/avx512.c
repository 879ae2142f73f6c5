// SPDX-License-Identifier: MIT
// 32 registers of 16 floats: 6 × 4 accumulators, 4 weights, 1 broadcast value.
#include "trainer/cpu/ops.h"

#include <immintrin.h>
#include <math.h>
#include <string.h>

enum { LANES = 16, ROWS = 6, VECS = 4, SPARSE_VECS = 4, SPARSE_ROWS = 2, PANELS = 2, ABREAST = 4 };

typedef __m512 v;

#define V static inline __attribute__((always_inline))

// clang-format off: a table of one-liners
V v v_load(const float *p)
{
    return _mm512_load_ps(p);
}
V void v_store(float *p, v a)
{
    _mm512_store_ps(p, a);
}
V v v_set(float a)
{
    return _mm512_set1_ps(a);
}
V v v_add(v a, v b)
{
    return _mm512_add_ps(a, b);
}
V v v_sub(v a, v b)
{
    return _mm512_sub_ps(a, b);
}
V v v_mul(v a, v b)
{
    return _mm512_mul_ps(a, b);
}
V v v_div(v a, v b)
{
    return _mm512_div_ps(a, b);
}
V v v_fma(v a, v b, v c)
{
    return _mm512_fmadd_ps(a, b, c);
}
V v v_sqrt(v a)
{
    return _mm512_sqrt_ps(a);
}
// m ← m/(√s + e), within 2 units in the last place: estimates of 14 bits and one step of Newton's
// method each, since the divider takes longer than all that. s is at least 1e-36, whose root no e
// notices. nan stays nan: of two operands the second counts then. Each line is done for all n.
V void v_over_roots(v *m, const v *of, v e, const int n)
{
    v s[ABREAST], r[ABREAST], d[ABREAST], q[ABREAST];
#define EACH(line)                                                                                 \
    for (int j = 0; j < n; j++)                                                                    \
    line
    EACH(s[j] = _mm512_max_ps(_mm512_set1_ps(1e-36f), of[j]));
    EACH(s[j] = _mm512_min_ps(_mm512_set1_ps(3e38f), s[j]));
    EACH(r[j] = _mm512_rsqrt14_ps(s[j]));
    EACH(d[j] = _mm512_mul_ps(s[j], r[j])); // √s
    EACH(r[j] = _mm512_mul_ps(_mm512_set1_ps(0.5f), r[j]));
    EACH(s[j] = _mm512_fnmadd_ps(d[j], d[j], s[j]));
    EACH(d[j] = _mm512_fmadd_ps(r[j], s[j], d[j]));
    EACH(d[j] = _mm512_add_ps(d[j], e));
    EACH(r[j] = _mm512_rcp14_ps(d[j]));
    EACH(q[j] = _mm512_mul_ps(m[j], r[j]));
    EACH(m[j] = _mm512_fnmadd_ps(d[j], q[j], m[j]));
    EACH(m[j] = _mm512_fmadd_ps(r[j], m[j], q[j]));
#undef EACH
}
V v v_max(v a, v b)
{
    return _mm512_max_ps(a, b);
}
V v v_min(v a, v b)
{
    return _mm512_min_ps(a, b);
}
V v v_round(v a)
{
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT);
}
V v v_scale2(v a, v n)
{
    return _mm512_scalef_ps(a, n);
}

// a0 b0 a1 b1 …, from the lower halves of a and b, or from the upper ones.
V v v_interleave_low(v a, v b)
{
    const __m512i from = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    return _mm512_permutex2var_ps(a, from, b);
}
V v v_interleave_high(v a, v b)
{
    const __m512i from =
        _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    return _mm512_permutex2var_ps(a, from, b);
}

V v v_one_where_positive(v a)
{
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(a, v_set(0), _CMP_GT_OQ), v_set(1));
}

V v v_from_u8(const uint8_t *p)
{
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)p)));
}

V uint64_t v_nonzero_u8(const void *p)
{
    __m512i a = _mm512_loadu_si512(p);
    return _mm512_test_epi8_mask(a, a);
}

V __mmask16 other_than_0(const float *p)
{
    return _mm512_cmp_ps_mask(_mm512_loadu_ps(p), v_set(0), _CMP_NEQ_UQ);
}

// The masks are joined as masks: gcc 12 stores one of 16 bits and reads it as a number of 64.
V uint64_t v_nonzero_f32(const void *p)
{
    const float *f = p;
    __mmask32 low = _mm512_kunpackw(other_than_0(f + 16), other_than_0(f));
    __mmask32 high = _mm512_kunpackw(other_than_0(f + 48), other_than_0(f + 32));
    return _mm512_kunpackd(high, low);
}

// clang-format on

#include "trainer/cpu/kernels.inc"
#include "trainer/cpu/pictures.inc"
#include "trainer/cpu/rows.inc"

enum { SQUARE = 16 };

// The columns [k, k + 16) of n <= 64 rows. Each quarter of a register has 16 rows of its own; four
// rounds of interleaving a register with the eighth after it turn each quarter: the byte's place,
// row and column of 4 bits each, is rotated by one bit in a round.
V void turn_square(uint8_t *turned, const uint8_t *const *row, size_t n, size_t k)
{
    __m512i a[SQUARE], b[SQUARE];
    for (size_t i = 0; i < SQUARE; i++) {
        __m128i part[4];
        for (size_t q = 0; q < 4; q++)
            part[q] = q * SQUARE + i < n
                          ? _mm_loadu_si128((const __m128i *)(row[q * SQUARE + i] + k))
                          : _mm_setzero_si128();
        a[i] = _mm512_inserti32x4(_mm512_castsi128_si512(part[0]), part[1], 1);
        a[i] = _mm512_inserti32x4(_mm512_inserti32x4(a[i], part[2], 2), part[3], 3);
    }
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < SQUARE / 2; i++) {
            b[2 * i] = _mm512_unpacklo_epi8(a[i], a[i + SQUARE / 2]);
            b[2 * i + 1] = _mm512_unpackhi_epi8(a[i], a[i + SQUARE / 2]);
        }
        memcpy(a, b, sizeof a);
    }
    for (size_t i = 0; i < SQUARE; i++)
        _mm512_store_si512(turned + (k + i) * TILE, a[i]);
}

static void turn_squares(uint8_t *turned, const uint8_t *const *row, size_t rows, size_t inputs)
{
    if (inputs < SQUARE) {
        turn_u8(turned, row, rows, inputs);
        return;
    }
    for (size_t r = 0; r < rows; r += TILE, turned += TILE * inputs) {
        size_t n = rows - r < TILE ? rows - r : TILE, k = 0;
        for (; k + SQUARE <= inputs && n == TILE; k += SQUARE)
            turn_square(turned, row + r, TILE, k);
        for (; k < inputs; k += SQUARE) // the last columns, together with some before them
            turn_square(turned, row + r, n, k + SQUARE <= inputs ? k : inputs - SQUARE);
    }
}

static bool usable(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

#define CPU_NAME "avx512"
#define CPU_OPS  cpu_avx512
#define CPU_TURN turn_squares
#include "trainer/cpu/penalty.inc"
#include "trainer/cpu/table.inc"
