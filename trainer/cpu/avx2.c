// SPDX-License-Identifier: MIT
// 16 registers of 8 floats: 6 × 2 accumulators, 2 weights, 1 broadcast value.
#include "trainer/cpu/ops.h"

#include <immintrin.h>
#include <math.h>
#include <string.h>

enum { LANES = 8, ROWS = 6, VECS = 2, SPARSE_VECS = 8, SPARSE_ROWS = 1, PANELS = 1, ABREAST = 1 };

typedef __m256 v;

#define V static inline __attribute__((always_inline))

// clang-format off: a table of one-liners
V v v_load(const float *p)
{
    return _mm256_load_ps(p);
}
V void v_store(float *p, v a)
{
    _mm256_store_ps(p, a);
}
V v v_set(float a)
{
    return _mm256_set1_ps(a);
}
V v v_add(v a, v b)
{
    return _mm256_add_ps(a, b);
}
V v v_sub(v a, v b)
{
    return _mm256_sub_ps(a, b);
}
V v v_mul(v a, v b)
{
    return _mm256_mul_ps(a, b);
}
V v v_div(v a, v b)
{
    return _mm256_div_ps(a, b);
}
V v v_fma(v a, v b, v c)
{
    return _mm256_fmadd_ps(a, b, c);
}
V v v_sqrt(v a)
{
    return _mm256_sqrt_ps(a);
}
// m ← m/(√s + e)
V void v_over_roots(v *m, const v *s, v e, const int n)
{
    for (int j = 0; j < n; j++)
        m[j] = v_div(m[j], v_add(v_sqrt(s[j]), e));
}
V v v_max(v a, v b)
{
    return _mm256_max_ps(a, b);
}
V v v_min(v a, v b)
{
    return _mm256_min_ps(a, b);
}
V v v_round(v a)
{
    return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

// a·2ⁿ: n goes into the exponent field.
V v v_scale2(v a, v n)
{
    __m256i exponent = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
    return _mm256_mul_ps(a, _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23)));
}

// a0 b0 a1 b1 …, from the lower halves of a and b, or from the upper ones.
V v v_interleave_low(v a, v b)
{
    return _mm256_permute2f128_ps(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b), 0x20);
}
V v v_interleave_high(v a, v b)
{
    return _mm256_permute2f128_ps(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b), 0x31);
}
V v v_one_where_positive(v a)
{
    return _mm256_and_ps(_mm256_cmp_ps(a, v_set(0), _CMP_GT_OQ), v_set(1));
}

V v v_from_u8(const uint8_t *p)
{
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p)));
}

V uint64_t v_nonzero_u8(const void *p)
{
    uint64_t zero = 0;
    for (int i = 0; i < 2; i++) {
        __m256i a = _mm256_loadu_si256((const __m256i *)p + i);
        a = _mm256_cmpeq_epi8(a, _mm256_setzero_si256());
        zero |= (uint64_t)(uint32_t)_mm256_movemask_epi8(a) << (32 * i);
    }
    return ~zero;
}

V uint64_t v_nonzero_f32(const void *p)
{
    uint64_t set = 0;
    for (int i = 0; i < 8; i++) {
        v a = _mm256_cmp_ps(_mm256_loadu_ps((const float *)p + 8 * i), v_set(0), _CMP_NEQ_UQ);
        set |= (uint64_t)(uint32_t)_mm256_movemask_ps(a) << (8 * i);
    }
    return set;
}

// clang-format on

#include "trainer/cpu/kernels.inc"
#include "trainer/cpu/pictures.inc"
#include "trainer/cpu/rows.inc"

static bool usable(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

#define CPU_NAME "avx2"
#define CPU_OPS  cpu_avx2
#define CPU_TURN turn_u8
#include "trainer/cpu/penalty.inc"
#include "trainer/cpu/table.inc"
