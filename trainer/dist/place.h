// SPDX-License-Identifier: MIT
// A rank's place among the ranks of a job, as Horovod counts it. A plain value.
#pragma once
#include "base/err.h"

#include <stddef.h>

struct place {
    int rank, size;
    int local_rank, local_size; // among the ranks of its host
    int cross_rank, cross_size; // among the hosts that have a rank with this local_rank
    int threads;                // threads that it may use
    int generation;             // generation of an elastic job, from 1; 0: not elastic
    int shares;                 // 1: the ranks share memory (shared.h); 0: they use MPI
    int bucket;                 // gradients are averaged in pieces of at least so many bytes
};

// Ranks fill one host after another, `slots` on each (0: one host for all). The ranks of a host
// share its `cores`.
struct place place_of(int rank, int np, int slots, int cores);

// The place as bytes, the start of JOB's body: ten numbers of 4 bytes in the order above.
enum { PLACE_SIZE = 10 * 4 };
void place_put(const struct place *p, char out[PLACE_SIZE]);
int place_get(struct place *p, const void *bytes, size_t n, err *e);
