// SPDX-License-Identifier: MIT
// Small graphs of every operation against what Keras 3 computes for them: their outputs, the
// gradients of all weights, and what six steps learn. golden_graph.py has the same models.
#include "tests/unit/trainer/golden_graph.h"
#include "tests/unit/trainer/graphs.h"
#include "trainer/fit.h"

enum { ROWS = 8, STEPS = 6, OUTPUTS = 3 };

// How far numbers may be apart: outputs and gradients, and what some steps make of that.
static const double START = 2e-6, LEARNT = 1e-5;
static const size_t head = (size_t)ROWS * OUTPUTS; // numbers of an output

#define DENSE .kind = LAYER_DENSE
#define OUT(from)                                                                                  \
    {                                                                                              \
        DENSE, .own = &(dense_layer){.units = OUTPUTS}, FROM(from)                                 \
    }
#define SQUARE(n)             .window = {n, n}
#define STEP(a, b)            .stride = {a, b}
#define SEPARABLE(n, h, w, m) .units = n, .window = {h, w}, .multiplier = m

static const struct {
    const char *name;
    struct test_graph graph;
} graphs[] = {
    {"table",
        {{INPUT(2), INPUT(4),
             {.kind = LAYER_EMBEDDING,
                 .own = &(embedding_layer){.entries = 7, .units = 3},
                 FROM(0)},
             {.kind = LAYER_FLATTEN, FROM(2)}, {.kind = LAYER_CONCATENATE, FROM(3, 1)},
             {DENSE, .own = &(dense_layer){.units = 5, .activation = ACTIVATION_GELU}, FROM(4)},
             {.kind = LAYER_BATCH_NORMALIZATION,
                 .own = &(norm_layer){.epsilon = NORM_EPSILON, .momentum = NORM_MOMENTUM},
                 FROM(5)},
             OUT(6)},
            NUMBERS(0, 1), NUMBERS(7)}},
    {"residual",
        {{INPUT(4),
             {DENSE, .own = &(dense_layer){.units = 6, .activation = ACTIVATION_TANH}, FROM(0)},
             {.kind = LAYER_LAYER_NORMALIZATION,
                 .own = &(norm_layer){.epsilon = NORM_EPSILON},
                 FROM(1)},
             {DENSE, .own = &(dense_layer){.units = 6}, FROM(0)}, {.kind = LAYER_ADD, FROM(2, 3)},
             {.kind = LAYER_ACTIVATION,
                 .own = &(activation_layer){.activation = ACTIVATION_SILU},
                 FROM(4)},
             OUT(5)},
            NUMBERS(0), NUMBERS(6)}},
    {"pictures", {{INPUT(6, 7, 2),
                      {.kind = LAYER_CONV2D,
                          .own = &(window_layer){.units = 3,
                              SQUARE(3),
                              STEP(1, 1),
                              .padding = PADDING_SAME,
                              .activation = ACTIVATION_TANH},
                          FROM(0)},
                      {.kind = LAYER_MAX_POOLING2D,
                          .own = &(window_layer){SQUARE(2), STEP(2, 2), .padding = PADDING_SAME},
                          FROM(1)},
                      {.kind = LAYER_CONV2D,
                          .own = &(window_layer){.units = 4,
                              .window = {2, 3},
                              STEP(1, 1),
                              .activation = ACTIVATION_ELU,
                              .no_bias = true},
                          FROM(2)},
                      {.kind = LAYER_AVERAGE_POOLING2D,
                          .own = &(window_layer){SQUARE(2), STEP(2, 2), .padding = PADDING_SAME},
                          FROM(3)},
                      {.kind = LAYER_FLATTEN, FROM(4)}, OUT(5)},
                     NUMBERS(0), NUMBERS(6)}},
    {"strides",
        {{INPUT(6, 7, 2),
             {.kind = LAYER_CONV2D,
                 .own =
                     &(window_layer){.units = 20, SQUARE(3), STEP(2, 2), .padding = PADDING_SAME},
                 FROM(0)},
             {.kind = LAYER_BATCH_NORMALIZATION,
                 .own = &(norm_layer){.momentum = 0.8, .epsilon = 0.01},
                 FROM(1)},
             {.kind = LAYER_ACTIVATION,
                 .own = &(activation_layer){.activation = ACTIVATION_RELU},
                 FROM(2)},
             {.kind = LAYER_GLOBAL_AVERAGE_POOLING2D, FROM(3)}, OUT(4)},
            NUMBERS(0), NUMBERS(5)}},
    {"pixels",
        {{INPUT(6, 7, 2),
             {.kind = LAYER_RESCALING,
                 .own = &(rescaling_layer){.scale = 1.5, .offset = -0.25},
                 FROM(0)},
             {.kind = LAYER_NORMALIZATION,
                 .own = &(normalization_layer){.mean.n = 2,
                     .variance.n = 2,
                     .mean.values = (const double[]){0.3, -0.2},
                     .variance.values = (const double[]){0.2, 1.7}},
                 FROM(1)},
             {.kind = LAYER_CENTER_CROP, .own = &(crop_layer){.size = {4, 5}}, FROM(2)},
             {.kind = LAYER_CONV2D,
                 .own =
                     &(window_layer){
                         .units = 3, SQUARE(2), STEP(1, 1), .activation = ACTIVATION_SIGMOID},
                 FROM(3)},
             {.kind = LAYER_FLATTEN, FROM(4)}, OUT(5)},
            NUMBERS(0), NUMBERS(6)}},
    {"pool",
        {{INPUT(6, 7, 2),
             {.kind = LAYER_CONV2D,
                 .own =
                     &(window_layer){
                         .units = 5, .window = {1, 2}, STEP(1, 1), .activation = ACTIVATION_GELU},
                 FROM(0)},
             {.kind = LAYER_MAX_POOLING2D, .own = &(window_layer){SQUARE(3), STEP(2, 2)}, FROM(1)},
             {.kind = LAYER_LAYER_NORMALIZATION,
                 .own = &(norm_layer){.epsilon = NORM_EPSILON},
                 FROM(2)},
             {.kind = LAYER_LAYER_NORMALIZATION,
                 .own = &(norm_layer){.axis.first = 2, .axis.n = 2, .epsilon = NORM_EPSILON},
                 FROM(3)},
             {.kind = LAYER_RESHAPE, .own = &(shape_layer){.dims = 1}, FROM(4)}, OUT(5)},
            NUMBERS(0), NUMBERS(6)}},
    {"gaps",
        {{INPUT(6, 7, 2),
             {.kind = LAYER_ZERO_PADDING2D, .own = &(padding_layer){.pad = {1, 0, 2, 1}}, FROM(0)},
             {.kind = LAYER_CONV2D,
                 .own = &(window_layer){.units = 4,
                     .window = {2, 3},
                     STEP(1, 1),
                     .dilation = {3, 2},
                     .activation = ACTIVATION_TANH},
                 FROM(1)},
             {.kind = LAYER_CONV2D,
                 .own =
                     &(window_layer){
                         .units = 6, SQUARE(3), STEP(2, 2), .groups = 2, .padding = PADDING_SAME},
                 FROM(2)},
             {.kind = LAYER_RELU,
                 .own = &(relu_layer){.most = 0.9, .slope = 0.1, .threshold = 0.05},
                 FROM(3)},
             {.kind = LAYER_FLATTEN, FROM(4)}, OUT(5)},
            NUMBERS(0), NUMBERS(6)}},
    {"enlarged",
        {.config = "{'layers': [{'type': 'InputLayer', 'shape': [6, 7, 2]},"
                   "{'type': 'Conv2D', 'filters': 3, 'kernel_size': [3, 3], 'activation': 'tanh',"
                   " 'from': [0]},"
                   "{'type': 'UpSampling2D', 'size': [2, 3], 'from': [1]},"
                   "{'type': 'Conv2D', 'filters': 4, 'kernel_size': [3, 3], 'strides': [2, 2],"
                   " 'activation': 'elu', 'from': [2]},"
                   "{'type': 'UpSampling2D', 'size': [3, 2], 'interpolation': 'bilinear',"
                   " 'from': [3]},"
                   "{'type': 'Conv2D', 'filters': 2, 'kernel_size': [4, 1], 'from': [0]},"
                   "{'type': 'UpSampling2D', 'size': [3, 2], 'interpolation': 'bilinear',"
                   " 'from': [5]},"
                   "{'type': 'Concatenate', 'from': [4, 6]},"
                   "{'type': 'Conv2D', 'filters': 2, 'kernel_size': [3, 3], 'strides': [3, 3],"
                   " 'from': [7]},"
                   "{'type': 'Flatten', 'from': [8]}, {'type': 'Dense', 'units': 3, 'from': [9]}],"
                   "'inputs': [0], 'outputs': [10], 'seed': 5}"}},
    {"depthwise", {{INPUT(6, 7, 2),
                       {.kind = LAYER_DEPTHWISE_CONV2D,
                           .own = &(window_layer){.window = {2, 3},
                               STEP(1, 1),
                               .multiplier = 3,
                               .activation = ACTIVATION_ELU},
                           FROM(0)},
                       {.kind = LAYER_DEPTHWISE_CONV2D,
                           .own = &(window_layer){SQUARE(3), STEP(2, 2), .multiplier = 1,
                               .padding = PADDING_SAME, .no_bias = true},
                           FROM(1)},
                       {.kind = LAYER_RELU, .own = &(relu_layer){.most = 6}, FROM(2)},
                       {.kind = LAYER_GLOBAL_MAX_POOLING2D, FROM(3)}, OUT(4)},
                      NUMBERS(0), NUMBERS(5)}},
    {"separable", {{INPUT(6, 7, 2),
                       {.kind = LAYER_SEPARABLE_CONV2D,
                           .own = &(window_layer){SEPARABLE(2, 3, 3, 1), STEP(1, 1),
                               .padding = PADDING_SAME, .activation = ACTIVATION_TANH},
                           FROM(0)},
                       {.kind = LAYER_SEPARABLE_CONV2D,
                           .own = &(window_layer){SEPARABLE(2, 3, 3, 1), STEP(1, 1),
                               .padding = PADDING_SAME, .activation = ACTIVATION_TANH},
                           .shares = 2,
                           FROM(1)},
                       {.kind = LAYER_SEPARABLE_CONV2D,
                           .own = &(window_layer){SEPARABLE(5, 2, 3, 3), STEP(1, 1),
                               .dilation = {2, 1}, .activation = ACTIVATION_ELU},
                           FROM(2)},
                       {.kind = LAYER_SEPARABLE_CONV2D,
                           .own = &(window_layer){SEPARABLE(4, 2, 2, 1), STEP(2, 2),
                               .padding = PADDING_SAME, .no_bias = true},
                           FROM(3)},
                       {.kind = LAYER_GLOBAL_AVERAGE_POOLING2D,
                           .own = &(global_layer){.keepdims = true},
                           FROM(4)},
                       {.kind = LAYER_CONV2D,
                           .own = &(window_layer){.units = 3, SQUARE(1), STEP(1, 1)},
                           FROM(5)},
                       {.kind = LAYER_FLATTEN, FROM(6)}, OUT(7)},
                      NUMBERS(0), NUMBERS(8)}},
    {"steps",
        {{INPUT(9, 4),
             {.kind = LAYER_CONV1D,
                 .own = &(window_layer){.units = 6,
                     .window = {3},
                     .stride = {1},
                     .dilation = {2},
                     .padding = PADDING_CAUSAL,
                     .activation = ACTIVATION_TANH},
                 FROM(0)},
             {.kind = LAYER_CONV1D,
                 .own = &(window_layer){.units = 6,
                     .window = {3},
                     .stride = {2},
                     .groups = 2,
                     .padding = PADDING_SAME,
                     .activation = ACTIVATION_SILU},
                 FROM(1)},
             {.kind = LAYER_AVERAGE_POOLING1D,
                 .own = &(window_layer){.window = {3}, .stride = {2}, .padding = PADDING_SAME},
                 FROM(1)},
             {DENSE, .own = &(dense_layer){.units = 6, .activation = ACTIVATION_GELU}, FROM(3)},
             {.kind = LAYER_CONV1D,
                 .own = &(window_layer){.units = 6, .window = {2}, .stride = {1}, .no_bias = true},
                 FROM(2)},
             {.kind = LAYER_CONCATENATE, .own = &(concatenate_layer){.axis = 1}, FROM(5, 4)},
             {DENSE, .own = &(dense_layer){.units = 5}, FROM(6)},
             {.kind = LAYER_GLOBAL_AVERAGE_POOLING1D,
                 .own = &(global_layer){.keepdims = true},
                 FROM(7)},
             {.kind = LAYER_FLATTEN, FROM(8)}, {.kind = LAYER_GLOBAL_MAX_POOLING1D, FROM(1)},
             {.kind = LAYER_MAX_POOLING1D,
                 .own = &(window_layer){.window = {2}, .stride = {3}},
                 FROM(1)},
             {.kind = LAYER_FLATTEN, FROM(11)}, {.kind = LAYER_CONCATENATE, FROM(9, 10, 12)},
             OUT(13)},
            NUMBERS(0), NUMBERS(14)}},
    {"regular", {{INPUT(2), INPUT(6, 7, 2),
                     {.kind = LAYER_CONV2D,
                         .own =
                             &(window_layer){
                                 .units = 4, SQUARE(3), STEP(1, 1), .activation = ACTIVATION_TANH},
                         .weight = {{.l1 = 0.003}, {.l2 = 0.1}},
                         FROM(1)},
                     {.kind = LAYER_DEPTHWISE_CONV2D,
                         .own = &(window_layer){SQUARE(2), STEP(1, 1), .multiplier = 1},
                         .weight = {{.l1 = 0.002, .l2 = 0.01}},
                         FROM(2)},
                     {.kind = LAYER_SEPARABLE_CONV2D,
                         .own = &(window_layer){SEPARABLE(5, 2, 2, 1), STEP(1, 1)},
                         .weight = {{.l2 = 0.02}, {.l1 = 0.004}},
                         FROM(3)},
                     {.kind = LAYER_EMBEDDING,
                         .own = &(embedding_layer){.entries = 7, .units = 3},
                         .weight = {{.l1 = 0.001, .l2 = 0.02}},
                         FROM(0)},
                     {.kind = LAYER_FLATTEN, FROM(5)},
                     {.kind = LAYER_BATCH_NORMALIZATION,
                         .own = &(norm_layer){.epsilon = NORM_EPSILON, .momentum = NORM_MOMENTUM},
                         .weight = {{.l2 = 0.05}},
                         FROM(4)},
                     {.kind = LAYER_GLOBAL_AVERAGE_POOLING2D, FROM(7)},
                     {.kind = LAYER_CONCATENATE, FROM(6, 8)},
                     {DENSE, .own = &(dense_layer){.units = OUTPUTS},
                         .weight = {{.l2 = 0.01}, {.l2 = 0.2}}, FROM(9)}},
                    NUMBERS(0, 1), NUMBERS(10)}},
    {"heads",
        {{INPUT(4),
             {DENSE, .own = &(dense_layer){.units = 6, .activation = ACTIVATION_TANH}, FROM(0)},
             OUT(1),
             {DENSE, .own = &(dense_layer){.units = OUTPUTS, .activation = ACTIVATION_SIGMOID},
                 FROM(1)}},
            NUMBERS(0), NUMBERS(2, 3)}},
    {"shared",
        {{INPUT(2), INPUT(2), INPUT(4),
             {.kind = LAYER_EMBEDDING,
                 .own = &(embedding_layer){.entries = 7, .units = 3},
                 FROM(0)},
             {.kind = LAYER_EMBEDDING,
                 .own = &(embedding_layer){.entries = 7, .units = 3},
                 .shares = 4,
                 FROM(1)},
             {DENSE, .own = &(dense_layer){.units = 4, .activation = ACTIVATION_TANH}, FROM(2)},
             {DENSE, .own = &(dense_layer){.units = 4, .activation = ACTIVATION_TANH}, .shares = 6,
                 FROM(5)},
             {.kind = LAYER_LAYER_NORMALIZATION,
                 .own = &(norm_layer){.epsilon = NORM_EPSILON},
                 FROM(6)},
             {DENSE, .own = &(dense_layer){.units = 4, .activation = ACTIVATION_TANH}, .shares = 6,
                 FROM(7)},
             {.kind = LAYER_LAYER_NORMALIZATION,
                 .own = &(norm_layer){.epsilon = NORM_EPSILON},
                 .shares = 8,
                 FROM(8)},
             {.kind = LAYER_FLATTEN, FROM(3)}, {.kind = LAYER_FLATTEN, FROM(4)},
             {.kind = LAYER_CONCATENATE, FROM(10, 11, 9)}, OUT(12)},
            NUMBERS(0, 1, 2), NUMBERS(13)}},
    {"chained",
        {{INPUT(4),
             {DENSE, .own = &(dense_layer){.units = 6, .activation = ACTIVATION_TANH}, FROM(0)},
             {DENSE, .own = &(dense_layer){.units = OUTPUTS, .activation = ACTIVATION_SIGMOID},
                 FROM(0)},
             {.kind = LAYER_CONCATENATE, FROM(2, 1)},
             {DENSE, .own = &(dense_layer){.units = OUTPUTS, .activation = ACTIVATION_TANH},
                 FROM(3)},
             {.kind = LAYER_ADD, FROM(2, 4)}, OUT(5)},
            NUMBERS(0), NUMBERS(2, 4, 6)}},
};

// The graph of that name; else `other`, with the activation of that name.
static struct test_graph graph_named(const char *name, struct test_graph other)
{
    static dense_layer own; // of one graph at a time
    err e;
    for (size_t i = 0; i < ARRAY_LEN(graphs); i++)
        if (strcmp(graphs[i].name, name) == 0)
            return graphs[i].graph;
    own = *(const dense_layer *)other.layers[1].own;
    CHECK_OK(activation_parse(name, &own.activation, &e) == 0, e);
    other.layers[1].own = &own;
    return other;
}

// Kernels and embeddings become 0.4·sin(1 + 1.3·i); the others start as they do.
static void set_weights(model *m)
{
    err e;
    for (size_t i = 0; i < model_weight_count(m); i++) {
        tensor *w = model_weight(m, i, &e);
        for (size_t k = 0; w->dims > 1 && k < tensor_count(w); k++)
            tensor_set(w, k, 0.4 * sin(1 + 1.3 * (double)k), &e);
        CHECK_OK(model_set_weight(m, i, w, &e) == 0, e);
        tensor_free(w);
    }
}

static tensor *input(const model *m, size_t k)
{
    err e;
    row_shape in = model_input_shape(m, k);
    if (in.dims == 3)
        return test_tensor(ROWS, &in, 2, 1.1);
    tensor *t = test_tensor(ROWS, &in, 1, 0.7);
    for (size_t i = 0; in.size[0] == 2 && i < tensor_count(t); i++)
        tensor_set(t, i, (double)(i * 5 % 7), &e);
    return t;
}

static void check_number(
    const char *graph, const char *what, size_t i, double have, double want, double apart)
{
    if (!(fabs(have - want) <= apart * (1 + fabs(want))))
        tap_fail(
            __FILE__, __LINE__, "%s: %s %zu is %.7f, Keras has %.7f", graph, what, i, have, want);
}

// Forward and backward before anything is learnt; the weights stay as they are.
static void check_start(
    const struct golden_graph *g, model *m, const model_data *data, const batch *b)
{
    err e;
    batch_result r;
    const float *values;
    float p[TEST_ENDS][ROWS * OUTPUTS];
    size_t at = 0;
    CHECK_OK(model_predict_all(m, data, b, (float *[]){p[0], p[1], p[2], p[3]}, &e) == 0, e);
    CHECK_INT(model_output_count(m) * head, g->outputs);
    for (size_t i = 0; i < g->outputs; i++)
        check_number(g->name, "output", i, (double)p[i / head][i % head], g->at[i], START);
    CHECK_OK(model_gradient(m, data, b, &r, &values, &e) == 0, e);
    for (size_t i = 0; i < model_weight_count(m); i++) {
        tensor *gradient = model_weight_is_trained(m, i) ? model_weight_gradient(m, i, &e) : NULL;
        for (size_t k = 0; gradient && k < tensor_count(gradient); k++, at++)
            if (at < g->gradients)
                check_number(
                    g->name, "gradient", at, tensor_at(gradient, k), g->at[g->outputs + at], START);
        tensor_free(gradient);
    }
    CHECK_INT(at, g->gradients);
}

static void check_golden(const struct golden_graph *g, const char *cpu, int threads)
{
    err e;
    struct test_graph graph = graph_named(g->name,
        (struct test_graph){{INPUT(4), {DENSE, .own = &(dense_layer){.units = 5}, FROM(0)}, OUT(1)},
            NUMBERS(0), NUMBERS(2)});
    compile_spec c = {.optimizer = optimizer_default(OPTIMIZER_SGD),
        .loss = LOSS_MEAN_SQUARED_ERROR,
        .more = {{.loss = LOSS_MEAN_SQUARED_ERROR}, {.loss = LOSS_MEAN_SQUARED_ERROR}},
        .threads = threads,
        .cpu = cpu};
    c.optimizer.learning_rate = 0.1;
    model *m = test_model(&graph, &c);
    set_weights(m);
    tensor *x[TEST_ENDS] = {0}, *y = test_tensor(ROWS, &(row_shape){1, {OUTPUTS}}, 0.5, 0.9);
    const tensor *xs[TEST_ENDS], *ys[] = {y, y, y};
    for (size_t k = 0; k < model_input_count(m); k++)
        xs[k] = x[k] = input(m, k);
    model_data data;
    batch_result r;
    uint32_t rows[] = {0, 1, 2, 3, 4, 5, 6, 7};
    batch b = {.rows = rows, .n = ROWS};
    float p[3][ROWS * OUTPUTS];
    CHECK_OK(model_prepare_all(m, xs, ys, &data, &e) == 0, e);
    check_start(g, m, &data, &b);
    for (int i = 0; i < STEPS; i++)
        CHECK_OK(model_train_batch(m, &data, &b, &r, &e) == 0, e);
    CHECK_OK(model_test_batch(m, &data, &b, &r, &e) == 0, e);
    CHECK_OK(model_predict_all(m, &data, &b, (float *[]){p[0], p[1], p[2]}, &e) == 0, e);
    check_number(g->name, "the loss of step", STEPS, r.loss_sum / ROWS, g->loss, LEARNT);
    for (size_t i = 0; i < (size_t)2 * OUTPUTS; i++)
        check_number(g->name, "the trained output", i, (double)p[0][i], g->predicted[i], LEARNT);
    for (size_t k = 0; k < model_input_count(m); k++)
        tensor_free(x[k]);
    tensor_free(y);
    model_free(m);
}

TEST(graphs_learn_as_keras_does)
{
    for (size_t i = 0; i < ARRAY_LEN(golden_graphs); i++)
        for (int threads = 1; threads <= 2; threads++)
            check_golden(&golden_graphs[i], threads == 1 ? "plain" : NULL, threads);
}

int main(void)
{
    return tap_run();
}
