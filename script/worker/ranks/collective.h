// SPDX-License-Identifier: MIT
// The frame of a collective operation: ranks first compare what they are about to do. So a
// difference is an error on all of them, instead of a hang or mixed bytes. The timeline is told,
// too. Plain values. Private to script/worker.
#pragma once
#include "script/worker/core/state.h"

// Horovod's numbers.
enum { OP_AVERAGE = 0, OP_SUM = 1, OP_MIN = 3, OP_MAX = 4, OP_PRODUCT = 5 };
// How ranks reduce values of this type. For an average of doubles it is the sum: the caller
// divides.
comm_op collective_reduction(int64_t op, comm_type type);

//  X(name, text)
#define COLLECTIVES(X)                                                                             \
    X(ALLREDUCE, "ALLREDUCE")                                                                      \
    X(BROADCAST, "BROADCAST")                                                                      \
    X(ALLGATHER, "ALLGATHER")                                                                      \
    X(OBJECT, "BROADCAST_OBJECT")                                                                  \
    X(OBJECTS, "ALLGATHER_OBJECT")                                                                 \
    X(BARRIER, "BARRIER")                                                                          \
    X(JOIN, "JOIN") /* root: how many operations it has taken part in since */                     \
    X(FIT, "FIT")   /* shape: struct fit_plan */                                                   \
    X(END, "END_OF_TRAINING")

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
    int64_t integer; // the number is one; ranks may differ in it. END: is it wanted?
};

struct collective {
    struct plan plan;
    const char *name; // NULL: the name of the kind
    int64_t begin, agreed;
};

// t NULL: a number.
struct collective collective_of(
    enum collective_kind what, const tensor *t, int op, int root, const char *name);
// An operation on n floats.
struct collective collective_of_values(
    enum collective_kind what, const char *name, size_t n, int root);
// A reduction of n doubles.
struct collective collective_of_numbers(const char *name, size_t n, int op);
// The operation is on a list of so many tensors, whose shapes have this digest, as one run.
void collective_of_list(struct collective *c, size_t tensors, uint64_t shapes);
// Compares with the other ranks. Horovod's errors come on every rank, or on none. plans: room for
// all plans, by rank; or NULL.
int collective_begin(worker *w, struct collective *c, struct plan *plans, err *e);
// How numbers are reduced when these are the ranks' plans: as integers where each rank that has not
// joined has one, unless it is an average; else as floats.
comm_type collective_number_type(const struct plan *plans, int size);
// Begins one that is not compared, since fit has done that.
void collective_begin_gradients(worker *w, const struct collective *c);
void collective_end(worker *w, const struct collective *c);
// The driver is told that this rank waits in this operation, if that takes long; NULL: in none.
void collective_enter(worker *w, enum stall_channel channel, const char *operation);
// Tells the driver how many operations this rank has begun, which is about to return.
int collective_tell_counts(worker *w, err *e);
// For comm_ops.watch; ctx is the worker.
void collective_slow(void *ctx, int64_t waited);

// Before ranks train together: do they make the same steps with the same model? What one of them
// wants, all do: spec->whole_state.
int collective_fit(worker *w, const model *m, fit_spec *spec, err *e);
// Between steps of fit: 1 when this rank or another wants to end the training, so that all do.
int collective_end_of_training(worker *w, bool wanted, err *e);
// hvd.join: takes part, with zeros, in what the other ranks reduce, until all have joined. Returns
// the rank that was last; -1 with e.
int collective_join(worker *w, err *e);
