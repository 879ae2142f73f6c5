// SPDX-License-Identifier: MIT
// The frame of a collective operation: ranks first compare what they are about to do. So a
// difference is an error on all of them, instead of a hang or mixed bytes. The timeline is told,
// too. Plain values. Private to script/worker.
#pragma once
#include "script/worker/state.h"

//  X(name, text)
#define COLLECTIVES(X)                                                                             \
    X(ALLREDUCE, "ALLREDUCE")                                                                      \
    X(BROADCAST, "BROADCAST")                                                                      \
    X(ALLGATHER, "ALLGATHER")

enum collective_kind {
#define X(name, text) COLLECTIVE_##name,
    COLLECTIVES(X)
#undef X
};

// Sent to all ranks to be compared.
struct plan {
    int64_t what; // collective_kind
    int64_t type; // tensor_type; -1: a number
    int64_t op, root;
    int64_t dims, shape[TENSOR_MAX_DIMS];
};

struct collective {
    struct plan plan;
    const char *name; // NULL: the name of the kind
    int64_t begin, agreed;
};

// t NULL: a number.
struct collective collective_of(
    enum collective_kind what, const tensor *t, int op, int root, const char *name);
// An allreduce of n floats of which we know that every rank makes it: it is not compared.
struct collective collective_of_values(const char *name, size_t n);
// Compares with the other ranks. Horovod's errors come on every rank, or on none. plans: room for
// all plans, by rank; or NULL.
int collective_begin(const worker *w, struct collective *c, struct plan *plans, err *e);
void collective_end(const worker *w, const struct collective *c);
