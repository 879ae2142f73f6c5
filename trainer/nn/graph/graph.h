// SPDX-License-Identifier: MIT
// A model as a graph: its operations in an order in which each comes after its inputs, the shapes
// of their outputs, and the place of every parameter in one run of floats. It owns its lists and
// borrows the layers.
//
//   node 0 … n-1       trained parameters, in the order of nodes │ statistics
//   x ──► dense ──┐    [kernel][bias][kernel][bias]… [gamma][beta] [moving_mean][moving_variance]
//    └──────► add ──►   each starts at a multiple of 16 floats
#pragma once
#include "trainer/nn/layer/op.h"

typedef struct parameter {
    op_parameter as;
    size_t layer;    // the number of the layer it belongs to
    size_t at, size; // in the run; size is with padding
    size_t rows, columns;
    const weight_spec *said; // of its layer; NULL: nothing can be said of it
    // How it follows the optimizer: nn/group.h sets these.
    double rate, decay; // the learning rate's multiplier; NAN: the optimizer's weight_decay
    bool frozen;        // not trained: all that are fixed, and others
    bool shared;        // by several nodes, whose gradients are added
} parameter;

typedef struct node {
    const op *op;
    const layer_spec *layer; // NULL for the input of a Sequential model, which has no layer
    size_t number;           // of the layer
    size_t inputs, *input;   // numbers of nodes, all less than its own
    row_shape out;
    size_t parameters, first; // in the graph's list
    bool frozen;              // computes as after training
    size_t owner;             // the node whose parameters these are: itself, or one before it
    bool echo;                // of an output, see graph
    size_t id;                // of its noise: its number in the graph that was made first
    bool remat;               // its output may be computed anew in backward: see layer_spec
    // What nn/fuse.h joined to it.
    const layer_spec
        *norm;         // a BatchNormalization behind it, as after training; NULL: there is none
    size_t norm_first; // its parameters in the graph's list
    bool clip;         // y = max(min(y, most), 0) at the end
    float most;
    bool half; // its output and gradient are bf16
} node;

// What is run is another graph with the same parameters, which nn/fuse.h makes.
//
// A layer that is made of parts has a node for each, one after the other.
//
// The loss takes an output before its activation. If other layers take that output, too, one more
// node (its echo) applies the activation, and they read the echo.
typedef struct graph {
    size_t n;
    node *node;
    layer_spec
        *made; // for each layer those of its parts (op.parts) and of its echo, with their own
    size_t layers;
    size_t inputs, *input, outputs, *output; // nodes
    size_t parameters;
    parameter *parameter;
    size_t trained, values; // floats of the run: those that are not fixed, all
    size_t numbers;         // all without padding
} graph;

// Connects n layers; their names must be there. `inputs` and `outputs` are numbers of layers; with
// no inputs the layers are a row of them, and `in` is the shape of a row of its input. Fills in
// what layers learn from their inputs (Dense's inputs). Errors name the layer.
graph *graph_new(layer_spec *layers, size_t n, const size_t *inputs, size_t input_count,
    const size_t *outputs, size_t output_count, const row_shape *in, err *e);
void graph_free(graph *g);
// Does its regularizer count?
static inline bool parameter_is_regular(const parameter *p)
{
    return p->said && (p->said->l1 > 0 || p->said->l2 > 0) && !p->as.fixed && !p->frozen;
}

// Is it a row of Dense, Flatten and Dropout that nn/step.c runs as one fused operation? Whether
// layers of a Sequential model will be one can be told before it is built.
bool graph_is_chain(const graph *g);
bool layers_are_chain(const layer_spec *layers, size_t n);

// Where number (row, column) of the parameter is in the run.
static inline size_t parameter_at(const parameter *p, size_t row, size_t column)
{
    size_t panel = column / PANEL, all = (p->columns + 15) / 16 * 16;
    if (!p->as.panels)
        return p->at + row * p->columns + column;
    size_t width = all - panel * PANEL < PANEL ? all - panel * PANEL : PANEL;
    return p->at + panel * p->rows * PANEL + row * width + column % PANEL;
}
