// SPDX-License-Identifier: MIT
#include "trainer/cpu/ops.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { BLOCK = 8 };

void transpose_f32(float *out, size_t ldo, const float *in, size_t ldi, size_t rows, size_t columns)
{
    for (size_t r0 = 0; r0 < rows; r0 += BLOCK) {
        size_t r1 = r0 + BLOCK < rows ? r0 + BLOCK : rows;
        for (size_t c = 0; c < columns; c++)
            for (size_t r = r0; r < r1; r++)
                out[c * ldo + r] = in[r * ldi + c];
    }
}

void turn_f32(float *turned, const float *const *row, size_t rows, size_t inputs)
{
    for (size_t r0 = 0; r0 < rows; r0 += TILE, turned += TILE * inputs)
        for (size_t r = r0; r < r0 + TILE; r += BLOCK)
            for (size_t k = 0; k < inputs; k++)
                for (size_t i = r; i < r + BLOCK; i++)
                    turned[k * TILE + i - r0] = i < rows ? row[i][k] : 0;
}

#ifdef __SSE2__
// 16 columns of 8 rows: three rounds of interleaving put the 8 bytes of each column side by side.
static void turn_block(uint8_t *out, const uint8_t *const *row)
{
    __m128i x[BLOCK], two[BLOCK], four[BLOCK];
    for (int i = 0; i < BLOCK; i++)
        x[i] = _mm_loadu_si128((const __m128i *)row[i]);
    for (int i = 0; i < 4; i++) { // rows 2i, 2i+1: columns 0-7, then 8-15
        two[i] = _mm_unpacklo_epi8(x[2 * i], x[2 * i + 1]);
        two[4 + i] = _mm_unpackhi_epi8(x[2 * i], x[2 * i + 1]);
    }
    for (int h = 0; h < 8; h += 4) // rows 0-3 and 4-7 of 4 columns each
        for (int i = 0; i < 2; i++) {
            four[h + i] = _mm_unpacklo_epi16(two[h + 2 * i], two[h + 2 * i + 1]);
            four[h + 2 + i] = _mm_unpackhi_epi16(two[h + 2 * i], two[h + 2 * i + 1]);
        }
    for (int q = 0; q < 4; q++) { // 8 rows of 4 columns, two columns a register
        int at = q / 2 * 4 + q % 2 * 2;
        __m128i low = _mm_unpacklo_epi32(four[at], four[at + 1]);
        __m128i high = _mm_unpackhi_epi32(four[at], four[at + 1]);
        uint8_t *to = out + q * 4 * TILE;
        _mm_storel_epi64((__m128i *)to, low);
        _mm_storel_epi64((__m128i *)(to + TILE), _mm_srli_si128(low, 8));
        _mm_storel_epi64((__m128i *)(to + 2 * TILE), high);
        _mm_storel_epi64((__m128i *)(to + 3 * TILE), _mm_srli_si128(high, 8));
    }
}
#else
static void turn_block(uint8_t *out, const uint8_t *const *row)
{
    for (size_t k = 0; k < 16; k++)
        for (size_t i = 0; i < BLOCK; i++)
            out[k * TILE + i] = row[i][k];
}
#endif

// Transposes 8 rows, all their columns; missing rows are read from 16 zeros.
static void turn_rows(uint8_t *out, const uint8_t *const *row, size_t rows, size_t inputs)
{
    static const uint8_t zeros[16];
    const uint8_t *at[BLOCK];
    size_t k = 0;
    for (; k + 16 <= inputs; k += 16) {
        for (size_t i = 0; i < BLOCK; i++)
            at[i] = i < rows ? row[i] + k : zeros;
        turn_block(out + k * TILE, at);
    }
    for (; k < inputs; k++)
        for (size_t i = 0; i < BLOCK; i++)
            out[k * TILE + i] = i < rows ? row[i][k] : 0;
}

void turn_u8(uint8_t *turned, const uint8_t *const *row, size_t rows, size_t inputs)
{
    for (size_t r0 = 0; r0 < rows; r0 += TILE, turned += TILE * inputs)
        for (size_t r = r0; r < r0 + TILE; r += BLOCK)
            turn_rows(
                turned + r - r0, row + (r < rows ? r : rows), r < rows ? rows - r : 0, inputs);
}
