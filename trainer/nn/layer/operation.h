// SPDX-License-Identifier: MIT
// An operation of a graph: what it can be told and how that is called, what its output's shape is,
// what parameters it has, how a batch goes through it and back. Each is one file that ends in its
// table, and is listed in layers.def. Operations own nothing.
//
//   x[i]  the inputs:  (rows, ldx[i]), a row has in[i]'s numbers one after the other
//   y     the output:  (rows, ldy)
//   dy    dLoss/dy, which backward may overwrite;  dx[i] what backward computes for input i
//
// ld is a multiple of 16; what is behind a row's numbers is undefined. Work is cut into chunks by
// the batch and the layer alone, and each number is computed by one chunk, so the results are the
// same for any number of threads. Sums over rows are made of one partial sum for each chunk, added
// in their order.
#pragma once
#include "base/json/json.h"
#include "trainer/cpu/ops.h"
#include "trainer/nn/layer/layer.h"

#include <stdatomic.h>

enum {
    OP_PARAMETERS = 4,
    OP_PASSES = 4,
    OP_DIMS = 4, // of a parameter
    OP_PARTS = 2,
    OP_ROWS = 12, // in a chunk of rows: twice the rows that the kernels take at once; fewer of
                  // large pictures, of which a batch has few: op_rows
    OP_UNITS_MAX = SIZE_MOST,
};

typedef enum op_start {
    START_ZEROS,
    START_ONES,
    START_GLOROT, // uniform in ±√(6 / (fan_in + fan_out)): Glorot and Bengio 2010
    START_SMALL,  // uniform in ±0.05: Keras's for an Embedding
} op_start;

// A parameter as a matrix: (rows, columns), its last dimension are the columns.
typedef struct op_parameter {
    const char *name; // "kernel"
    int dims;
    size_t shape[OP_DIMS];
    op_start start;
    size_t fan_in, fan_out;
    bool panels;     // lies in panels of 64 columns, as products take it
    bool multiplied; // as with panels, each position of the output is a product with it
    bool fixed;      // not trained: statistics
    bool table;      // a row's gradient is 0 unless the batch names the row: see op_work.touched
} op_parameter;

// One pass over the batch: all chunks of it are done before the next pass begins, except that after
// a pass by rows chunk i of another one by rows may begin when chunk i is done.
typedef struct op_pass {
    size_t chunks;
    bool by_rows; // chunk i reads and writes only chunk i's rows of all buffers
} op_pass;

typedef struct op_need {
    op_pass forward[OP_PASSES], backward[OP_PASSES]; // those with chunks
    size_t kept;    // floats that backward needs of forward, and what chunks leave for a later pass
    size_t scratch; // floats for each thread
    size_t forward_only, backward_only; // floats that only those passes use
    bool packs;            // the first pass forward makes forward_only, of the weights alone
    bool reads_x, reads_y; // backward reads the inputs, the output
} op_need;

// All ranks that train together. The passes of one chunk, which the calling thread runs, may add
// numbers up over them: every rank comes to the same ones, in the order of the nodes.
typedef struct op_ranks {
    int (*sum)(void *ctx, double *values, size_t n, const char *name, err *e); // see model.h
    void *ctx;
    bool failed; // then no other sum is tried, and the step ends with
    err error;
} op_ranks;

typedef struct op_work {
    const layer_spec *layer;
    const cpu_ops *cpu;
    size_t inputs;
    const row_shape *in; // [inputs]
    row_shape out;
    size_t rows, chunk_rows;
    float *const *x; // [inputs]
    const size_t *ldx;
    float *const *dx; // [inputs]; NULL where nobody wants it
    const bool *add;  // [inputs]: add to dx, do not replace it
    float *y, *dy;
    size_t ldy;
    activation f; // linear where the loss applies the activation
    bool clip;    // at the end y = max(min(y, most), 0), see nn/fuse.h
    float most;
    bool half; // all x, y, dx and dy are bf16 (uint16_t), not floats: op_at finds rows of them
    const layer_spec *norm; // behind it, before what is added and clipped: a BatchNormalization
    size_t norm_at[OP_PARAMETERS];
    float *kept, *forward_only, *backward_only;
    const struct dnn_ops *dnn; // oneDNN's convolutions; NULL: they are not used
    bool by_dnn;  // op.by_dnn's answer for the largest batch, for which all buffers were made
    float *w, *g; // the model's run of parameters, and of their gradients
    size_t at[OP_PARAMETERS];  // where its own are, in their order
    bool fixed[OP_PARAMETERS]; // which of them are not trained: backward leaves their gradients out
    // Of a table (its first parameter), by row: may its gradient be other than 0? backward clears
    // those rows, and marks the ones that it writes. NULL: any row may.
    uint8_t *touched;
    bool train;
    bool frozen;         // the layer is: it computes as when nothing is trained
    bool moves;          // the step is one of a training: statistics follow it
    uint64_t noise;      // seed of this step's noise for this layer
    atomic_bool *failed; // set by a chunk that could not be computed: the step ends with an error
    op_ranks *ranks;     // NULL: it trains alone
} op_work;

typedef struct onnx onnx; // trainer/nn/graph/onnx.h

typedef struct op {
    layer_kind kind;
    declaration is;     // the layer: its name, its attributes (layer_spec.own), its words
    size_t least, most; // how many inputs it takes
    // What attributes cannot be together, or in a model of C. Errors go on after the layer:
    // "must have a shape". NULL: nothing.
    int (*check)(const layer_spec *l, err *e);
    // Of options that a person gave: what one says of another. The error says what must be:
    // "groups must be positive". NULL: nothing.
    int (*settle)(layer_spec *l, void *own, err *e);
    // What older files have in another way. NULL: nothing.
    int (*read_older)(layer_spec *l, void *own, const cJSON *in, err *e);
    // The output's shape. Errors go on after the layer's name: "expects 784 inputs, got 785".
    int (*infer)(const layer_spec *l, size_t n, const row_shape *in, row_shape *out, err *e);
    // Fills in its parameters; returns how many. NULL: it has none.
    size_t (*parameters)(const layer_spec *l, const row_shape *in, op_parameter *out);
    // Needs for a batch of w->rows; w has layer, shapes, lds and dx (NULL or not).
    void (*reserve)(const op_work *w, op_need *need);
    void (*forward)(const op_work *w, size_t pass, size_t chunk, float *scratch);
    void (*backward)(const op_work *w, size_t pass, size_t chunk, float *scratch);
    // Itself in ONNX's operators, when nothing is trained; w has layer and shapes. NULL: it has no
    // counterpart there.
    void (*onnx)(const op_work *w, onnx *o);
    // What options call its parameters, and their names: {"depthwise", "kernel"} of
    // depthwise_initializer. Statistics have no regularizer.
    struct {
        const char *option, *parameter;
        bool statistics;
    } weight[LAYER_WEIGHTS];
    bool indices; // its input are indices
    // Can it read and write bf16? w has layer, shapes, f and dnn. NULL: it cannot.
    bool (*halves)(const op_work *w);
    // Does oneDNN compute it? w has what reserve has, but for by_dnn. NULL: never.
    bool (*by_dnn)(const op_work *w);
    // Do all ranks' rows count in it? NULL: no.
    bool (*of_all_ranks)(const layer_spec *l);
    // A layer that is made of others: these, one after the other, and what it calls their kernels.
    // Their attributes are put into own[]. Its graph has nodes of them alone, so it has nothing
    // above but attributes. NULL: it is one.
    void (*parts)(const layer_spec *l, layer_spec part[OP_PARTS], void *own[OP_PARTS]);
    const char *part_kernel[OP_PARTS];
} op;

const op *op_of(layer_kind kind);
const op *op_of_layer(const layer_spec *l); // its attributes may choose another one of its kind
