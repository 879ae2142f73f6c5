// SPDX-License-Identifier: MIT
// Makes vectors orthonormal, one after the other, by the method of Gram and Schmidt: the Q of a QR
// decomposition whose R has a positive diagonal. Nothing is owned.
//
// The vectors are columns, so many side by side in a panel, and panels follow one another:
//
//   q[⌈n / PANEL⌉][length][PANEL]     vector i is column i % PANEL of panel i / PANEL
#pragma once
#include <stddef.h>

enum { ORTHONORMAL_PANEL = 32 };

typedef double orthonormal_row[ORTHONORMAL_PANEL];

// Number k of vector i.
static inline double *orthonormal_at(orthonormal_row *q, size_t length, size_t i, size_t k)
{
    return &q[i / ORTHONORMAL_PANEL * length + k][i % ORTHONORMAL_PANEL];
}

// n vectors of `length` numbers, n ≤ length; columns behind the last one are 0. They must be far
// from depending on each other, as vectors of normal numbers are: what rounding leaves is the
// matrix's condition times 1e-16. The bits depend on nothing but the numbers.
void orthonormal_make(orthonormal_row *q, size_t n, size_t length);
