// SPDX-License-Identifier: MIT
//
// A panel first loses what it has of each panel before it, as two products of matrices, which are
// computed in tiles that stay in registers; what is left of it is made orthonormal column by
// column. Sums are made of one number after the other, so vectors of any width give the same bits.
#include "trainer/nn/layer/orthonormal.h"

#include <math.h>

enum { PANEL = ORTHONORMAL_PANEL, STRETCH = 32, TALL = 4, WIDE = 4 };

static void load(double tile[TALL][WIDE], const orthonormal_row *from, size_t column)
{
    for (size_t i = 0; i < TALL; i++)
        for (size_t j = 0; j < WIDE; j++)
            tile[i][j] = from[i][column + j];
}

static void store(orthonormal_row *to, size_t column, const double tile[TALL][WIDE])
{
    for (size_t i = 0; i < TALL; i++)
        for (size_t j = 0; j < WIDE; j++)
            to[i][column + j] = tile[i][j];
}

// w[a][b] += Σ q[l][a]·v[l][b]: along each of q's columns, what is there of each of v's. n: few
// rows, so that they stay near.
static void add_products(
    orthonormal_row *restrict w, const orthonormal_row *q, const orthonormal_row *v, size_t n)
{
    for (size_t a = 0; a < PANEL; a += TALL)
        for (size_t b = 0; b < PANEL; b += WIDE) {
            double sum[TALL][WIDE];
            load(sum, w + a, b);
            for (size_t l = 0; l < n; l++)
                for (size_t i = 0; i < TALL; i++)
                    for (size_t j = 0; j < WIDE; j++)
                        sum[i][j] += q[l][a + i] * v[l][b + j];
            store(w + a, b, sum);
        }
}

// v[l][b] -= Σ q[l][a]·w[a][b]
static void take_away(
    orthonormal_row *restrict v, const orthonormal_row *q, const orthonormal_row *w, size_t n)
{
    size_t l = 0;
    for (; l + TALL <= n; l += TALL)
        for (size_t b = 0; b < PANEL; b += WIDE) {
            double rest[TALL][WIDE];
            load(rest, v + l, b);
            for (size_t a = 0; a < PANEL; a++)
                for (size_t i = 0; i < TALL; i++)
                    for (size_t j = 0; j < WIDE; j++)
                        rest[i][j] -= q[l + i][a] * w[a][b + j];
            store(v + l, b, rest);
        }
    for (; l < n; l++)
        for (size_t a = 0; a < PANEL; a++)
            for (size_t b = 0; b < PANEL; b++)
                v[l][b] -= q[l][a] * w[a][b];
}

static void separate(orthonormal_row *v, const orthonormal_row *q, size_t length)
{
    orthonormal_row w[PANEL] = {0};
    for (size_t l = 0; l < length; l += STRETCH)
        add_products(w, q + l, v + l, length - l < STRETCH ? length - l : STRETCH);
    take_away(v, q, w, length);
}

// Within a panel: each column is taken away from those behind it.
static void make_panel(orthonormal_row *v, size_t n, size_t length)
{
    for (size_t i = 0; i < n; i++) {
        orthonormal_row along = {0};
        for (size_t l = 0; l < length; l++)
            for (size_t b = 0; b < PANEL; b++)
                along[b] += v[l][i] * v[l][b];
        double square = along[i], norm = sqrt(square);
        for (size_t b = 0; b < PANEL; b++)
            along[b] = b > i ? along[b] / square : 0;
        for (size_t l = 0; l < length; l++) {
            double own = v[l][i];
            for (size_t b = 0; b < PANEL; b++)
                v[l][b] -= along[b] * own;
            v[l][i] = own / norm;
        }
    }
}

void orthonormal_make(orthonormal_row *q, size_t n, size_t length)
{
    for (size_t i = 0; i < n; i += PANEL) {
        orthonormal_row *v = q + i / PANEL * length;
        for (size_t j = 0; j < i; j += PANEL)
            separate(v, q + j / PANEL * length, length);
        make_panel(v, n - i < PANEL ? n - i : PANEL, length);
    }
}
