// SPDX-License-Identifier: MIT
// Models that are graphs: every operation's gradient, the same bits on any number of threads, what
// is refused, and what they have in common with a chain.
#include "tests/unit/trainer/graphs.h"
#include "tests/unit/trainer/overlap.h"
#include "trainer/data/order.h"
#include "trainer/files/checkpoint.h"
#include "trainer/fit.h"
#include "trainer/nn/internal.h"
#include "trainer/nn/plan/arena.h"

enum { ROWS = 26 }; // more than two chunks

#define DENSE(n, f, ...)                                                                           \
    {                                                                                              \
        .kind = LAYER_DENSE, .own = &(dense_layer){.units = n, .activation = ACTIVATION_##f},      \
        FROM(__VA_ARGS__)                                                                          \
    }
#define CONV(n, h, w, f, ...)                                                                      \
    {                                                                                              \
        .kind = LAYER_CONV2D,                                                                      \
        .own =                                                                                     \
            &(window_layer){                                                                       \
                .units = n, .window = {h, w}, .stride = {1, 1}, .activation = ACTIVATION_##f},     \
        FROM(__VA_ARGS__)                                                                          \
    }
#define OF(what, ...)                                                                              \
    {                                                                                              \
        .kind = LAYER_##what, FROM(__VA_ARGS__)                                                    \
    }

// Of indices and numbers, with everything that a table needs.
static const struct test_graph table = {
    {INPUT(3), INPUT(5),
        {.kind = LAYER_EMBEDDING,
            .own = &(embedding_layer){.entries = 9, .units = 4},
            .weight = {{.l1 = 0.003, .l2 = 0.01}},
            FROM(0)},
        OF(LAYER_NORMALIZATION, 2), OF(FLATTEN, 3), OF(CONCATENATE, 4, 1, 4), DENSE(70, TANH, 5),
        OF(BATCH_NORMALIZATION, 6),
        {.kind = LAYER_DENSE,
            .own = &(dense_layer){.units = 70, .activation = ACTIVATION_GELU},
            .weight = {{.l2 = 0.02}},
            FROM(7)},
        OF(ADD, 8, 6, 8), {.kind = LAYER_DROPOUT, .own = &(dropout_layer){.rate = 0.25f}, FROM(9)},
        {.kind = LAYER_RESCALING,
            .own = &(rescaling_layer){.scale = 1.5, .offset = -0.25},
            FROM(10)},
        DENSE(3, SOFTMAX, 11)},
    NUMBERS(0, 1), NUMBERS(12)};

// Pictures: both paddings, strides, all pools, and a shortcut.
static const struct test_graph pictures = {
    {INPUT(6, 5, 2),
        {.kind = LAYER_CONV2D,
            .own = &(window_layer){.units = 6,
                .window = {3, 2},
                .stride = {1, 1},
                .padding = PADDING_SAME,
                .activation = ACTIVATION_SILU},
            .weight = {{.l1 = 0.005}, {.l2 = 0.02}},
            FROM(0)},
        OF(BATCH_NORMALIZATION, 1),
        {.kind = LAYER_CONV2D,
            .own = &(window_layer){.units = 6,
                .window = {1, 1},
                .stride = {1, 1},
                .activation = ACTIVATION_TANH,
                .no_bias = true},
            FROM(2)},
        OF(ADD, 2, 3),
        {.kind = LAYER_MAX_POOLING2D,
            .own = &(window_layer){.window = {2, 3}, .stride = {1, 2}, .padding = PADDING_SAME},
            FROM(4)},
        {.kind = LAYER_CONV2D,
            .own =
                &(window_layer){
                    .units = 70, .window = {2, 2}, .stride = {2, 1}, .activation = ACTIVATION_GELU},
            FROM(5)},
        {.kind = LAYER_AVERAGE_POOLING2D,
            .own = &(window_layer){.window = {2, 2}, .stride = {2, 2}, .padding = PADDING_SAME},
            FROM(6)},
        OF(GLOBAL_AVERAGE_POOLING2D, 7),
        {.kind = LAYER_RESHAPE, .own = &(shape_layer){.dims = 2, .size = {7, 0}}, FROM(8)},
        {.kind = LAYER_ACTIVATION,
            .own = &(activation_layer){.activation = ACTIVATION_SOFTPLUS},
            FROM(9)},
        OF(FLATTEN, 10),
        {.kind = LAYER_ACTIVATION,
            .own = &(activation_layer){.activation = ACTIVATION_SOFTMAX},
            FROM(11)},
        DENSE(3, SOFTMAX, 12)},
    NUMBERS(0), NUMBERS(13)};

#define SEPARABLE(n, m, f, bias, ...)                                                              \
    {                                                                                              \
        .kind = LAYER_SEPARABLE_CONV2D,                                                            \
        .own = &(window_layer){.units = n,                                                         \
            .window = {3, 2},                                                                      \
            .stride = {1, 1},                                                                      \
            .padding = PADDING_SAME,                                                               \
            .multiplier = m,                                                                       \
            .activation = ACTIVATION_##f,                                                          \
            .no_bias = !(bias)},                                                                   \
        __VA_ARGS__                                                                                \
    }

// Layers of two parts, one that is called twice, and pools that keep a picture's dimensions.
static const struct test_graph separable = {
    {INPUT(6, 5, 3), SEPARABLE(3, 1, TANH, true, FROM(0)),
        SEPARABLE(3, 1, TANH, true, .shares = 2, FROM(1)),
        SEPARABLE(5, 2, GELU, false, .weight = {{.l2 = 0.03}, {.l1 = 0.004}}, FROM(2)),
        {.kind = LAYER_GLOBAL_AVERAGE_POOLING2D, .own = &(global_layer){.keepdims = true}, FROM(3)},
        {.kind = LAYER_GLOBAL_MAX_POOLING2D, .own = &(global_layer){.keepdims = true}, FROM(1)},
        SEPARABLE(4, 1, ELU, true, FROM(5)), OF(FLATTEN, 4), OF(FLATTEN, 6), OF(CONCATENATE, 7, 8),
        DENSE(3, SOFTMAX, 9)},
    NUMBERS(0), NUMBERS(10)};

// Windows with gaps, groups, one filter for each channel, and padding that is a layer.
static const struct test_graph grouped = {
    {INPUT(7, 6, 4),
        {.kind = LAYER_ZERO_PADDING2D, .own = &(padding_layer){.pad = {1, 0, 2, 1}}, FROM(0)},
        {.kind = LAYER_CONV2D,
            .own = &(window_layer){.units = 6,
                .window = {2, 3},
                .stride = {1, 1},
                .dilation = {3, 2},
                .activation = ACTIVATION_TANH},
            FROM(1)},
        {.kind = LAYER_CONV2D,
            .own = &(window_layer){.units = 8,
                .window = {3, 2},
                .stride = {2, 1},
                .groups = 2,
                .padding = PADDING_SAME,
                .activation = ACTIVATION_SILU},
            FROM(2)},
        {.kind = LAYER_DEPTHWISE_CONV2D,
            .own = &(window_layer){.window = {2, 2},
                .stride = {1, 2},
                .multiplier = 3,
                .padding = PADDING_SAME,
                .activation = ACTIVATION_ELU},
            .weight = {{.l1 = 0.002, .l2 = 0.01}},
            FROM(3)},
        {.kind = LAYER_DEPTHWISE_CONV2D,
            .own = &(window_layer){.window = {3, 3},
                .stride = {1, 1},
                .dilation = {1, 2},
                .multiplier = 1,
                .padding = PADDING_SAME,
                .no_bias = true},
            FROM(4)},
        OF(ADD, 4, 5), OF(GLOBAL_AVERAGE_POOLING2D, 6), DENSE(3, SOFTMAX, 7)},
    NUMBERS(0), NUMBERS(8)};

// Rows of steps: windows in one direction, Dense over each step, and steps put behind each other.
static const struct test_graph steps = {
    {INPUT(9, 4),
        {.kind = LAYER_CONV1D,
            .own = &(window_layer){.units = 6,
                .window = {3},
                .stride = {1},
                .dilation = {2},
                .padding = PADDING_CAUSAL,
                .activation = ACTIVATION_TANH},
            .weight = {{.l2 = 0.01}},
            FROM(0)},
        {.kind = LAYER_CONV1D,
            .own = &(window_layer){.units = 6,
                .window = {3},
                .stride = {2},
                .groups = 2,
                .padding = PADDING_SAME,
                .activation = ACTIVATION_SILU},
            FROM(1)},
        {.kind = LAYER_CONV1D,
            .own = &(window_layer){.units = 70, .window = {2}, .stride = {1}, .no_bias = true},
            FROM(2)},
        {.kind = LAYER_AVERAGE_POOLING1D,
            .own = &(window_layer){.window = {3}, .stride = {2}, .padding = PADDING_SAME},
            FROM(1)},
        DENSE(70, GELU, 4),
        {.kind = LAYER_CONCATENATE, .own = &(concatenate_layer){.axis = 1}, FROM(3, 5)},
        {.kind = LAYER_CONCATENATE, .own = &(concatenate_layer){.axis = -2}, FROM(6, 5)},
        DENSE(5, LINEAR, 7),
        {.kind = LAYER_GLOBAL_AVERAGE_POOLING1D, .own = &(global_layer){.keepdims = true}, FROM(8)},
        OF(FLATTEN, 9), {.kind = LAYER_GLOBAL_MAX_POOLING1D, FROM(1)},
        {.kind = LAYER_MAX_POOLING1D,
            .own = &(window_layer){.window = {2}, .stride = {3}},
            FROM(1)},
        OF(FLATTEN, 12), OF(CONCATENATE, 10, 11, 13), DENSE(3, SOFTMAX, 14)},
    NUMBERS(0), NUMBERS(15)};

// One mean and variance of all steps of a row.
static const struct test_graph series = {
    {INPUT(4, 3), DENSE(5, TANH, 0),
        {.kind = LAYER_LAYER_NORMALIZATION,
            .own = &(norm_layer){.axis.first = 1, .axis.n = 2, .epsilon = NORM_EPSILON},
            FROM(1)},
        OF(FLATTEN, 2), DENSE(3, SOFTMAX, 3)},
    NUMBERS(0), NUMBERS(4)};

// What has corners, in which a difference lies next to the gradient: few numbers, far from them.
static const struct test_graph corners = {
    {INPUT(2, 1, 3), CONV(4, 1, 1, LINEAR, 0), OF(GLOBAL_MAX_POOLING2D, 1),
        {.kind = LAYER_RELU, .own = &(relu_layer){.slope = 0.25, .most = 0.75}, FROM(2)},
        DENSE(3, SOFTMAX, 3)},
    NUMBERS(0), NUMBERS(4)};

// Pictures that are cut and mirrored, after a convolution that is trained.
static const struct test_graph cut = {
    {INPUT(6, 7, 2),
        {.kind = LAYER_NORMALIZATION,
            .own = &(normalization_layer){.mean.n = 2,
                .variance.n = 2,
                .mean.values = (const double[]){0.1, -0.2},
                .variance.values = (const double[]){2, 0.5}},
            FROM(0)},
        CONV(3, 2, 2, TANH, 1),
        {.kind = LAYER_RANDOM_CROP, .own = &(crop_layer){.size = {4, 3}}, FROM(2)},
        {.kind = LAYER_RANDOM_FLIP, .own = &(flip_layer){.mode = FLIP_BOTH}, FROM(3)},
        {.kind = LAYER_NORMALIZATION,
            .own = &(normalization_layer){.mean.n = 1,
                .variance.n = 1,
                .mean.values = (const double[]){0.3},
                .variance.values = (const double[]){0.2}},
            FROM(4)},
        {.kind = LAYER_CENTER_CROP, .own = &(crop_layer){.size = {2, 2}}, FROM(5)}, OF(FLATTEN, 6),
        DENSE(3, SOFTMAX, 7)},
    NUMBERS(0), NUMBERS(8)};

// The tensors of a graph that tells classes 0 to 2.
struct rows {
    tensor *x[TEST_ENDS], *y;
    const tensor *xs[TEST_ENDS], *ys[1];
    size_t n;
    model_data data;
    uint32_t order[ROWS];
};

static struct rows *rows_new(model *m)
{
    err e;
    struct rows *r = mem_alloc(sizeof *r);
    r->n = model_input_count(m);
    for (size_t k = 0; k < r->n; k++) {
        row_shape in = model_input_shape(m, k);
        r->xs[k] = r->x[k] = test_tensor(ROWS, &in, 1, 0.7);
        for (size_t i = 0; in.dims == 1 && in.size[0] == 3 && i < tensor_count(r->x[k]); i++)
            tensor_set(r->x[k], i, (double)(i * 5 % 8), &e);
    }
    r->ys[0] = r->y = tensor_new(TENSOR_I64, 1, (size_t[]){ROWS}, &e);
    for (size_t i = 0; i < ROWS; i++)
        tensor_set(r->y, i, (double)(i * 7 % 3), &e);
    order_plain(r->order, ROWS);
    CHECK_OK(model_prepare_all(m, r->xs, r->ys, &r->data, &e) == 0, e);
    return r;
}

static void rows_free(struct rows *r)
{
    for (size_t k = 0; k < r->n; k++)
        tensor_free(r->x[k]);
    tensor_free(r->y);
    free(r);
}

static const compile_spec adam = {.optimizer = {OPTIMIZER_ADAM, .learning_rate = 0.01,
                                      .beta_1 = 0.9, .beta_2 = 0.999, .epsilon = 1e-7},
    .threads = 2};

static double loss_of(model *m, struct rows *r, const float **g)
{
    err e;
    batch_result result;
    batch b = {.rows = r->order, .n = ROWS};
    CHECK_OK(model_gradient(m, &r->data, &b, &result, g, &e) == 0, e);
    return result.loss_sum / ROWS;
}

// Numbers of each parameter whose gradients are compared.
enum { COMPARED = TAP_SANITIZED ? 6 : 60 };

static void check_gradients(const struct test_graph *of, const char *cpu)
{
    size_t count;
    const float *g;
    compile_spec c = adam;
    c.cpu = cpu;
    model *m = test_model(of, &c);
    struct rows *r = rows_new(m);
    float *w = model_weight_values(m, &count);
    for (size_t i = 0; i < m->graph->parameters; i++) {
        const parameter *p = &m->graph->parameter[i];
        size_t numbers = p->rows * p->columns;
        for (size_t k = 0; !p->as.fixed && k < numbers; k += 1 + numbers / COMPARED) {
            const float h = 1 / 1024.0f;
            float *at = &w[parameter_at(p, k / p->columns, k % p->columns)], kept = *at;
            if (p->said && p->said->l1 > 0 && fabsf(kept) <= h)
                continue; // the corner of |w| is as near
            loss_of(m, r, &g);
            double have = (double)g[at - w];
            *at = kept + h;
            double more = loss_of(m, r, &g);
            *at = kept - h;
            double want = (more - loss_of(m, r, &g)) / (2 * (double)h);
            *at = kept;
            if (fabs(have - want) > 2e-4 + 0.01 * fabs(want))
                tap_fail(__FILE__, __LINE__, "%s/%s, number %zu: gradient %.6g, difference %.6g",
                    m->layer[p->layer].name, p->as.name, k, have, want);
        }
    }
    rows_free(r);
    model_free(m);
}

TEST(gradients_of_a_table)
{
    check_gradients(&table, "plain");
    check_gradients(&table, NULL);
}

TEST(gradients_of_pictures)
{
    check_gradients(&pictures, "plain");
    check_gradients(&pictures, NULL);
}

TEST(gradients_of_groups)
{
    check_gradients(&grouped, "plain");
    check_gradients(&grouped, NULL);
    check_gradients(&corners, NULL);
    check_gradients(&separable, "plain");
    check_gradients(&separable, NULL);
}

// Columns beside columns, in each step of a row: each part gets the gradient of its own columns.
TEST(gradients_of_columns_that_are_joined)
{
    const struct test_graph joined = {
        {INPUT(4, 3), DENSE(5, TANH, 0), DENSE(2, TANH, 0),
            {.kind = LAYER_CONCATENATE, .own = &(concatenate_layer){.axis = 2}, FROM(1, 2, 1)},
            DENSE(6, TANH, 3), OF(FLATTEN, 4), DENSE(3, SOFTMAX, 5)},
        NUMBERS(0), NUMBERS(6)};
    check_gradients(&joined, "plain");
    check_gradients(&joined, NULL);
}

TEST(gradients_of_steps)
{
    check_gradients(&steps, "plain");
    check_gradients(&steps, NULL);
    check_gradients(&series, NULL);
}

// Of each step, and of the same rows flat: Dense is one product for all dimensions before the last.
TEST(dense_takes_the_last_dimension)
{
    err e;
    float each[ROWS * 12], flat[ROWS * 12];
    struct test_graph of_steps = {{INPUT(4, 70), DENSE(3, TANH, 0)}, NUMBERS(0), NUMBERS(1)},
                      of_rows = {{INPUT(70), DENSE(3, TANH, 0)}, NUMBERS(0), NUMBERS(1)};
    compile_spec c = adam;
    c.loss = LOSS_MEAN_SQUARED_ERROR;
    model *a = test_model(&of_steps, &c), *b = test_model(&of_rows, &c);
    CHECK_INT(model_output_shape(a, 0).dims, 2);
    tensor *x = test_tensor(ROWS, &(row_shape){2, {4, 70}}, 1, 0.7);
    tensor *y = test_tensor(ROWS * 4, &(row_shape){1, {70}}, 1, 0.7);
    model_data data, rows;
    uint32_t order[ROWS * 4];
    order_plain(order, ROWS * 4);
    CHECK_OK(model_prepare(a, x, NULL, &data, &e) == 0, e);
    CHECK_OK(model_prepare(b, y, NULL, &rows, &e) == 0, e);
    CHECK_OK(model_predict_batch(a, &data, &(batch){.rows = order, .n = ROWS}, each, &e) == 0, e);
    CHECK_OK(
        model_predict_batch(b, &rows, &(batch){.rows = order, .n = ROWS * 4}, flat, &e) == 0, e);
    for (size_t i = 0; i < ROWS * 12; i++)
        CHECK_NEAR((double)each[i], (double)flat[i], 1e-6);
    tensor_free(x), tensor_free(y);
    model_free(a), model_free(b);
}

// Its classes would be those of all steps together, without a word.
TEST(classes_are_those_of_a_row)
{
    err e = {0};
    struct test_graph g = {{INPUT(4, 2), DENSE(3, LINEAR, 0)}, NUMBERS(0), NUMBERS(1)};
    compile_spec c = adam;
    c.from_logits = true;
    model *m = test_model(&g, &c);
    tensor *x = test_tensor(ROWS, &(row_shape){2, {4, 2}}, 1, 0.7);
    tensor *y = tensor_new(TENSOR_I64, 1, (size_t[]){ROWS}, &e);
    model_data data;
    CHECK(model_prepare(m, x, y, &data, &e) < 0);
    CHECK_STR(e.text,
        "sparse_categorical_crossentropy takes one class for each row, but rows of dense have "
        "shape (4, 3): put Flatten, or a pooling layer, before its last layer");
    tensor_free(x), tensor_free(y);
    model_free(m);
}

// Keras's formula: the loss has l1·Σ |W| + l2·Σ W² of each weight, once, in training and in tests;
// a layer that is called twice counts once, and a frozen one not at all.
TEST(regularizers_add_to_the_loss)
{
    static const param_group still[] = {
        {.weights = "*", .trainable = 0, .rate = NAN, .decay = NAN}};
    const struct test_graph *all[] = {&table, &pictures, &separable, &grouped, &steps};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        err e;
        const float *g;
        batch_result result;
        struct test_graph bare = *all[i];
        for (size_t k = 0; k < TEST_LAYERS; k++)
            memset(bare.layers[k].weight, 0, sizeof bare.layers[k].weight);
        model *m = test_model(all[i], &adam), *without = test_model(&bare, &adam);
        struct rows *r = rows_new(m), *s = rows_new(without);
        double sum = 0;
        for (size_t k = 0; k < m->graph->parameters; k++) {
            const weight_spec *said = m->graph->parameter[k].said;
            tensor *w = model_weight(m, k, &e);
            for (size_t n = 0; said && n < tensor_count(w); n++)
                sum += said->l1 * fabs(tensor_at(w, n)) + said->l2 * pow(tensor_at(w, n), 2);
            tensor_free(w);
        }
        CHECK(sum > 0.01);
        CHECK_NEAR(loss_of(m, r, &g) - loss_of(without, s, &g), sum, 1e-6);
        batch b = {.rows = r->order, .n = ROWS};
        CHECK_OK(model_test_batch(m, &r->data, &b, &result, &e) == 0, e);
        double with = result.loss_sum / ROWS;
        CHECK_OK(model_test_batch(without, &s->data, &b, &result, &e) == 0, e);
        CHECK_NEAR(with - result.loss_sum / ROWS, sum, 1e-6);
        compile_spec c = adam;
        c.groups = still;
        c.group_count = 1;
        CHECK_OK(model_compile(m, &c, &e) == 0, e);
        CHECK_OK(model_prepare_all(m, r->xs, r->ys, &r->data, &e) == 0, e);
        CHECK_OK(model_test_batch(m, &r->data, &b, &result, &e) == 0, e);
        with = result.loss_sum / ROWS;
        CHECK_OK(model_compile(without, &c, &e) == 0, e);
        CHECK_OK(model_prepare_all(without, s->xs, s->ys, &s->data, &e) == 0, e);
        CHECK_OK(model_test_batch(without, &s->data, &b, &result, &e) == 0, e);
        CHECK_NEAR(with, result.loss_sum / ROWS, 0);
        rows_free(r), rows_free(s);
        model_free(m), model_free(without);
    }
}

TEST(gradients_of_pictures_that_are_cut)
{
    check_gradients(&cut, NULL);
}

TEST(gradients_of_each_activation)
{
    static const activation all[] = {ACTIVATION_SIGMOID, ACTIVATION_GELU, ACTIVATION_SILU,
        ACTIVATION_ELU, ACTIVATION_SELU, ACTIVATION_LEAKY_RELU, ACTIVATION_SOFTPLUS,
        ACTIVATION_SOFTMAX};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        struct test_graph g = {{INPUT(5),
                                   {.kind = LAYER_DENSE,
                                       .own = &(dense_layer){.units = 7, .activation = all[i]},
                                       FROM(0)},
                                   DENSE(3, SOFTMAX, 1)},
            NUMBERS(0), NUMBERS(2)};
        check_gradients(&g, NULL);
    }
}

// Weights after five steps, and the predictions, as bytes.
static float *trained(const struct test_graph *of, compile_spec c, size_t *count)
{
    err e;
    batch_result result;
    model *m = test_model(of, &c);
    struct rows *r = rows_new(m);
    for (uint32_t i = 0; i < 5; i++) {
        batch b = {.rows = r->order + i, .n = ROWS - 2 * i};
        CHECK_OK(model_train_batch(m, &r->data, &b, &result, &e) == 0, e);
    }
    float *w = model_weight_values(m, count), *copy = mem_array(*count + ROWS * 3, sizeof *copy);
    memcpy(copy, w, *count * sizeof *copy);
    batch all = {.rows = r->order, .n = ROWS};
    CHECK_OK(model_predict_batch(m, &r->data, &all, copy + *count, &e) == 0, e);
    *count += ROWS * 3;
    rows_free(r);
    model_free(m);
    return copy;
}

static void check_same(const struct test_graph *of, compile_spec a, compile_spec b)
{
    size_t n, other;
    float *x = trained(of, a, &n), *y = trained(of, b, &other);
    CHECK_INT(n, other);
    CHECK(memcmp(x, y, n * sizeof *x) == 0);
    for (size_t i = 0; i < n; i++)
        CHECK(isfinite(x[i]));
    free(x), free(y);
}

static const struct test_graph chain = {
    {INPUT(5), DENSE(70, RELU, 0), DENSE(70, TANH, 1), DENSE(70, RELU, 2), DENSE(3, SOFTMAX, 3)},
    NUMBERS(0), NUMBERS(4)};

// With an Activation that does nothing between them they are no chain.
static const struct test_graph no_chain = {
    {INPUT(5), DENSE(70, RELU, 0), OF(ACTIVATION, 1), DENSE(70, TANH, 2), DENSE(70, RELU, 3),
        DENSE(3, SOFTMAX, 4)},
    NUMBERS(0), NUMBERS(5)};

static compile_spec with_groups(const param_group *groups, size_t n)
{
    compile_spec c = adam;
    c.groups = groups;
    c.group_count = n;
    return c;
}

// Without the gradient of weight i all others have the same bits, and where it would be nothing is
// written.
static void check_without(const struct test_graph *of, size_t i, const float *whole)
{
    static const float untouched = 7;
    const float *g;
    AUTO_BUF name = {0};
    model *m = test_model(of, &adam);
    struct rows *r = rows_new(m);
    model_weight_name(m, i, &name);
    rows_free(r);
    model_free(m);
    param_group still = PARAM_GROUP(buf_cstr(&name));
    still.trainable = 0;
    compile_spec c = with_groups(&still, 1);
    m = test_model(of, &c);
    r = rows_new(m);
    loss_of(m, r, &g);
    for (size_t k = 0; k < m->graph->parameters; k++)
        model_touch(m, k);
    for (size_t k = 0; k < m->graph->trained; k++)
        m->g[k] = untouched;
    loss_of(m, r, &g);
    for (size_t k = 0; k < m->graph->parameters; k++) {
        const parameter *p = &m->graph->parameter[k];
        for (size_t j = 0; !p->as.fixed && j < p->rows * p->columns; j++) {
            size_t at = parameter_at(p, j / p->columns, j % p->columns);
            float want = k == i ? untouched : whole[at];
            if (memcmp(&g[at], &want, sizeof want) != 0)
                tap_fail(__FILE__, __LINE__, "without %s: %s/%s, number %zu is %g, not %g",
                    buf_cstr(&name), m->layer[p->layer].name, p->as.name, j, (double)g[at],
                    (double)want);
        }
    }
    rows_free(r);
    model_free(m);
}

TEST(gradients_that_nobody_wants_are_left_out)
{
    const struct test_graph *all[] = {&table, &pictures, &grouped, &cut, &chain, &no_chain};
    for (size_t k = 0; k < ARRAY_LEN(all); k++) {
        const float *g;
        model *m = test_model(all[k], &adam);
        struct rows *r = rows_new(m);
        loss_of(m, r, &g);
        float *whole = mem_dup(g, m->graph->trained * sizeof *g);
        for (size_t i = 0; i < m->graph->parameters; i++)
            if (!m->graph->parameter[i].as.fixed)
                check_without(all[k], i, whole);
        free(whole);
        rows_free(r);
        model_free(m);
    }
}

static struct counts {
    size_t products, trained, biases;
} counts;

static const cpu_ops *counted;

static void count_product(const product *p)
{
    counts.products++;
    counted->multiply(p);
}

static void count_trained(const gradient *g)
{
    counts.trained++;
    counted->train(g);
}

static void count_bias(
    const update *u, params to, const float *d, size_t ld, size_t rows, size_t width)
{
    counts.biases++;
    counted->train_bias(u, to, d, ld, rows, width);
}

// How often each kernel is called on the way back.
static struct counts way_back(const struct test_graph *of, const char *const *still, size_t n)
{
    err e;
    const float *g;
    batch_result result;
    param_group groups[4];
    for (size_t i = 0; i < n; i++) {
        groups[i] = PARAM_GROUP(still[i]);
        groups[i].trainable = 0;
    }
    compile_spec c = with_groups(groups, n);
    c.threads = 1;
    model *m = test_model(of, &c);
    struct rows *r = rows_new(m);
    counted = m->cpu;
    cpu_ops counting = *counted;
    counting.multiply = count_product;
    counting.train = count_trained;
    counting.train_bias = count_bias;
    m->cpu = &counting;
    counts = (struct counts){0};
    batch b = {.rows = r->order, .n = ROWS};
    CHECK_OK(model_test_batch(m, &r->data, &b, &result, &e) == 0, e);
    size_t forward = counts.products;
    counts = (struct counts){0};
    loss_of(m, r, &g);
    counts.products -= forward;
    m->cpu = counted;
    rows_free(r);
    model_free(m);
    return counts;
}

static void check_counts(struct counts c, size_t products, size_t trained, size_t biases)
{
    CHECK_INT(c.products, products);
    CHECK_INT(c.trained, trained);
    CHECK_INT(c.biases, biases);
}

// 70 units are two panels of columns, and two slices of the next layer's inputs.
TEST(the_way_back_ends_where_nothing_is_trained_below)
{
    const char *const first[] = {"dense", "dense_2"}, *const all[] = {"*"},
                      *const kernels[] = {"*/kernel"},
                      *const but_last[] = {"dense", "dense_1", "dense_2"};
    check_counts(way_back(&chain, NULL, 0), 2 + 4 + 4, 2 + 4 + 4 + 2, 7);
    check_counts(way_back(&chain, first, 2), 2 + 4, 4 + 2, 3);
    check_counts(way_back(&chain, kernels, 1), 2 + 4 + 4, 0, 7);
    check_counts(way_back(&chain, but_last, 3), 0, 2, 1);
    check_counts(way_back(&chain, all, 1), 0, 0, 0);
    check_counts(way_back(&no_chain, NULL, 0), 2 + 4 + 4, 2 + 4 + 4 + 2, 7);
    check_counts(way_back(&no_chain, first, 2), 2 + 4, 4 + 2, 3);
    check_counts(way_back(&no_chain, kernels, 1), 2 + 4 + 4, 0, 7);
    check_counts(way_back(&no_chain, but_last, 3), 0, 2, 1);
    check_counts(way_back(&no_chain, all, 1), 0, 0, 0);
}

TEST(any_number_of_threads_gives_the_same_bits)
{
    compile_spec one = adam;
    one.threads = 1;
    for (int threads = 2; threads <= 4; threads++) {
        compile_spec more = adam;
        more.threads = threads;
        check_same(&table, one, more);
        check_same(&pictures, one, more);
        check_same(&grouped, one, more);
        check_same(&separable, one, more);
        check_same(&cut, one, more);
        check_same(&steps, one, more);
    }
}

static int same_on_all(void *ctx, float *values, size_t n, const char *name, err *e)
{
    *(size_t *)ctx = n;
    return 0;
}

TEST(an_allreduce_sees_all_trained_numbers)
{
    size_t n = 0, count;
    compile_spec c = adam;
    c.allreduce = same_on_all;
    c.allreduce_ctx = &n;
    check_same(&table, adam, c);
    model *m = test_model(&table, &adam);
    model_weight_values(m, &count);
    CHECK_INT(n, m->graph->trained);
    CHECK_INT(count - n, 2 * 80); // moving_mean and moving_variance: 70 each, rounded up
    model_free(m);
}

// Each layer with weights is a bucket, or all of them are one.
static void check_overlap(const struct test_graph *g, size_t buckets, size_t by_many)
{
    struct overlap each, one;
    compile_spec behind = adam;
    behind.allreduce = overlap_halve;
    model *m = test_model(g, &adam);
    for (int threads = 1; threads <= 3; threads++) {
        compile_spec spec = adam;
        spec.threads = threads;
        check_same(g, behind, overlap_spec(spec, &each, 1));
        check_same(g, behind, overlap_spec(spec, &one, SIZE_MAX));
        CHECK(each.steps > 0 && each.steps == one.steps && one.runs == one.steps);
        CHECK_INT(each.most, threads == 1 ? buckets : by_many);
        CHECK_INT(each.numbers, m->graph->trained);
        CHECK_INT(one.numbers, m->graph->trained);
    }
    model_free(m);
}

TEST(gradients_that_are_told_final_stay)
{
    struct overlap none;
    compile_spec behind = adam;
    behind.allreduce = overlap_halve;
    check_overlap(&pictures, 5, 5);
    check_overlap(&grouped, 5, 5);
    check_overlap(&separable, 7, 7);
    check_overlap(&cut, 2, 2);
    check_overlap(&steps, 6, 6);
    check_overlap(&series, 3, 3);
    check_overlap(&chain, 4, 3); // threads do not wait for each other before the first layer
    check_overlap(&no_chain, 4, 4);
    check_same(&table, behind, overlap_spec(adam, &none, 1)); // tables travel behind it
    CHECK_INT(none.steps, 0);
}

static int fail_loss(void *ctx, const tensor *y, const tensor *p, const tensor *weights,
    double *loss, float *slopes, err *e)
{
    return err_set(e, ERR_FAILED, "no loss today");
}

// Other ranks do not get what is no gradient.
TEST(gradients_of_a_loss_that_failed_stay_here)
{
    err e = {0};
    struct overlap each;
    own_loss none = {.run = fail_loss};
    compile_spec c = overlap_spec(adam, &each, 1);
    c.own = &none;
    model *m = test_model(&pictures, &c);
    struct rows *r = rows_new(m);
    batch_result result;
    CHECK(model_train_batch(m, &r->data, &(batch){.rows = r->order, .n = ROWS}, &result, &e) < 0);
    CHECK_STR(e.text, "no loss today");
    CHECK_INT(each.n, 0);
    rows_free(r);
    model_free(m);
}

static void check_chained(const struct test_graph *as_chain, const struct test_graph *as_graph)
{
    model *a = test_model(as_chain, &adam), *b = test_model(as_graph, &adam);
    CHECK(a->plan && !a->flow && b->flow && !b->plan);
    model_free(a), model_free(b);
    size_t n, other;
    float *x = trained(as_chain, adam, &n), *y = trained(as_graph, adam, &other);
    CHECK_INT(n, other);
    for (size_t i = 0; i < n; i++)
        CHECK_NEAR((double)x[i], (double)y[i], 1e-6);
    free(x), free(y);
}

// Their kernels are the same.
TEST(a_graph_has_the_bits_of_a_chain)
{
    check_chained(&chain, &no_chain);
}

// The weights of the second layer go panel by panel.
static const struct test_graph large_chain = {
    {INPUT(5), DENSE(1100, RELU, 0), DENSE(70, TANH, 1), DENSE(3, SOFTMAX, 2)}, NUMBERS(0),
    NUMBERS(3)};
static const struct test_graph large_graph = {
    {INPUT(5), DENSE(1100, RELU, 0), OF(ACTIVATION, 1), DENSE(70, TANH, 2), DENSE(3, SOFTMAX, 3)},
    NUMBERS(0), NUMBERS(4)};

TEST(large_layers_have_the_bits_of_a_chain)
{
    compile_spec more = adam;
    more.threads = 3;
    check_chained(&large_chain, &large_graph);
    check_same(&large_graph, adam, more);
}

static void check_refused(const struct test_graph *g, const char *message)
{
    err e = {0};
    graph_spec spec = {.layers = g->layers,
        .n = test_layers(g),
        .inputs = g->in.item,
        .input_count = g->in.n,
        .outputs = g->out.item,
        .output_count = g->out.n};
    CHECK(!model_new_graph(&spec, &e));
    CHECK_STR(e.text, message);
}

#define REFUSED(message, in, out, ...)                                                             \
    check_refused(&(struct test_graph){{__VA_ARGS__}, NUMBERS(in), NUMBERS(out)}, message)

TEST(errors_name_the_layer)
{
    REFUSED("dense_1 expects 6 inputs, got 3", 0, 2, INPUT(4), DENSE(3, RELU, 0),
        {.kind = LAYER_DENSE, .own = &(dense_layer){.units = 2, .inputs = 6}, FROM(1)});
    REFUSED(
        "dense has softmax, which expects rows of one dimension, got (4, 2): put Flatten before", 0,
        1, INPUT(4, 2), DENSE(3, SOFTMAX, 0));
    REFUSED("dense expects 6 inputs, got 2 in rows of shape (4, 2)", 0, 1, INPUT(4, 2),
        {.kind = LAYER_DENSE, .own = &(dense_layer){.units = 2, .inputs = 6}, FROM(0)});
    REFUSED("concatenate has axis 3, which must be from 1 to 2, or from -2 to -1: its inputs have "
            "2 dimensions, and axis 0 are the rows",
        0, 1, INPUT(4, 2),
        {.kind = LAYER_CONCATENATE, .own = &(concatenate_layer){.axis = 3}, FROM(0, 0)});
    REFUSED("concatenate expects inputs that fit together, got rows of shapes (4, 2) and (2, 4)", 0,
        2, INPUT(4, 2),
        {.kind = LAYER_RESHAPE, .own = &(shape_layer){.dims = 2, .size = {2, 4}}, FROM(0)},
        {.kind = LAYER_CONCATENATE, .own = &(concatenate_layer){.axis = 1}, FROM(0, 1)});
    REFUSED("conv1d expects rows of two dimensions (steps, channels), got (4,)", 0, 1, INPUT(4),
        {.kind = LAYER_CONV1D,
            .own = &(window_layer){.units = 2, .window = {3}, .stride = {1}},
            FROM(0)});
    REFUSED(
        "layer_normalization normalises the last dimensions of its input, which has 2: axis must "
        "be -1, or list dimensions up to the last",
        0, 1, INPUT(4, 2),
        {.kind = LAYER_LAYER_NORMALIZATION, .own = &(norm_layer){.axis.first = 1}, FROM(0)});
    REFUSED(
        "batch_normalization normalises the last dimension of its input, which has 2: axis must "
        "be -1",
        0, 1, INPUT(4, 2),
        {.kind = LAYER_BATCH_NORMALIZATION, .own = &(norm_layer){.axis.first = 1}, FROM(0)});
    REFUSED("conv1d has a window of 5, larger than its input (4, 2)", 0, 1, INPUT(4, 2),
        {.kind = LAYER_CONV1D,
            .own = &(window_layer){.units = 2, .window = {3}, .stride = {1}, .dilation = {2}},
            FROM(0)});
    REFUSED("add expects inputs that fit together, got rows of shapes (4,) and (3,)", 0, 2,
        INPUT(4), DENSE(3, RELU, 0), OF(ADD, 0, 1));
    REFUSED("concatenate expects at least 2 inputs, got 1", 0, 1, INPUT(4), OF(CONCATENATE, 0));
    REFUSED("reshape cannot make (3, -1) of rows of shape (4,)", 0, 1, INPUT(4),
        {.kind = LAYER_RESHAPE, .own = &(shape_layer){.dims = 2, .size = {3, 0}}, FROM(0)});
    REFUSED("conv2d expects rows of three dimensions (height, width, channels), got (4, 4)", 0, 1,
        INPUT(4, 4),
        {.kind = LAYER_CONV2D,
            .own = &(window_layer){.units = 2, .window = {3, 3}, .stride = {1, 1}},
            FROM(0)});
    REFUSED("conv2d has a window of 5x5, larger than its input (4, 4, 1)", 0, 1, INPUT(4, 4, 1),
        {.kind = LAYER_CONV2D,
            .own = &(window_layer){.units = 2, .window = {5, 5}, .stride = {1, 1}},
            FROM(0)});
    REFUSED("conv2d has a window of 5x9, larger than its input (8, 8, 1)", 0, 1, INPUT(8, 8, 1),
        {.kind = LAYER_CONV2D,
            .own =
                &(window_layer){.units = 2, .window = {3, 3}, .stride = {1, 1}, .dilation = {2, 4}},
            FROM(0)});
    REFUSED("conv2d has 4 groups, which must divide its 6 filters and the 4 channels of its input",
        0, 1, INPUT(8, 8, 4),
        {.kind = LAYER_CONV2D,
            .own = &(window_layer){.units = 6, .groups = 4, .window = {3, 3}, .stride = {1, 1}},
            FROM(0)});
    REFUSED("depthwise_conv2d must have a depth_multiplier from 1 to 4096", 0, 1, INPUT(8, 8, 4),
        {.kind = LAYER_DEPTHWISE_CONV2D,
            .own = &(window_layer){.window = {3, 3}, .stride = {1, 1}},
            FROM(0)});
    REFUSED("separable_conv2d expects rows of three dimensions (height, width, channels), got (4,)",
        0, 1, INPUT(4), SEPARABLE(2, 1, LINEAR, true, FROM(0)));
    REFUSED("zero_padding2d must have a padding from 0 to 4096", 0, 1, INPUT(8, 8, 4),
        {.kind = LAYER_ZERO_PADDING2D, .own = &(padding_layer){.pad = {1, 9000, 1, 1}}, FROM(0)});
    REFUSED("center_crop takes windows of 4x9, its input (8, 8, 1) is smaller", 0, 1,
        INPUT(8, 8, 1), {.kind = LAYER_CENTER_CROP, .own = &(crop_layer){.size = {4, 9}}, FROM(0)});
    REFUSED("normalization has 2 means, its input has 3 channels", 0, 1, INPUT(8, 8, 3),
        {.kind = LAYER_NORMALIZATION,
            .own = &(normalization_layer){.mean.n = 2,
                .variance.n = 2,
                .mean.values = (const double[]){0, 0},
                .variance.values = (const double[]){1, 1}},
            FROM(0)});
    REFUSED("re_lu must have a max_value, a negative_slope and a threshold of 0 or more", 0, 1,
        INPUT(8), {.kind = LAYER_RELU, .own = &(relu_layer){.slope = -1}, FROM(0)});
    REFUSED(
        "no output of the model needs dense", 0, 2, INPUT(4), DENSE(3, RELU, 0), DENSE(3, RELU, 0));
    REFUSED(
        "input_layer_1 is not among the model's inputs", 0, 2, INPUT(4), INPUT(4), OF(ADD, 0, 1));
    REFUSED("dense expects 1 input, got 2", 0, 1, INPUT(4), DENSE(3, RELU, 0, 0));
    REFUSED("dense:2 uses the weights of dense, whose kernel has shape (4, 3), not (3, 3)", 0, 2,
        INPUT(4), DENSE(3, RELU, 0),
        {.kind = LAYER_DENSE, .own = &(dense_layer){.units = 3}, .shares = 2, FROM(1)});
    REFUSED("flatten cannot use the weights of layer 1", 0, 2, INPUT(4), DENSE(3, RELU, 0),
        {.kind = LAYER_FLATTEN, .name = "flatten", .shares = 2, FROM(1)});
    REFUSED("twice cannot use the weights of layer 7", 0, 1, INPUT(4),
        {.kind = LAYER_DENSE,
            .own = &(dense_layer){.units = 3},
            .name = "twice",
            .shares = 8,
            FROM(0)});
    REFUSED("embedding must have an input_dim and an output_dim from 1 to 16777216", 0, 1, INPUT(4),
        {.kind = LAYER_EMBEDDING, .own = &(embedding_layer){.units = 3}, FROM(0)});
    REFUSED("dense takes layer 2, which does not come before it", 0, 1, INPUT(4), DENSE(3, RELU, 2),
        DENSE(3, RELU, 0));
}

TEST(an_index_without_an_entry_is_named)
{
    err e = {0};
    model *m = test_model(&table, &adam);
    struct rows *r = rows_new(m);
    tensor_set(r->x[0], 4 * 3 + 1, 9, &e);
    CHECK(model_prepare_all(m, r->xs, r->ys, &r->data, &e) < 0);
    CHECK_STR(e.text, "embedding expects indices from 0 to 8, but row 4 of x holds 9");
    rows_free(r);
    model_free(m);
}

TEST(a_training_goes_on_from_a_checkpoint)
{
    err e;
    batch_result result;
    buf bytes = {0};
    const struct test_graph *graphs[] = {
        &table, &pictures, &grouped, &separable, &cut, &steps, &series};
    for (size_t i = 0; i < ARRAY_LEN(graphs); i++) {
        size_t n, other;
        model *a = test_model(graphs[i], &adam);
        struct rows *r = rows_new(a);
        batch b = {.rows = r->order, .n = ROWS};
        CHECK_OK(model_train_batch(a, &r->data, &b, &result, &e) == 0, e);
        CHECK_OK(checkpoint_encode(a, (checkpoint_options){.optimizer = true}, &bytes, &e) == 0, e);
        model *copy = checkpoint_decode(bytes.data, bytes.len, &e);
        CHECK_OK(copy, e);
        model_data data;
        CHECK_OK(model_prepare_all(copy, r->xs, r->ys, &data, &e) == 0, e);
        CHECK_OK(model_train_batch(a, &r->data, &b, &result, &e) == 0, e);
        CHECK_OK(model_train_batch(copy, &data, &b, &result, &e) == 0, e);
        float *x = model_weight_values(a, &n), *y = model_weight_values(copy, &other);
        CHECK(n == other && memcmp(x, y, n * sizeof *x) == 0);
        rows_free(r);
        model_free(a), model_free(copy);
        buf_clear(&bytes);
    }
    buf_done(&bytes);
}

TEST(a_row_of_layers_may_have_any_of_them)
{
    err e = {0};
    const layer_spec cnn[] = {
        {.kind = LAYER_CONV2D,
            .own =
                &(window_layer){
                    .units = 4, .window = {3, 3}, .stride = {1, 1}, .activation = ACTIVATION_RELU}},
        {.kind = LAYER_FLATTEN},
        {.kind = LAYER_DENSE, .own = &(dense_layer){.units = 3, .activation = ACTIVATION_SOFTMAX}}};
    model *m = model_new(cnn, 3, 1, &e);
    CHECK_OK(m && model_compile(m, &adam, &e) == 0, e);
    CHECK(!model_is_built(m));
    tensor *x = test_tensor(ROWS, &(row_shape){3, {5, 5, 1}}, 1, 0.3);
    tensor *y = tensor_new(TENSOR_I64, 1, (size_t[]){ROWS}, &e);
    fit_spec fit = {.x = x, .y = y, .batch_size = 10, .epochs = 4};
    history h;
    CHECK_OK(model_fit(m, &fit, &h, &e) == 0, e);
    double first, last;
    CHECK(logs_get(&h.epochs[0], "loss", &first) && logs_get(&h.epochs[3], "loss", &last));
    CHECK(last < first);
    buf bytes = {0}, summary = {0};
    model_summary(m, &summary);
    CHECK_HAS(buf_cstr(&summary), "│ (None, 3, 3, 4) │      40 │   648 │\n");
    CHECK_OK(checkpoint_encode(m, (checkpoint_options){0}, &bytes, &e) == 0, e);
    model *copy = checkpoint_decode(bytes.data, bytes.len, &e);
    CHECK_OK(copy, e);
    tensor *p = model_predict(m, x, NULL, &e), *q = model_predict(copy, x, NULL, &e);
    CHECK(memcmp(p->data, q->data, tensor_count(p) * sizeof(float)) == 0);
    tensor *wrong = test_tensor(ROWS, &(row_shape){3, {5, 6, 1}}, 1, 0.3);
    CHECK(!model_predict(m, wrong, NULL, &e));
    CHECK_STR(e.text, "conv2d expects rows of shape (5, 5, 1), got (5, 6, 1)");
    tensor_free(x), tensor_free(y), tensor_free(p), tensor_free(q), tensor_free(wrong);
    fit_history_done(&h);
    buf_done(&bytes), buf_done(&summary);
    model_free(m), model_free(copy);
}

TEST(statistics_follow_training_only)
{
    err e;
    batch_result result;
    const float *g;
    model *m = test_model(&table, &adam);
    struct rows *r = rows_new(m);
    size_t count;
    float *w = model_weight_values(m, &count), *moving = w + m->graph->trained;
    batch b = {.rows = r->order, .n = ROWS};
    CHECK_NEAR((double)moving[0], 0, 0);
    CHECK_NEAR((double)moving[80], 1, 0);
    loss_of(m, r, &g);
    CHECK_OK(model_test_batch(m, &r->data, &b, &result, &e) == 0, e);
    CHECK_NEAR((double)moving[80], 1, 0);
    CHECK_OK(model_train_batch(m, &r->data, &b, &result, &e) == 0, e);
    CHECK(moving[80] < 1 && moving[80] > 0.98f && moving[0] != 0);
    rows_free(r);
    model_free(m);
}

TEST(the_first_layer_that_is_not_finite_is_named)
{
    err e = {0};
    compile_spec c = adam;
    model *m = test_model(&pictures, &c);
    struct rows *r = rows_new(m);
    size_t n;
    float *values = model_weight_values(m, &n);
    values[m->graph->parameter[6].at] = NAN; // of the second convolution
    fit_spec fit = {.x = r->x[0], .y = r->y, .batch_size = 13, .epochs = 1};
    CHECK(model_fit(m, &fit, NULL, &e) < 0);
    CHECK_HAS(e.text,
        "the loss is nan at step 1 of epoch 1: the outputs of conv2d_1 (Conv2D(6, 1x1)) "
        "are the first that are not finite");
    rows_free(r);
    model_free(m);
}

TEST(buffers_share_their_places)
{
    arena_item items[] = {{0, 2, 32}, {1, 4, 16}, {3, 5, 32}, {5, 6, 48}};
    size_t size, arena;
    CHECK(arena_place(items, 4, &size));
    CHECK_INT(items[1].at, 32);
    CHECK_INT(items[2].at, 0); // where the first was
    CHECK_INT(items[3].at, 32);
    CHECK_INT(size, 80);
    model *m = test_model(&pictures, &adam);
    struct rows *r = rows_new(m);
    const float *g;
    loss_of(m, r, &g);
    size_t all = flow_floats(m->flow, &arena);
    CHECK(arena * 4 < all * 3); // a quarter less, at least
    rows_free(r);
    model_free(m);
}

// Twelve convolutions one after the other, of which only two outputs are needed at a time.
TEST(a_model_that_only_predicts_has_no_room_for_training)
{
    err e = {0};
    struct test_graph deep = {{INPUT(40, 40, 4)}, NUMBERS(0), NUMBERS(14)};
    static const size_t before[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13};
    static const window_layer gelu = {
        .units = 4, .window = {1, 1}, .stride = {1, 1}, .activation = ACTIVATION_GELU};
    for (size_t i = 1; i <= 12; i++)
        deep.layers[i] =
            (layer_spec){.kind = LAYER_CONV2D, .own = &gelu, .from = before + i - 1, .froms = 1};
    deep.layers[13] = (layer_spec){.kind = LAYER_FLATTEN, .from = before + 12, .froms = 1};
    deep.layers[14] = (layer_spec){.kind = LAYER_DENSE,
        .own = &(dense_layer){.units = 3, .activation = ACTIVATION_SOFTMAX},
        .from = before + 13,
        .froms = 1};
    model *m = test_model(&deep, &adam);
    struct rows *r = rows_new(m);
    batch one = {.rows = r->order, .n = 1}, all = {.rows = r->order, .n = ROWS};
    batch_result result;
    float first[ROWS * 3], second[ROWS * 3];
    size_t predicts, trains, shrunk;
    CHECK_OK(model_predict_batch(m, &r->data, &all, first, &e) == 0, e);
    CHECK_OK(model_test_batch(m, &r->data, &all, &result, &e) == 0, e);
    flow_floats(m->predicting[1], &predicts);
    CHECK_INT(m->g == NULL, 1);
    const float *g;
    CHECK_OK(model_gradient(m, &r->data, &one, &result, &g, &e) == 0, e);
    flow_floats(m->flow, &shrunk);
    CHECK_OK(model_gradient(m, &r->data, &all, &result, &g, &e) == 0, e);
    flow_floats(m->flow, &trains);
    CHECK(predicts * 5 < trains);
    CHECK(shrunk < trains); // a large batch that was predicted is not one that is trained
    CHECK_OK(model_predict_batch(m, &r->data, &all, second, &e) == 0, e);
    CHECK(memcmp(first, second, sizeof first) == 0);
    rows_free(r);
    model_free(m);
}

int main(void)
{
    return tap_run();
}
