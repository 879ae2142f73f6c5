// SPDX-License-Identifier: MIT
// Collective operations among the ranks of a job, as one table. A job of one rank needs none. Ranks
// of one machine share memory (shared.h). Others load MPI as a plug-in; if that is not possible,
// the error says what is missing. A table lives until the process ends. One thread calls it; every
// rank makes the same calls.
#pragma once
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { COMM_VERSION = 9 };

typedef enum comm_type { COMM_F32, COMM_F64, COMM_I64 } comm_type;
// AVERAGE: only for F32; as Horovod's, the sum times 1/ranks.
typedef enum comm_op { COMM_SUM, COMM_MIN, COMM_MAX, COMM_PRODUCT, COMM_AVERAGE } comm_op;

struct comm_ops {
    int version; // COMM_VERSION of the plug-in; any other version is refused
    // What transports the bytes, for the timeline: "MPI", "SHM"; NULL: nothing.
    const char *name;
    int (*init)(err *e);
    int (*rank)(void);
    int (*size)(void);
    // Replaces the n values by their reduction over all ranks; every rank gets the same bits.
    int (*allreduce)(void *values, size_t n, comm_type type, comm_op op, err *e);
    // Sends n bytes from rank root to all ranks.
    int (*broadcast)(void *bytes, size_t n, int root, err *e);
    // Collects counts[r] bytes from every rank r, one after another, into `all`.
    int (*allgather)(const void *mine, void *all, const size_t *counts, err *e);
    int (*barrier)(err *e);
    // The average of gradients. It has a channel of its own: if one rank is in this call and
    // another one in a different operation, they wait for each other, but their bytes do not mix.
    int (*average_gradients)(float *values, size_t n, err *e);
    // The same in the background: begin_average starts and returns; do not touch the values until
    // finish_average, which waits for all averages begun since the last one. progress_average also
    // makes progress. All three are NULL if averaging is only work for the processor, with nothing
    // to wait for.
    int (*begin_average)(float *values, size_t n, err *e);
    int (*progress_average)(err *e);
    int (*finish_average)(err *e);
    // The average with the update that follows, which the ranks share (weight-update sharding,
    // https://arxiv.org/abs/2004.13336). Each rank averages the gradients of its share of the n
    // numbers and calls update(ctx, from, to), which changes `weights` there, for one piece of at
    // most `block` numbers after another. Then every rank gets all weights. The other gradients
    // stay as they were. gather_shares gives every rank the others' shares of `values`. Both are
    // NULL where plain averaging is faster.
    int (*update_shares)(float *gradients, float *weights, size_t n, size_t block,
        void (*update)(void *ctx, size_t from, size_t to), void *ctx, err *e);
    int (*gather_shares)(float *values, size_t n, err *e);
    // Borrows memory for n gradients, zeroed, from which update_shares need not copy; NULL: there
    // is none, or it is borrowed already. take_back returns it. Both are NULL if update_shares is.
    float *(*lend)(size_t n);
    void (*take_back)(void);
    // From now on `slow` is called when an operation takes longer than `after` ns: once, on the
    // thread that waits.
    void (*watch)(int64_t after, void (*slow)(void *ctx, int64_t waited), void *ctx);
    // Has an operation failed here? Then later failures may only be consequences of the loss of a
    // peer. NULL: never.
    bool (*failed)(void);
    // The library's name and version, on one line; NULL: none. It lives as long as the table.
    const char *(*library)(void);
    // There is no function to shut down: a rank ends when its driver has every result and says so.
    // MPI_Finalize would wait for the other ranks once more, and over TCP on a busy machine it did
    // not always return.
};

const struct comm_ops *comm_single(void);
// Loads the plug-in at `path`, whose symbol is firesteel_comm. ERR_NOT_FOUND says what to install.
const struct comm_ops *comm_load(const char *path, err *e);
