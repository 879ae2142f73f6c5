// SPDX-License-Identifier: MIT
// Convolutions by oneDNN against own kernels: gradients, and the same bits on any number of
// threads.
#include "trainer/dnn/dnn.h"
#include "tests/unit/trainer/graphs.h"
#include "trainer/nn/internal.h"

enum { ROWS = 21, CLASSES = 3 };

#define CONV(n, h, w, s, t, f, ...)                                                                \
    {                                                                                              \
        .kind = LAYER_CONV2D,                                                                      \
        .own =                                                                                     \
            &(window_layer){                                                                       \
                .units = n, .window = {h, w}, .stride = {s, t}, .activation = ACTIVATION_##f},     \
        FROM(__VA_ARGS__)                                                                          \
    }
#define SAME(n, size, s, f, ...)                                                                   \
    {                                                                                              \
        .kind = LAYER_CONV2D,                                                                      \
        .own = &(window_layer){.units = n,                                                         \
            .window = {size, size},                                                                \
            .stride = {s, s},                                                                      \
            .padding = PADDING_SAME,                                                               \
            .activation = ACTIVATION_##f,                                                          \
            .no_bias = true},                                                                      \
        FROM(__VA_ARGS__)                                                                          \
    }
#define DEPTHWISE(size, s, m, f, ...)                                                              \
    {                                                                                              \
        .kind = LAYER_DEPTHWISE_CONV2D,                                                            \
        .own = &(window_layer){.multiplier = m,                                                    \
            .window = {size, size},                                                                \
            .stride = {s, s},                                                                      \
            .padding = PADDING_SAME,                                                               \
            .activation = ACTIVATION_##f},                                                         \
        FROM(__VA_ARGS__)                                                                          \
    }
#define GROUPED(n, size, s, g, f, ...)                                                             \
    {                                                                                              \
        .kind = LAYER_CONV2D,                                                                      \
        .own = &(window_layer){.units = n,                                                         \
            .groups = g,                                                                           \
            .window = {size, size},                                                                \
            .stride = {s, s},                                                                      \
            .padding = PADDING_SAME,                                                               \
            .activation = ACTIVATION_##f},                                                         \
        FROM(__VA_ARGS__)                                                                          \
    }
#define OF(what, ...)                                                                              \
    {                                                                                              \
        .kind = LAYER_##what, FROM(__VA_ARGS__)                                                    \
    }
#define OUT(from)                                                                                  \
    {                                                                                              \
        .kind = LAYER_DENSE,                                                                       \
        .own = &(dense_layer){.units = CLASSES, .activation = ACTIVATION_SOFTMAX}, FROM(from)      \
    }

static const struct {
    const char *name;
    struct test_graph graph;
} graphs[] = {
    {"a digit's network",
        {{INPUT(12, 12, 1), CONV(32, 3, 3, 1, 1, RELU, 0), CONV(64, 3, 3, 1, 1, RELU, 1),
             {.kind = LAYER_MAX_POOLING2D,
                 .own = &(window_layer){.window = {2, 2}, .stride = {2, 2}},
                 FROM(2)},
             OF(FLATTEN, 3), OUT(4)},
            NUMBERS(0), NUMBERS(5)}},
    {"a residual block with strides",
        {{INPUT(8, 8, 16), SAME(64, 3, 2, LINEAR, 0), OF(BATCH_NORMALIZATION, 1),
             {.kind = LAYER_ACTIVATION,
                 .own = &(activation_layer){.activation = ACTIVATION_RELU},
                 FROM(2)},
             SAME(128, 3, 1, LINEAR, 3), SAME(128, 1, 2, LINEAR, 0), OF(ADD, 4, 5),
             OF(GLOBAL_AVERAGE_POOLING2D, 6), OUT(7)},
            NUMBERS(0), NUMBERS(8)}},
    {"more panels, dilation, tanh",
        {{INPUT(9, 8, 4),
             {.kind = LAYER_CONV2D,
                 .own = &(window_layer){.units = 96,
                     .window = {3, 2},
                     .stride = {1, 1},
                     .dilation = {2, 3},
                     .activation = ACTIVATION_TANH},
                 FROM(0)},
             CONV(160, 1, 1, 1, 1, SIGMOID, 1), OF(GLOBAL_AVERAGE_POOLING2D, 2), OUT(3)},
            NUMBERS(0), NUMBERS(4)}},
    {"depthwise",
        {{INPUT(12, 9, 3), SAME(32, 3, 1, LINEAR, 0), OF(BATCH_NORMALIZATION, 1),
             DEPTHWISE(3, 2, 1, RELU, 2), DEPTHWISE(5, 1, 2, TANH, 3), SAME(64, 1, 1, LINEAR, 4),
             OF(ADD, 4, 5), OF(GLOBAL_AVERAGE_POOLING2D, 6), OUT(7)},
            NUMBERS(0), NUMBERS(8)}},
    {"groups", {{INPUT(10, 8, 8), GROUPED(64, 3, 1, 2, RELU, 0), GROUPED(128, 3, 2, 16, LINEAR, 1),
                    OF(BATCH_NORMALIZATION, 2), GROUPED(128, 1, 2, 64, SIGMOID, 3),
                    OF(GLOBAL_AVERAGE_POOLING2D, 4), OUT(5)},
                   NUMBERS(0), NUMBERS(6)}},
    {"dense layers",
        {{INPUT(4, 4, 16), CONV(32, 3, 3, 1, 1, RELU, 0), OF(FLATTEN, 1),
             {.kind = LAYER_DENSE,
                 .own = &(dense_layer){.units = 96, .activation = ACTIVATION_RELU},
                 FROM(2)},
             {.kind = LAYER_DENSE,
                 .own = &(dense_layer){.units = 48, .activation = ACTIVATION_TANH, .no_bias = true},
                 FROM(3)},
             OUT(4)},
            NUMBERS(0), NUMBERS(5)}},
    {"rows with gaps between them: own kernels",
        {{INPUT(7, 5, 3), CONV(16, 3, 3, 1, 1, RELU, 0), OF(GLOBAL_AVERAGE_POOLING2D, 1), OUT(2)},
            NUMBERS(0), NUMBERS(3)}},
};

static const dnn_ops *ops;

struct result {
    float *values; // gradients, then the outputs
    size_t n;
};

static struct result result_of(
    const struct test_graph *g, int threads, size_t rows, const dnn_ops *dnn)
{
    err e = {0};
    compile_spec spec = {.optimizer = optimizer_default(OPTIMIZER_SGD), .threads = threads};
    model *m = test_model(g, &spec);
    model_set_dnn(m, dnn);
    row_shape in = model_input_shape(m, 0);
    tensor *x = test_tensor(rows, &in, 0.3, 0.7);
    tensor *y = tensor_new(TENSOR_I64, 1, &rows, &e);
    uint32_t order[ROWS];
    for (uint32_t i = 0; i < rows; i++) {
        order[i] = i;
        tensor_set(y, i, i * 7 % CLASSES, &e);
    }
    model_data data;
    batch_result done;
    batch b = {.rows = order, .n = rows};
    const float *slopes;
    CHECK_OK(model_prepare(m, x, y, &data, &e) == 0, e);
    CHECK_OK(model_gradient(m, &data, &b, &done, &slopes, &e) == 0, e);
    struct result r = {.n = m->graph->trained + rows * CLASSES};
    r.values = mem_array(r.n, sizeof *r.values);
    memcpy(r.values, slopes, m->graph->trained * sizeof *slopes);
    CHECK_OK(model_predict_batch(m, &data, &b, r.values + m->graph->trained, &e) == 0, e);
    model_free(m);
    tensor_free(x), tensor_free(y);
    return r;
}

static double largest(const struct result *r)
{
    double most = 0;
    for (size_t i = 0; i < r->n; i++)
        most = fmax(most, fabs((double)r->values[i]));
    return most;
}

// Another order of sums tells that oneDNN was used.
static void check_alike(const char *name, const struct test_graph *g, size_t rows, bool used)
{
    struct result own = result_of(g, 2, rows, NULL), by = result_of(g, 2, rows, ops);
    double most = 0;
    for (size_t i = 0; i < own.n; i++) {
        double d = fabs((double)own.values[i] - (double)by.values[i]);
        most = d > most || isnan(d) ? d : most;
    }
    CHECK(own.n == by.n);
    CHECK((most > 0) == used);
    if (!(most <= 1e-5 * fmax(1, largest(&own))))
        printf("# %s: %g of %g\n", name, most, largest(&own));
    CHECK(most <= 1e-5 * fmax(1, largest(&own)));
    free(own.values), free(by.values);
}

TEST(onednn_computes_what_own_kernels_compute)
{
    for (size_t g = 0; g < ARRAY_LEN(graphs); g++)
        check_alike(graphs[g].name, &graphs[g].graph, ROWS, g + 1 < ARRAY_LEN(graphs));
}

// For these oneDNN likes its weights in blocks of 48 filters, which no panel of 64 fits, or in
// blocks that change with the number of rows; for which of them, and of how many rows, the CPU
// says. The last one is for a CPU with AVX alone, as which oneDNN can be told to see any newer one.
#define WIDE(size, from, to, window, stride)                                                       \
    {                                                                                              \
        size, from, to, window, stride,                                                            \
        {                                                                                          \
            {INPUT(size, size, from), SAME(to, window, stride, LINEAR, 0),                         \
                OF(GLOBAL_AVERAGE_POOLING2D, 1), OUT(2)},                                          \
                NUMBERS(0), NUMBERS(3)                                                             \
        }                                                                                          \
    }
static const struct {
    size_t size, channels, filters, window, stride;
    struct test_graph graph;
} wide[] = {WIDE(14, 1024, 2048, 1, 2), WIDE(28, 512, 1024, 1, 2), WIDE(8, 512, 512, 1, 1),
    WIDE(7, 128, 512, 1, 1), WIDE(28, 48, 16, 5, 1)};

enum { WIDE_ROWS = 7 }; // pieces of four and of three rows, or of three and of one

static const dnn_conv *wide_conv(size_t i, dnn_way way, size_t rows, bool half)
{
    size_t size = wide[i].size / wide[i].stride;
    dnn_conv_spec s;
    memset(&s, 0, sizeof s);
    s.way = way;
    s.rows = rows;
    s.channels = wide[i].channels;
    s.filters = wide[i].filters;
    s.groups = 1;
    for (int k = 0; k < 2; k++) {
        s.in[k] = s.out[k] = size;
        s.size[k] = wide[i].window;
        s.before[k] = wide[i].window / 2;
        s.stride[k] = s.dilation[k] = 1;
    }
    s.half = half;
    return ops->conv(&s);
}

static bool wide_is_used(size_t i)
{
    return wide_conv(i, DNN_FORWARD, 1, false) && wide_conv(i, DNN_BACK_DATA, 1, false) &&
           wide_conv(i, DNN_BACK_WEIGHTS, 1, false);
}

static void check_all_rows(size_t i, dnn_way way, bool half)
{
    const dnn_conv *four = wide_conv(i, way, 4, half);
    for (size_t rows = 1; rows < 4; rows++) {
        const dnn_conv *fewer = wide_conv(i, way, rows, half);
        CHECK(!fewer == !four);
        CHECK(!four || !fewer || ops->packed_bytes(fewer) == ops->packed_bytes(four));
    }
}

TEST(an_order_of_weights_serves_all_rows)
{
    for (size_t i = 0; i < ARRAY_LEN(wide); i++)
        for (int way = DNN_FORWARD; way <= DNN_BACK_WEIGHTS; way++) {
            check_all_rows(i, (dnn_way)way, false);
            if (ops->has_half())
                check_all_rows(i, (dnn_way)way, true);
        }
}

TEST(orders_that_no_panel_fits_are_not_taken)
{
    for (size_t i = 0; i < ARRAY_LEN(wide); i++)
        check_alike("a wide shortcut", &wide[i].graph, WIDE_ROWS, wide_is_used(i));
}

static int fail_pack(
    const dnn_conv *c, void *packed, const float *panel, size_t ld, size_t from, size_t n)
{
    return -1;
}

static int fail_unpack(
    const dnn_conv *c, float *panel, const float *packed, size_t ld, size_t from, size_t n)
{
    return -1;
}

static int fail_run(const dnn_conv *c, void *x, void *packed, float *bias, void *y, void *scratch)
{
    return -1;
}

static void check_failure(const dnn_ops *broken, bool predicts)
{
    err e = {0};
    compile_spec spec = {.optimizer = optimizer_default(OPTIMIZER_SGD), .threads = 2};
    model *m = test_model(&graphs[0].graph, &spec);
    row_shape in = model_input_shape(m, 0);
    size_t rows = 2, n;
    tensor *x = test_tensor(rows, &in, 0.3, 0.7), *y = tensor_new(TENSOR_I64, 1, &rows, &e);
    model_data data;
    batch_result done;
    float out[2 * CLASSES], *w = model_weight_values(m, &n), *before = mem_dup(w, n * sizeof *w);
    batch b = {.rows = (const uint32_t[]){0, 1}, .n = rows};
    model_set_dnn(m, broken);
    CHECK_OK(model_prepare(m, x, y, &data, &e) == 0, e);
    CHECK((model_predict_batch(m, &data, &b, out, &e) == 0) == predicts);
    CHECK(model_train_batch(m, &data, &b, &done, &e) < 0);
    CHECK_HAS(e.text, "oneDNN failed");
    CHECK_HAS(e.text, predicts ? "conv2d" : "conv2d: ");
    CHECK(memcmp(before, w, n * sizeof *w) == 0);
    model_set_dnn(m, ops); // it goes on where there is memory again
    CHECK_OK(model_train_batch(m, &data, &b, &done, &e) == 0, e);
    model_free(m);
    tensor_free(x), tensor_free(y), free(before);
}

TEST(what_onednn_could_not_compute_is_an_error)
{
    dnn_ops broken = *ops;
    broken.pack = fail_pack;
    check_failure(&broken, false);
    broken = *ops;
    broken.run = fail_run;
    check_failure(&broken, false);
    broken = *ops;
    broken.unpack = fail_unpack;
    check_failure(&broken, true);
}

// What is unpacked came from oneDNN.
TEST(short_sums_of_weights_are_made_by_own_kernels)
{
    dnn_ops broken = *ops;
    broken.unpack = fail_unpack;
    struct result by = result_of(&graphs[5].graph, 2, ROWS, ops),
                  own = result_of(&graphs[5].graph, 2, ROWS, &broken);
    CHECK(memcmp(by.values, own.values, by.n * sizeof *by.values) == 0);
    free(by.values), free(own.values);
}

static struct test_graph halved(const struct test_graph *g)
{
    struct test_graph half = *g;
    for (size_t i = 0; i < test_layers(g); i++)
        half.layers[i].half = true;
    return half;
}

// A bf16 has 8 bits: what is rounded is off by up to 1/512. A pool or a relu may choose otherwise,
// which is more than the rounding.
static double apart(const struct result *a, const struct result *b)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < a->n; i++) {
        double d = (double)a->values[i] - (double)b->values[i];
        sum += d * d;
        squares += (double)a->values[i] * (double)a->values[i];
    }
    return sqrt(sum / squares);
}

TEST(bf16_is_within_its_rounding)
{
    if (!ops->has_half())
        SKIP("this CPU has no bf16");
    for (size_t g = 0; g < ARRAY_LEN(graphs); g++) {
        struct test_graph half = halved(&graphs[g].graph);
        struct result whole = result_of(&graphs[g].graph, 2, ROWS, ops);
        struct result by = result_of(&half, 2, ROWS, ops), one = result_of(&half, 1, ROWS, ops);
        double by_how_much = apart(&whole, &by);
        if (!(by_how_much < 0.03))
            printf("# %s: %g\n", graphs[g].name, by_how_much);
        CHECK(by_how_much > 0 && by_how_much < 0.03);
        CHECK(memcmp(by.values, one.values, one.n * sizeof *one.values) == 0);
        free(whole.values), free(by.values), free(one.values);
    }
}

static bool yes(void)
{
    return true;
}

static bool no(void)
{
    return false;
}

// One CPU multiplies bf16, another one makes floats of them: both ways are tried on each. The
// weights of the second are not rounded, so the two have other bits.
TEST(bf16_may_be_multiplied_as_floats)
{
    if (!ops->has_half())
        SKIP("this CPU has no bf16");
    dnn_ops wide_ops = *ops, half_ops = *ops;
    wide_ops.widens = yes, half_ops.widens = no;
    for (size_t g = 0; g < ARRAY_LEN(graphs); g++) {
        struct test_graph half = halved(&graphs[g].graph);
        struct result whole = result_of(&graphs[g].graph, 2, ROWS, ops);
        struct result as_floats = result_of(&half, 2, ROWS, &wide_ops);
        struct result one = result_of(&half, 1, ROWS, &wide_ops);
        struct result as_halves = result_of(&half, 2, ROWS, &half_ops);
        double by_how_much = apart(&whole, &as_floats), others = apart(&whole, &as_halves);
        if (!(by_how_much < 0.03 && others < 0.03))
            printf("# %s: %g, %g\n", graphs[g].name, by_how_much, others);
        CHECK(by_how_much > 0 && by_how_much < 0.03);
        CHECK(others > 0 && others < 0.03);
        CHECK(memcmp(as_floats.values, one.values, one.n * sizeof *one.values) == 0);
        CHECK((by_how_much != others) == (g + 1 < ARRAY_LEN(graphs))); // the last: own kernels
        free(whole.values), free(as_floats.values), free(one.values), free(as_halves.values);
    }
}

TEST(wide_shortcuts_compute_in_bf16)
{
    if (!ops->has_half())
        SKIP("this CPU has no bf16");
    for (size_t i = 0; i < ARRAY_LEN(wide); i++) {
        struct test_graph half = halved(&wide[i].graph);
        struct result whole = result_of(&wide[i].graph, 2, WIDE_ROWS, ops);
        struct result by = result_of(&half, 2, WIDE_ROWS, ops);
        double by_how_much = apart(&whole, &by);
        CHECK(by_how_much > 0 && by_how_much < 0.03);
        free(whole.values), free(by.values);
    }
}

static const dnn_conv *of_one_row(const dnn_conv_spec *spec)
{
    return spec->rows == 1 ? ops->conv(spec) : NULL;
}

// Rows are bf16 where oneDNN has a kernel for one of them; for more of them it may have none.
TEST(own_loops_take_bf16)
{
    if (!ops->has_half())
        SKIP("this CPU has no bf16");
    const struct test_graph loops = {
        {INPUT(20, 20, 16), DEPTHWISE(3, 1, 1, LINEAR, 0), OF(BATCH_NORMALIZATION, 1),
            {.kind = LAYER_ADD, FROM(2, 0)},
            {.kind = LAYER_ACTIVATION,
                .own = &(activation_layer){.activation = ACTIVATION_RELU},
                FROM(3)},
            GROUPED(32, 3, 1, 4, SILU, 4), GROUPED(32, 3, 1, 2, TANH, 5),
            OF(GLOBAL_AVERAGE_POOLING2D, 6), OUT(7)},
        NUMBERS(0), NUMBERS(8)};
    struct test_graph half = halved(&loops);
    dnn_ops few = *ops;
    few.conv = of_one_row;
    struct result whole = result_of(&loops, 2, ROWS, NULL), by = result_of(&half, 2, ROWS, &few);
    double by_how_much = apart(&whole, &by);
    if (!(by_how_much < 0.03))
        printf("# %g\n", by_how_much);
    CHECK(by_how_much > 0 && by_how_much < 0.03);
    free(whole.values), free(by.values);
}

static const dnn_conv *not_of_three_rows(const dnn_conv_spec *spec)
{
    return spec->rows == 3 ? NULL : ops->conv(spec);
}

// Gradients of `n` rows behind a batch of ROWS, for which memory was made; the caller frees them.
static float *gradients_behind(
    const struct test_graph *g, size_t n, const dnn_ops *dnn, size_t *count)
{
    err e = {0};
    compile_spec spec = {.optimizer = optimizer_default(OPTIMIZER_SGD), .threads = 2};
    model *m = test_model(g, &spec);
    model_set_dnn(m, dnn);
    row_shape in = model_input_shape(m, 0);
    size_t rows = ROWS;
    tensor *x = test_tensor(rows, &in, 0.3, 0.7), *y = tensor_new(TENSOR_I64, 1, &rows, &e);
    uint32_t order[ROWS];
    for (uint32_t i = 0; i < rows; i++)
        order[i] = i;
    model_data data;
    batch_result done;
    batch b = {.rows = order, .n = rows};
    const float *slopes;
    CHECK_OK(model_prepare(m, x, y, &data, &e) == 0, e);
    CHECK_OK(model_gradient(m, &data, &b, &done, &slopes, &e) == 0, e);
    b.n = n;
    CHECK_OK(model_gradient(m, &data, &b, &done, &slopes, &e) == 0, e);
    *count = m->graph->trained;
    float *values = mem_dup(slopes, *count * sizeof *values);
    model_free(m);
    tensor_free(x), tensor_free(y);
    return values;
}

// The last batch of an epoch is smaller: where oneDNN has no kernel for its pieces and parts, here
// of 3 rows each, it goes row by row, in the memory of the batches before.
TEST(a_smaller_batch_stays_with_onednn)
{
    dnn_ops few = *ops;
    few.conv = not_of_three_rows;
    for (size_t g = 0; g < ARRAY_LEN(graphs); g++)
        for (size_t rows = 6; rows <= 7; rows++) {
            size_t n;
            double most = 0, largest = 0;
            float *want = gradients_behind(&graphs[g].graph, rows, ops, &n);
            float *have = gradients_behind(&graphs[g].graph, rows, &few, &n);
            for (size_t i = 0; i < n; i++) {
                most = fmax(most, fabs((double)want[i] - (double)have[i]));
                largest = fmax(largest, fabs((double)want[i]));
            }
            if (!(most <= 1e-5 * fmax(1, largest)))
                tap_fail(__FILE__, __LINE__, "%s: %g of %g", graphs[g].name, most, largest);
            free(want), free(have);
        }
}

// All but the input's neighbour and the output, which stays float32.
TEST(layers_have_bf16_between_them)
{
    if (!ops->has_half())
        SKIP("this CPU has no bf16");
    struct test_graph half = halved(&graphs[5].graph);
    compile_spec spec = {.optimizer = optimizer_default(OPTIMIZER_SGD)};
    model *m = test_model(&half, &spec);
    graph *g = graph_fuse(m->graph, FUSE_TRAINING, ops);
    size_t halves = 0;
    for (size_t i = 0; i < g->n; i++)
        halves += g->node[i].half;
    CHECK_INT(halves, 5);
    CHECK(!g->node[g->output[0]].half);
    graph_fuse_free(g);
    model_free(m);
}

// A chain of wide layers, which is fused otherwise.
TEST(wide_dense_layers_compute_in_bf16)
{
    if (!ops->has_half())
        SKIP("this CPU has no bf16");
    struct test_graph mlp = {
        {INPUT(512),
            {.kind = LAYER_DENSE,
                .own = &(dense_layer){.units = 512, .activation = ACTIVATION_RELU},
                FROM(0)},
            OUT(1)},
        NUMBERS(0), NUMBERS(2)};
    struct test_graph half = halved(&mlp);
    struct result whole = result_of(&mlp, 2, ROWS, ops), by = result_of(&half, 2, ROWS, ops);
    double sum = 0, squares = 0;
    for (size_t i = 0; i < whole.n; i++) {
        double d = (double)whole.values[i] - (double)by.values[i];
        sum += d * d;
        squares += (double)whole.values[i] * (double)whole.values[i];
    }
    CHECK(sum > 0 && sqrt(sum / squares) < 0.03);
    free(whole.values), free(by.values);
}

TEST(halves_are_the_nearest)
{
    static const struct {
        uint32_t bits;
        uint16_t half;
    } all[] = {{0x3f800000, 0x3f80}, {0x3f808000, 0x3f80}, {0x3f818000, 0x3f82},
        {0x3f808001, 0x3f81}, {0xc0490fdb, 0xc049}, {0x7f7fffff, 0x7f80}, {0x7f800000, 0x7f80},
        {0xff800000, 0xff80}, {0x7f800001, 0x7fc0}, {0x7fffffff, 0x7fff}, {0, 0}};
    for (size_t k = 0; cpu_nth(k); k++)
        for (size_t i = 0; cpu_nth(k)->usable() && i < ARRAY_LEN(all); i++) {
            float in[33];
            uint16_t out[33];
            for (size_t j = 0; j < ARRAY_LEN(in); j++)
                memcpy(in + j, &all[i].bits, sizeof *in);
            cpu_nth(k)->halve(out, in, ARRAY_LEN(in));
            for (size_t j = 0; j < ARRAY_LEN(in); j++)
                CHECK_INT(out[j], all[i].half);
        }
}

TEST(any_number_of_threads_gives_the_same_bits)
{
    static const size_t rows[] = {1, 2, 9, ROWS};
    for (size_t g = 0; g < ARRAY_LEN(graphs); g++)
        for (size_t k = 0; k < ARRAY_LEN(rows); k++) {
            struct result one = result_of(&graphs[g].graph, 1, rows[k], ops);
            for (int threads = 2; threads <= 4; threads++) {
                struct result more = result_of(&graphs[g].graph, threads, rows[k], ops);
                CHECK(memcmp(one.values, more.values, one.n * sizeof *one.values) == 0);
                free(more.values);
            }
            free(one.values);
        }
}

TEST(a_missing_plugin_names_the_package)
{
    err e;
    CHECK(dnn_load("/nowhere/firesteel-dnn.so", &e) == NULL);
    CHECK(strstr(e.text, "libdnnl2") != NULL);
}

int main(void)
{
    err e;
    ops = dnn_load(tap_built("trainer/dnn/firesteel-dnn.so"), &e);
    if (!ops) {
        printf("1..0 # SKIP %s\n", e.text);
        return 0;
    }
    return tap_run();
}
