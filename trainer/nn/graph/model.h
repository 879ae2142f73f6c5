// SPDX-License-Identifier: MIT
// A model: layers in a row (Keras's Sequential) or connected to a graph, their weights, and how it
// is compiled. It owns weights, buffers and threads. One thread at a time may use a model. Training
// itself is in trainer/fit.h.
//
//   layer_spec layers[] = {{.kind = LAYER_FLATTEN, .own = &(shape_layer){2, {28, 28}}},
//       {.kind = LAYER_DENSE, .own = &(dense_layer){.units = 128, .activation = ACTIVATION_RELU}},
//       {.kind = LAYER_DENSE, .own = &(dense_layer){10, .activation = ACTIVATION_SOFTMAX}}};
//   model *m = model_new(layers, 3, MODEL_SEED, &e);
//   compile_spec c = {.optimizer = optimizer_default(OPTIMIZER_ADAM), .metrics = METRIC(ACCURACY)};
//   model_compile(m, &c, &e);
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "trainer/nn/graph/group.h"
#include "trainer/nn/layer/layer.h"
#include "trainer/nn/layer/layers.h"
#include "trainer/nn/rule/loss.h"
#include "trainer/nn/rule/metric.h"
#include "trainer/nn/rule/optimizer.h"
#include "trainer/tensor/tensor.h"

typedef struct model model;
struct dnn_ops; // trainer/dnn/dnn.h

enum { MODEL_SEED = 3 };

// Replaces the n values by their average over all ranks. It is called once a step with all
// gradients, on the thread that called fit; every rank makes the same calls with the same n. `name`
// is for a timeline. -1 with e ends the training.
typedef int (*allreduce_fn)(void *ctx, float *values, size_t n, const char *name, err *e);

// Collects counts[r] bytes of every rank r into `all`, one after another. With it the gradients of
// large tables travel as the rows that batches have named. Every rank makes the same calls. 1: not
// in this step (on no rank), so they travel whole.
typedef int (*allgather_fn)(
    void *ctx, const void *mine, void *all, const size_t *counts, const char *name, err *e);

// How ranks share the work of an update (comm_ops.update_shares): each averages the gradients of
// its share of the n numbers, has `update` change the weights there, and gets all others'. The
// optimizer's state, too, is kept for that share alone, until `gather` gives each rank all of it.
// Every rank makes the same calls. 1: not in this step (on no rank), so gradients are averaged.
// block: so many numbers at most for each call of `update`.
typedef struct share_ops {
    int (*update)(void *ctx, float *gradients, float *weights, size_t n, size_t block,
        void (*update)(void *ctx, size_t from, size_t to), void *update_ctx, err *e);
    int (*gather)(void *ctx, float *values, size_t n, err *e);
    // Memory for n gradients, zeros, from which an update takes them without copying; NULL: there
    // is none now. take_back ends the loan.
    float *(*lend)(void *ctx, size_t n);
    void (*take_back)(void *ctx);
} share_ops;

// How gradients are averaged while backward goes on (comm_ops.begin_average): `begin` starts with a
// run of them and returns, `progress` lets what has begun go on, `finish` waits for it. All on the
// thread that called fit. begin: 1: not in this step (on no rank), so they are averaged by the
// allreduce behind it.
typedef struct overlap_ops {
    int (*begin)(void *ctx, float *values, size_t n, err *e);
    int (*progress)(void *ctx, err *e);
    int (*finish)(void *ctx, err *e);
} overlap_ops;

// Replaces the n values by their sum over all ranks, which is the same on every one: statistics of
// layers that are synchronized. A rank that has joined (hvd.join) counts as zeros.
typedef int (*allsum_fn)(void *ctx, double *values, size_t n, const char *name, err *e);

// How the first layer reads its input: chosen by the share of zeros in it, or fixed (for
// measurements; the results are the same to the last bit).
typedef enum input_path { INPUT_BY_DENSITY, INPUT_DENSE, INPUT_SPARSE } input_path;

// A custom loss. `run` gets a batch's targets y (rows, …), its outputs p (rows, …) and the weights
// of its rows. It sets *loss to the weighted sum of the rows' losses, and gradient, which has the
// size of p, to d(*loss/rows)/dp. It runs on the training thread; -1 with e ends the training.
typedef struct own_loss {
    void *ctx;
    int (*run)(void *ctx, const tensor *y, const tensor *p, const tensor *weights, double *loss,
        float *gradient, err *e); // weights: NULL, or (rows)
} own_loss;

// What an output of a graph with several of them is trained by; the first has compile_spec's own.
enum { HEADS_MAX = 8 };
typedef struct head_spec {
    loss_kind loss;
    const own_loss *own; // instead of loss, unless it is NULL; borrowed
    bool from_logits;
    double label_smoothing, delta;
    metric_set metrics;
    double loss_weight; // of its loss in the sum; 0: 1
} head_spec;

typedef struct compile_spec {
    optimizer_spec optimizer;
    const param_group
        *groups; // weights that follow it at a pace of their own; the model has a copy
    size_t group_count;
    loss_kind loss;
    const own_loss *own;    // as head_spec's
    bool from_logits;       // the last layer is linear; the loss applies softmax or sigmoid
    double label_smoothing; // of categorical and binary crossentropy, from 0 to 1
    double delta;           // of the Huber loss; 0: 1
    metric_set metrics;
    double loss_weight;            // 0: 1
    head_spec more[HEADS_MAX - 1]; // of the second output on
    int threads;                   // 0: one for each core of this process
    const char *cpu;               // instruction set "avx512", "avx2", "plain"; NULL: the best one
    input_path input;
    allreduce_fn allreduce; // NULL: gradients are used without averaging
    void *allreduce_ctx;
    allgather_fn allgather;     // with allreduce_ctx; NULL: tables travel whole (sparse_as_dense)
    const share_ops *share;     // with allreduce_ctx; NULL: each rank updates all weights
    const overlap_ops *overlap; // with allreduce_ctx; NULL: gradients are averaged behind backward
    size_t bucket;              // with overlap: so many gradients or more at once
    allsum_fn allsum;           // with allreduce_ctx; NULL: each rank has its own statistics
    int ranks;                  // how many there are, for the allgather
    int rank; // with an allreduce: each rank's Dropout has noise of its own; rank 0's is that of
              // one
} compile_spec;

// What output k is trained by, as compile_spec's own fields.
compile_spec compile_head(const compile_spec *spec, size_t k);

// Layers and how they are connected: each takes the outputs of layer_spec.from.
typedef struct graph_spec {
    const layer_spec *layers;
    size_t n;
    const size_t *inputs, *outputs; // numbers of layers; no inputs: a row of layers
    size_t input_count, output_count;
    uint64_t seed;
    const char *name;         // of the model; NULL: none
    size_t most;              // numbers in the weights; 0: as many as there is memory for
    const char *const *remat; // names of layers that are computed anew in backward, see layer_spec
    size_t remats;
} graph_spec;

// Checks that the layers fit together. The same seed gives the same weights everywhere (Glorot
// uniform; biases 0). If no layer tells the size of the input (no Flatten shape, no inputs),
// model_build or the first fit makes the weights.
model *model_new(const layer_spec *layers, size_t n, uint64_t seed, err *e);
model *model_new_graph(const graph_spec *spec, err *e);
void model_free(model *m);
// Makes the weights for rows of this shape, or checks that they fit:
// "Dense(128) expects 784 inputs, got 785".
int model_build(model *m, int dims, const size_t *row_shape, err *e);
bool model_is_built(const model *m);
// Do rows of x fit input k of a model that is built?
int model_check_input(const model *m, size_t k, const tensor *x, err *e);
// Has input k indices alone? Then its numbers are whole.
bool model_input_has_indices(const model *m, size_t k);
// Are the values of these rows what the layers behind input k take? Each Embedding that reads them,
// also behind Flatten or Reshape, must have an entry for each; the error names the first row, from
// 0 on, that has another value.
int model_check_values(const model *m, size_t k, const tensor *x, err *e);
// Is layer i trained? It counts from the next model_compile on.
int model_set_trainable(model *m, size_t i, bool trainable, err *e);
// Sets optimizer, loss, metrics and threads; the optimizer's state starts anew.
int model_compile(model *m, const compile_spec *spec, err *e);
const compile_spec *model_compiled(const model *m); // NULL before model_compile
// Is any output trained by a loss of one's own? What a file has of a model does not know it.
bool model_has_own_loss(const model *m);
// Changes what each output is trained by, in the order of the outputs; the optimizer goes on. The
// targets are checked when data is prepared.
int model_set_heads(model *m, const head_spec *heads, err *e);
// Convolutions by oneDNN (trainer/dnn/dnn.h), from the next batch on; NULL: by own kernels.
void model_set_dnn(model *m, const struct dnn_ops *dnn);
// Has it layers that oneDNN is quicker for?
bool model_wants_dnn(const model *m);
// How many threads a model uses that predicts without having been compiled; 0: all cores.
void model_set_threads(model *m, int threads);
// Does a training step wait for the other ranks: for their gradients or their statistics?
bool model_needs_all_ranks(const model *m);

size_t model_layer_count(const model *m);
const layer_spec *model_layer(const model *m, size_t i); // with names and inputs filled in
size_t model_outputs(const model *m);                    // numbers in a row of the (first) output
// The model's inputs and outputs, and the shape of one row of each. A sequential model has one
// input and one output.
size_t model_input_count(const model *m);
size_t model_output_count(const model *m);
row_shape model_input_shape(const model *m, size_t i); // no dims until the model is built
row_shape model_output_shape(const model *m, size_t i);
const layer_spec *model_output_layer(const model *m, size_t i);
// The connections as they were given; NULL and 0 for a row of layers.
const size_t *model_input_layers(const model *m, size_t *n);
const size_t *model_output_layers(const model *m, size_t *n);
uint64_t model_seed(const model *m);
// As it was given, else Keras's word for its kind: "sequential", "functional".
const char *model_name(const model *m);
bool model_is_named(const model *m); // was one given?
// The instruction set that was chosen, such as "avx512"; the number of threads really used.
const char *model_cpu(const model *m);
int model_threads(const model *m);
// Keras's table of layers, shapes and parameters.
void model_summary(const model *m, buf *out);

double model_learning_rate(const model *m);
int model_set_learning_rate(model *m, double value, err *e);
double model_momentum(const model *m);
int model_set_momentum(model *m, double value, err *e);
int64_t model_steps(const model *m); // optimizer steps so far (t in Adam's formula)
void model_set_steps(model *m, int64_t steps);
int64_t model_epochs(const model *m); // epochs so far, over all fits: each has an order of its own
void model_set_epochs(model *m, int64_t epochs);

// The single weights: dense/kernel (inputs, units), dense/bias (units), dense_1/kernel, … Optimizer
// state is the same with a slot: Adam has 2 (m, v), SGD with momentum has 1.
size_t model_weight_count(const model *m);
void model_weight_name(const model *m, size_t i, buf *out);
tensor *model_weight(const model *m, size_t i, err *e); // a copy, F32
// Checks that the value has the shape of weight i (and of its slots).
int model_check_weight(const model *m, size_t i, const tensor *value, err *e);
int model_set_weight(model *m, size_t i, const tensor *value, err *e);
// Does its layer (Dense, BatchNormalization) take what a Flatten made of pictures larger than 1×1,
// as it is or through layers that leave its order? Then *picture is their shape.
bool model_weight_of_flattened(const model *m, size_t i, row_shape *picture);
bool model_weight_is_trained(const model *m, size_t i); // statistics and frozen ones are not
// Its gradient, as the last call that computed gradients left it; a copy. The model remembers it,
// so that model_apply need not copy it back.
tensor *model_weight_gradient(model *m, size_t i, err *e);
size_t model_slot_count(const model *m);
const char *model_slot_name(const model *m, size_t slot); // "m", "v", "momentum", …
tensor *model_slot(const model *m, size_t slot, size_t weight, err *e);
int model_set_slot(model *m, size_t slot, size_t weight, const tensor *value, err *e);

// The weights of one layer, as they lie one after another in the model, to be copied to another
// model's whose layer has the same. Call model_written after writing. 0 of a layer without any, or
// before the model is built.
size_t model_layer_floats(const model *m, size_t layer);
// The most numbers of one row that an operation reads and writes, in predictions.
size_t model_widest_row(const model *m);
void model_read_layer(const model *m, size_t layer, float *out);
void model_write_layer(model *m, size_t layer, const float *in);
void model_layer_shapes(const model *m, size_t layer, buf *out); // "kernel (5, 3), bias (3,)"

// All weights, or all optimizer state, as one array of floats, to be broadcast. Its layout is the
// same in every process that made the same layers, on any instruction set. Call model_written after
// writing to it.
float *model_weight_values(model *m, size_t *n);
float *model_slot_values(model *m, size_t *n); // NULL and 0 before model_compile
// Every rank gets all of the optimizer's state, after updates that they have shared. All call it.
int model_gather(model *m, err *e);
void model_written(model *m);
