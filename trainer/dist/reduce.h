// SPDX-License-Identifier: MIT
// Reduces the values of several ranks (sum, product, …) in an order that depends only on their
// number, so every rank computes the same bits. It is the order of recursive doubling, as in MPICH
// (src/mpi/coll/allreduce, R. Thakur et al., Optimization of Collective Communication Operations in
// MPICH, 2005). Plain functions.
//   ranks      2          3              4                    5
//   order    0 + 1   (0 + 1) + 2   (0 + 1) + (2 + 3)   ((0 + 1) + 2) + (3 + 4)
//   6 ranks  ((0 + 1) + (2 + 3)) + (4 + 5)
// The first 2·r ranks are joined in pairs, so that a power of two is left; those are joined in
// pairs, and so on.
#pragma once
#include "trainer/dist/comm.h"

#include <stddef.h>

size_t reduce_size(comm_type type); // bytes of a value
// out[i] = from[0][i] ∘ from[1][i] ∘ … for n values of two ranks or more; `out` may be one of them.
// Integers wrap around. Minimum and maximum of floats are nan if any value is. COMM_AVERAGE is only
// for F32.
void reduce_values(
    void *out, const void *const *from, int ranks, size_t n, comm_type type, comm_op op);
