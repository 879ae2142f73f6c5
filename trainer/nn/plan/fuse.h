// SPDX-License-Identifier: MIT
// A graph as it runs. Operations that read what another one has just written are joined to it, so
// that the numbers go through memory once:
//
//   training   BatchNormalization [+ Add of two] [+ relu]
//   otherwise  Conv2D [+ BatchNormalization] [+ Add of two] [+ relu]: the normalisation goes into
//              the weights where they are packed
//
// A node is joined only if no other node reads it, it is no output of the model, and both layers
// have the same dtype. If layers have the dtype mixed_bfloat16 and oneDNN multiplies bf16, the
// nodes that can have outputs of bf16 get them. An additional node converts floats to bf16 between
// a node that cannot and one that can.
//
// The graph that is made owns its list of nodes and borrows all else.
#pragma once
#include "trainer/nn/graph/graph.h"

struct dnn_ops; // trainer/dnn/dnn.h

typedef enum fuse_for { FUSE_NOTHING, FUSE_TRAINING, FUSE_PREDICTING } fuse_for;

graph *graph_fuse(const graph *g, fuse_for what, const struct dnn_ops *dnn);
void graph_fuse_free(graph *g);
