// SPDX-License-Identifier: MIT
// Adds up (or multiplies, …) the values of several ranks in an order that depends on their number
// alone, so whoever computes it gets the same bits. It is the order of recursive doubling, as MPICH
// has it (src/mpi/coll/allreduce, R. Thakur et al., Optimization of Collective Communication
// Operations in MPICH, 2005). Plain functions.
//
//   ranks      2          3              4                    5                       6
//   order    0 + 1   (0 + 1) + 2   (0 + 1) + (2 + 3)   ((0 + 1) + 2) + (3 + 4)   ((0 + 1) + (2 +
//   3)) +
//                                                                                       (4 + 5)
//
// The first 2·r ranks are joined in pairs, so that a power of two is left of which all are joined
// in pairs, and so on.
#pragma once
#include "trainer/dist/comm.h"

#include <stddef.h>

size_t reduce_size(comm_type type); // bytes of a value
// out[i] = from[0][i] ∘ from[1][i] ∘ … for n values of two ranks or more; `out` may be one of them.
// Integers wrap; the smallest and the largest of floats are nan where one of them is. COMM_AVERAGE
// is of F32 alone.
void reduce_values(
    void *out, const void *const *from, int ranks, size_t n, comm_type type, comm_op op);
