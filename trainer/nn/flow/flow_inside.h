// SPDX-License-Identifier: MIT
// The inside of a flow, shared by flow.c (what it is), flow_place.c (where its buffers are) and
// flow_walk.c (how threads go through it).
#pragma once
#include "trainer/nn/flow/flow.h"
#include "trainer/nn/plan/arena.h"
#include "trainer/nn/plan/fuse.h"

// Between two barriers threads may be at different passes. This is a phase; a buffer is in use from
// the phase of its first pass to that of its last one.
struct phases {
    size_t first, last;
};

// A node as it runs: what its operation is given, and where.
struct running {
    const op *op;
    op_work work;
    op_need need;
    row_shape *in;
    float **x, **dx;
    size_t *ldx;
    bool *add;
    bool apart; // its gradients are added to those of another call
    bool wants; // there is something to train in it or before it
    bool waits; // forward begins a phase, so that buffers that were read are free
    float *d;   // its gradient's buffer
    size_t y_item, d_item, kept_item, forward_item, backward_item; // NONE: it has none
    // Its forward once more, right before the backward of node `anew`, in places of its own; NONE:
    // what it has computed stays as long as it is read.
    size_t anew;
    size_t behind; // where the gradients begin that nodes behind it alone have
    size_t y_anew, kept_anew, forward_anew;
    struct phases again;
    long input; // which input of the model; -1: none
    atomic_bool failed;
    struct phases forward, backward;
};

// An output of the model: the loss works on a copy of its values.
struct head {
    size_t node, z_item;
    float *z, *log_sum;
    activation f; // the loss applies it
};

// How many of its chunks a thread has begun in a pass; others take from it what it has not. Of two
// phases: the one that goes on, and the next.
struct begun {
    _Alignas(64) atomic_size_t chunks;
};

enum { NONE = -1, LARGE = 1 << 16 }; // floats of an output for which a barrier is worth it

struct flow {
    graph *g; // as it runs
    const struct dnn_ops *dnn;
    struct running *node;
    struct head *head;
    size_t loss; // its phase
    arena_item *item;
    size_t items, floats;
    float *arena; // in the room, which another flow may have made anew
    flow_room *room;
    size_t rows, arena_size;
    bool trains;  // the buffers have room for backward, too
    bool forgets; // some nodes are computed anew
    // Of few rows, packed weights stay from one batch that is predicted to the next: their places
    // are their own.
    bool keeps_packed, is_packed;
    uint64_t packed;     // the step's `written` when they were packed
    float *again;        // [g->trained]: gradients of one of several calls; NULL: there is none
    float **scratch;     // [threads]
    struct begun *begun; // [2][threads]
    size_t scratch_size;
    int threads;
    long blamed;

    step *s;       // the one that runs
    size_t sloped; // the gradients from here on have what regularizers add
    op_ranks ranks;
};

static inline size_t flow_later(size_t a, size_t b)
{
    return a > b ? a : b;
}

static inline bool flow_is_output(const graph *g, size_t i)
{
    for (size_t k = 0; k < g->outputs; k++)
        if (g->output[k] == i)
            return true;
    return false;
}

static inline bool flow_goes_back(const flow *f, size_t i)
{
    return f->trains && f->node[i].wants;
}

// What the operation of node i needs for a batch of so many rows.
void flow_ask(flow *f, size_t i, size_t rows);
void flow_free_buffers(flow *f);
// Finds the phases of all passes and the places of all buffers; the size of the arena is known
// then. false: it overflows.
bool flow_place(flow *f, size_t rows);
// Of the nodes that may be, chooses those that are computed anew, and places all buffers.
bool flow_choose_anew(flow *f, size_t rows);
// Tells the operations where everything is: in forward, or in backward.
void flow_wire(flow *f, bool back);
// Makes each thread's scratch as large as what was asked: pieces of a smaller batch may be larger.
// false: there is no memory.
bool flow_find_scratch(flow *f);
// What each thread runs in a step: forward, loss, backward.
void flow_walk(void *ctx, int thread);
