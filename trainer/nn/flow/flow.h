// SPDX-License-Identifier: MIT
// Runs any graph, batch by batch: forward, loss, and in training backward, whose gradients stay in
// one run; the update follows. It owns the buffers; a graph and its layers are borrowed.
//
// Each node has an output y, a gradient d of it, and what its operation keeps. All lie in one
// arena; two may share a place when one is no longer read where the other is first written:
//
//   y of i     i's forward … its last reader's forward, or backward if that reads it (or i's own)
//   d of i     its last reader's backward … i's backward
//   kept of i  i's forward … i's backward; there is room of one of them only, too
//
// Times are counted in phases, from barrier to barrier: within one, threads run ahead of others.
#pragma once
#include "trainer/nn/plan/fuse.h"
#include "trainer/nn/plan/step.h"

typedef struct flow flow;

enum { FLOW_FEW_ROWS = 8 }; // packing takes as long as a third of a row of ResNet-50

// Memory for buffers, which several flows have if only one of them runs at a time.
typedef struct flow_room {
    float *at;
    size_t size;
    const struct flow *user; // whose numbers lie there
} flow_room;

// The graph is joined as nn/fuse.h says. dnn: oneDNN for what it is good at; NULL: own kernels for
// all. The room is borrowed, too; it is made larger when there is need.
flow *flow_new(const graph *g, fuse_for what, const struct dnn_ops *dnn, flow_room *room);
void flow_free(flow *f);
// Memory for batches of up to `rows` rows on so many threads. Before the first one that trains
// there is no room for backward, and outputs share theirs as soon as they were read. -1: there is
// none.
// Of up to FLOW_FEW_ROWS that are only predicted, packed weights stay from batch to batch.
int flow_reserve(flow *f, size_t rows, int threads, bool train, err *e);
// Runs the step. In training values.g gets the gradients of all trained parameters. -1: an
// operation failed, and no result counts.
int flow_run(flow *f, step *s, err *e);
// The number of the first layer whose outputs were not finite, in the last step whose loss was not;
// -1: all were.
long flow_blame(const flow *f);
// Floats of all buffers, and of the arena that they share: for tests.
size_t flow_floats(const flow *f, size_t *arena);
