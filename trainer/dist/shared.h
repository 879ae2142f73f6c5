// SPDX-License-Identifier: MIT
// The ranks of one machine exchange values in shared memory. The memory has no name: the driver
// makes it, ranks inherit its descriptor, and it disappears with the last of them, however that
// ends. The caller owns a shared; one thread uses it; every rank makes the same calls, in the same
// order within a channel.
//    [ head │ channel 0: words, rooms of rank 0, 1, … │ channel 1 … │ loans to rank 0, 1, … ]
// A waiting rank spins for a moment, if each rank can have a core, and then sleeps (futex). Ranks
// that have ended, and calls that differ, become errors on the others.
#pragma once
#include "base/err.h"
#include "trainer/dist/comm.h"

#include <stddef.h>
#include <stdint.h>

typedef struct shared shared;

// Operations of one channel do not mix with those of the other.
enum shared_channel { SHARED_COMPARED, SHARED_GRADIENTS, SHARED_CHANNELS };

// A descriptor of memory for so many ranks, close-on-exec; pages are allocated when they are
// written.
int shared_make(int ranks, err *e);
// Maps the memory; the descriptor may then be closed.
shared *shared_open(int fd, err *e);
void shared_close(shared *s); // NULL is fine

// Makes this process (or thread) that rank. Call it before any function below.
int shared_join(shared *s, int rank, err *e);
int shared_rank(const shared *s);
int shared_ranks(const shared *s);
// See comm_ops.watch.
void shared_watch(shared *s, int64_t interval, void (*slow)(void *ctx, int64_t waited), void *ctx);

// As in comm_ops. After a failure (ERR_UNAVAILABLE: a rank has ended; ERR_INVALID: ranks make
// different calls) every further operation fails, too. Sums are made in the order of reduce.h.
int shared_allreduce(shared *s, enum shared_channel channel, void *values, size_t n, comm_type type,
    comm_op op, err *e);
int shared_broadcast(
    shared *s, enum shared_channel channel, void *bytes, size_t n, int root, err *e);
int shared_allgather(shared *s, enum shared_channel channel, const void *mine, void *all,
    const size_t *counts, err *e);
int shared_barrier(shared *s, enum shared_channel channel, err *e);
int shared_update(shared *s, enum shared_channel channel, float *gradients, float *weights,
    size_t n, size_t block, void (*update)(void *ctx, size_t from, size_t to), void *ctx, err *e);
// Borrows memory for n gradients, zeroed, from which the others read in an update without a copy.
// NULL: it is borrowed already, or too small. Ranks need not all use it.
float *shared_lend(shared *s, size_t n);
void shared_take_back(shared *s);
// Where the share of a rank begins, a multiple of 16; n for the rank after the last.
size_t shared_share(const shared *s, int rank, size_t n);
int shared_gather_shares(shared *s, enum shared_channel channel, float *values, size_t n, err *e);

// The table for a job, as rank number `rank` of it. One for each process.
const struct comm_ops *comm_shared(shared *s, int rank);
