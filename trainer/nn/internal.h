// SPDX-License-Identifier: MIT
// The inside of a model, shared by model.c, weights.c and train.c.
#pragma once
#include "trainer/cpu/ops.h"
#include "trainer/cpu/pool.h"
#include "trainer/nn/flow/flow.h"
#include "trainer/nn/graph/model.h"
#include "trainer/nn/plan/plan.h"
#include "trainer/nn/tempo.h"

enum { SLOTS_MAX = 3 };

struct model {
    size_t n;
    layer_spec *layer;
    uint64_t seed;
    size_t most;              // numbers in the weights; 0: any
    size_t *inputs, *outputs; // numbers of layers; none: a row of layers
    size_t input_count, output_count;

    char name[LAYER_NAME_SIZE]; // "": it has none

    graph *graph;            // NULL until the model is built
    plan *plan;              // what runs it: a chain's fused operation
    flow *flow;              // or any graph, node by node: in training
    flow *predicting[2];     // otherwise: few rows, more; NULL until it is needed
    flow_room room;          // of all
    bool apart;              // nothing is joined: for tests
    long blamed;             // see flow_blame
    bool running;            // a batch is under way; a loss of one's own may call this model
    float *w;                // [graph->values]
    float *slot;             // [slots][graph->values]: Adam m, v; SGD momentum
    float *g;                // gradients; allocated when they are first kept
    const share_ops *lender; // of g, with lender_ctx; NULL: g is the model's own
    void *lender_ctx;
    tensor **handed;   // [parameters] with g: gradients as they were handed out, while g has them
    uint8_t **touched; // [parameters] with g, of a graph: rows of tables, see op_work; else NULL
    uint64_t written;  // how often weights have changed
    bool shares;       // updates may be shared with other ranks: nobody looks at slots meanwhile
    bool scattered;    // slots are up to date for this rank's share alone
    struct {
        bool on;     // this step's gradients are averaged while backward goes on
        size_t left; // those from here on are under way
        int status;  // of what has begun; 1: not in this step
        err error;
    } overlap;
    bool guessed; // some rows count as touched that perhaps were not
    size_t slots;
    int64_t steps;
    uint64_t asked; // for gradients by a loop of one's own, since the last step
    int64_t epochs; // trained so far; the next one's order of rows is another

    bool compiled;
    compile_spec spec;
    param_group *groups; // spec's
    bool differ;         // some weights follow the optimizer in a way of their own
    const cpu_ops *cpu;
    const struct dnn_ops *dnn; // NULL: own kernels
    pool *pool;
    tempo tempo;
    double dense_from[2]; // of f32 and u8: see nn/density.h; 0: not measured
};

// ERR_USAGE in the middle of a batch: buffers, threads and the compiled loss are in use.
int model_check_idle(const model *m, err *e);
// Gives a built model its weights, and a compiled model its slots, too.
int model_init_weights(model *m, err *e);
int model_init_slots(model *m, err *e);
// Makes what runs the graph anew. apart: operation by operation, nothing is joined (nn/fuse.h).
void model_plan_flow(model *m, bool apart);
// Any row of weight i, if it is a table, may have a gradient from now on.
void model_touch(model *m, size_t i);
// g will have other numbers than those that were handed out.
void model_forget_handed(model *m);
// Writes the gradient of weight i.
int model_put_gradient(model *m, size_t i, const tensor *value, err *e);
// From now on no input counts as "never seen", and weights that were packed are not those there
// are.
void model_forget_unseen(model *m);
