// SPDX-License-Identifier: MIT
// What weights start with: Keras's distributions, seeds, and what models and their files make of
// them.
#include "tests/unit/trainer/graphs.h"
#include "trainer/files/checkpoint.h"
#include "trainer/nn/internal.h"

#include <math.h>

enum { ROWS = 300, COLUMNS = 200, ALL = ROWS * COLUMNS };

static const size_t shape[] = {ROWS, COLUMNS};

static float *filled(initializer s, int dims, const size_t *sizes, size_t n, uint64_t seed)
{
    err e;
    float *out = mem_array(n, sizeof *out);
    CHECK_OK(initializer_fill(&s, dims, sizes, random_from(seed, 0), out, &e) == 0, e);
    return out;
}

struct moments {
    double mean, deviation, most;
};

static struct moments moments_of(const float *v, size_t n)
{
    struct moments m = {0};
    for (size_t i = 0; i < n; i++) {
        m.mean += (double)v[i] / (double)n;
        m.most = fmax(m.most, fabs((double)v[i]));
    }
    for (size_t i = 0; i < n; i++)
        m.deviation += pow((double)v[i] - m.mean, 2) / (double)n;
    m.deviation = sqrt(m.deviation);
    return m;
}

// most: 0 when there is no bound.
static void check(initializer s, double mean, double deviation, double most)
{
    float *v = filled(s, 2, shape, ALL, 1);
    struct moments m = moments_of(v, ALL);
    CHECK_NEAR(m.mean, mean, deviation * 0.02);
    CHECK_NEAR(m.deviation, deviation, deviation * 0.01);
    CHECK(!(most > 0) || (m.most <= most * (1 + 1e-6) && m.most > most * 0.99));
    free(v);
}

static initializer with(initializer_kind kind, double one, double two)
{
    initializer s = initializer_of(kind);
    s.number[0] = one;
    s.number[1] = two;
    return s;
}

TEST(distributions_are_keras_s)
{
    const double in = ROWS, out = COLUMNS, cut = 0.87962566103423978;
    double glorot = sqrt(2 / (in + out)), he = sqrt(2 / in), lecun = sqrt(1 / in);
    check(initializer_of(INITIALIZER_GLOROT_UNIFORM), 0, glorot, glorot * sqrt(3));
    check(initializer_of(INITIALIZER_GLOROT_NORMAL), 0, glorot, 2 * glorot / cut);
    check(initializer_of(INITIALIZER_HE_UNIFORM), 0, he, he * sqrt(3));
    check(initializer_of(INITIALIZER_HE_NORMAL), 0, he, 2 * he / cut);
    check(initializer_of(INITIALIZER_LECUN_UNIFORM), 0, lecun, lecun * sqrt(3));
    check(initializer_of(INITIALIZER_LECUN_NORMAL), 0, lecun, 2 * lecun / cut);
    check(initializer_of(INITIALIZER_RANDOM_UNIFORM), 0, 0.1 / sqrt(12), 0.05);
    check(initializer_of(INITIALIZER_RANDOM_NORMAL), 0, 0.05, 0);
    check(with(INITIALIZER_RANDOM_NORMAL, 3, 0.5), 3, 0.5, 0);
    check(initializer_of(INITIALIZER_TRUNCATED_NORMAL), 0, 0.05 * cut, 0.1);
    initializer scaled = with(INITIALIZER_VARIANCE_SCALING, 4, 0);
    scaled.mode = FAN_OUT;
    scaled.distribution = DISTRIBUTION_UNTRUNCATED_NORMAL;
    check(scaled, 0, sqrt(4 / out), 0);
}

TEST(plain_numbers)
{
    struct {
        initializer_kind kind;
        float same, other;
    } all[] = {{INITIALIZER_ZEROS, 0, 0}, {INITIALIZER_ONES, 1, 1}, {INITIALIZER_CONSTANT, 7, 7},
        {INITIALIZER_IDENTITY, 7, 0}};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        float *v = filled(with(all[i].kind, 7, 0), 2, shape, ALL, 1);
        CHECK_NEAR((double)v[COLUMNS + 1], (double)all[i].same, 0);
        CHECK_NEAR((double)v[COLUMNS + 2], (double)all[i].other, 0);
        free(v);
    }
}

// Of a convolution's kernel the window belongs to the fans.
TEST(fans_of_a_window)
{
    const size_t kernel[] = {5, 5, 40, 60};
    float *v = filled(initializer_of(INITIALIZER_HE_NORMAL), 4, kernel, 60000, 1);
    CHECK_NEAR(moments_of(v, 60000).deviation, sqrt(2.0 / 1000), 0.0006);
    free(v);
}

static void check_orthogonal(size_t rows, size_t columns)
{
    const size_t sizes[] = {rows, columns};
    size_t n = rows < columns ? rows : columns, length = rows < columns ? columns : rows;
    float *v = filled(with(INITIALIZER_ORTHOGONAL, 2, 0), 2, sizes, rows * columns, 1);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = 0;
            for (size_t k = 0; k < length; k++)
                sum += rows < columns ? (double)v[i * columns + k] * (double)v[j * columns + k]
                                      : (double)v[k * columns + i] * (double)v[k * columns + j];
            CHECK_NEAR(sum, i == j ? 4 : 0, 1e-5);
        }
    free(v);
}

TEST(orthogonal_vectors)
{
    check_orthogonal(30, 20);
    check_orthogonal(20, 30);
    check_orthogonal(64, 64);
    check_orthogonal(101, 95); // several panels, the last one of 31
    check_orthogonal(97, 330);
    check_orthogonal(1, 5);
}

// One vector after the other, and one number after the other.
static void plainly(double *q, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double *v = q + i * n, square = 0;
        for (size_t j = 0; j < i; j++) {
            double *u = q + j * n, along = 0;
            for (size_t k = 0; k < n; k++)
                along += u[k] * v[k];
            for (size_t k = 0; k < n; k++)
                v[k] -= along * u[k];
        }
        for (size_t k = 0; k < n; k++)
            square += v[k] * v[k];
        for (size_t k = 0; k < n; k++)
            v[k] /= sqrt(square);
    }
}

// The plain method finds nothing to change in them.
TEST(orthogonal_vectors_are_made_in_panels)
{
    enum { SIZE = 600 };
    const size_t sizes[] = {SIZE, SIZE};
    double *q = mem_array(SIZE * SIZE, sizeof *q);
    float *v = filled(initializer_of(INITIALIZER_ORTHOGONAL), 2, sizes, SIZE * SIZE, 1);
    float *again = filled(initializer_of(INITIALIZER_ORTHOGONAL), 2, sizes, SIZE * SIZE, 1);
    CHECK(memcmp(v, again, SIZE * SIZE * sizeof *v) == 0);
    for (size_t i = 0; i < SIZE * SIZE; i++)
        q[i] = (double)v[i % SIZE * SIZE + i / SIZE];
    plainly(q, SIZE);
    for (size_t i = 0; i < SIZE * SIZE; i++)
        CHECK_NEAR(q[i], (double)v[i % SIZE * SIZE + i / SIZE], 1e-6);
    free(q), free(v), free(again);
}

// A seed means the same numbers from version to version.
TEST(the_numbers_of_a_seed_stay)
{
    const size_t sizes[] = {100, 90};
    float *v = filled(initializer_of(INITIALIZER_ORTHOGONAL), 2, sizes, 100 * 90, 1);
    CHECK_NEAR((double)v[0], -0.0266136602, 1e-7);
    CHECK_NEAR((double)v[100 * 90 - 1], -0.0384279042, 1e-7);
    free(v);
}

TEST(names)
{
    err e;
    initializer_kind kind;
    CHECK(initializer_parse("he_normal", &kind, &e) == 0 && kind == INITIALIZER_HE_NORMAL);
    CHECK(initializer_parse("HeNormal", &kind, &e) == 0 && kind == INITIALIZER_HE_NORMAL);
    CHECK(initializer_parse("he", &kind, &e) < 0);
    CHECK_HAS(e.text, "unknown initializer \"he\" (known: glorot_uniform, ");
}

#define SAID(...)                                                                                  \
    {                                                                                              \
        .kind = LAYER_DENSE, .own = &(dense_layer){.units = 70}, .weight = { __VA_ARGS__ }         \
    }

static const struct test_graph around = {
    {INPUT(9), {.kind = LAYER_DENSE, .own = &(dense_layer){.units = 70}},
        {.kind = LAYER_DENSE, .own = &(dense_layer){.units = 70}},
        {.kind = LAYER_DENSE, .own = &(dense_layer){.units = 3}}},
    NUMBERS(0), NUMBERS(3)};

static struct test_graph graph_of(layer_spec middle)
{
    static const size_t from[] = {0, 1, 2};
    struct test_graph g = around;
    g.layers[2] = middle;
    for (size_t i = 1; i < 4; i++) {
        g.layers[i].from = &from[i - 1];
        g.layers[i].froms = 1;
    }
    return g;
}

static const compile_spec sgd = {
    .optimizer = {OPTIMIZER_SGD, .learning_rate = 0.1}, .loss = LOSS_MEAN_SQUARED_ERROR};

static float value_of(model *m, size_t i, size_t at)
{
    err e;
    tensor *t = model_weight(m, i, &e);
    float value = (float)tensor_at(t, at);
    tensor_free(t);
    return value;
}

// What is said of one weight leaves the numbers of the others as they are.
TEST(other_weights_keep_their_numbers)
{
    struct test_graph plain = graph_of((layer_spec)SAID({.l1 = 0})),
                      said = graph_of((layer_spec)SAID({.start = {INITIALIZER_IDENTITY, {2}}},
                          {.start = {INITIALIZER_RANDOM_NORMAL, {0, 1}}}));
    model *a = test_model(&plain, &sgd), *b = test_model(&said, &sgd);
    CHECK(value_of(a, 0, 17) == value_of(b, 0, 17)); // NOLINT: the same bits
    CHECK(value_of(a, 4, 17) == value_of(b, 4, 17));
    CHECK_NEAR((double)value_of(b, 2, 71 * 66), 2, 0); // its second panel, too
    CHECK_NEAR((double)value_of(b, 2, 71 * 66 + 1), 0, 0);
    CHECK(value_of(b, 3, 0) != 0 && value_of(b, 3, 0) != value_of(b, 3, 1));
    model_free(a), model_free(b);
}

TEST(a_seed_is_the_same_in_every_layer)
{
    initializer seeded = {INITIALIZER_GLOROT_NORMAL, .seeded = true, .seed = -5};
    struct test_graph g = graph_of((layer_spec)SAID({.start = seeded}));
    g.layers[1].own = g.layers[3].own = &(dense_layer){.units = 70};
    g.layers[3].weight[0].start = seeded;
    model *m = test_model(&g, &sgd);
    CHECK(value_of(m, 2, 17) == value_of(m, 4, 17));
    CHECK(value_of(m, 2, 17) != value_of(m, 0, 17));
    model_free(m);
}

TEST(files_remember_what_was_said)
{
    err e;
    buf bytes = {0};
    struct test_graph g = graph_of((layer_spec)SAID(
        {.start = {INITIALIZER_VARIANCE_SCALING, {3}, FAN_AVG, DISTRIBUTION_UNIFORM, true, 12},
            .l1 = 0.5,
            .l2 = 0.25},
        {.start = {INITIALIZER_ONES}}));
    model *m = test_model(&g, &sgd);
    CHECK_OK(checkpoint_encode(m, (checkpoint_options){0}, &bytes, &e) == 0, e);
    model *copy = checkpoint_decode(bytes.data, bytes.len, &e);
    CHECK_OK(copy, e);
    const weight_spec *w = copy ? model_layer(copy, 2)->weight : g.layers[0].weight;
    CHECK_INT(w[0].start.kind, INITIALIZER_VARIANCE_SCALING);
    CHECK_INT(w[0].start.mode, FAN_AVG);
    CHECK_INT(w[0].start.distribution, DISTRIBUTION_UNIFORM);
    CHECK(w[0].start.seeded && w[0].start.seed == 12);
    CHECK_NEAR(w[0].start.number[0], 3, 0);
    CHECK_NEAR(w[0].l1, 0.5, 0);
    CHECK_NEAR(w[0].l2, 0.25, 0);
    CHECK_INT(w[1].start.kind, INITIALIZER_ONES);
    CHECK_INT(w[2].start.kind, INITIALIZER_DEFAULT);
    buf_done(&bytes);
    model_free(m), model_free(copy);
}

static void check_refused(weight_spec kernel, weight_spec bias, const char *message)
{
    err e = {0};
    struct test_graph g = graph_of((layer_spec)SAID(kernel, bias));
    CHECK(!model_new_graph(&(graph_spec){.layers = g.layers,
                               .n = test_layers(&g),
                               .inputs = g.in.item,
                               .input_count = g.in.n,
                               .outputs = g.out.item,
                               .output_count = g.out.n},
        &e));
    CHECK_STR(e.text, message);
}

TEST(what_cannot_be_is_refused)
{
    check_refused((weight_spec){0}, (weight_spec){.start = {INITIALIZER_IDENTITY}},
        "dense_1: bias_initializer: Identity is for weights of two dimensions, got 1");
    check_refused((weight_spec){0}, (weight_spec){.start = {INITIALIZER_ORTHOGONAL}},
        "dense_1: bias_initializer: Orthogonal is for weights of two dimensions or more");
    check_refused((weight_spec){.start = {INITIALIZER_RANDOM_NORMAL, {0, -1}}}, (weight_spec){0},
        "dense_1: kernel_initializer: RandomNormal: stddev must be 0 or more, got -1");
    check_refused((weight_spec){.start = {INITIALIZER_RANDOM_UNIFORM, {1, 0}}}, (weight_spec){0},
        "dense_1: kernel_initializer: RandomUniform: maxval 0 is less than minval 1");
    check_refused((weight_spec){.start = {INITIALIZER_CONSTANT, {NAN}}}, (weight_spec){0},
        "dense_1: kernel_initializer: Constant: value must be a finite number, got nan");
    check_refused((weight_spec){.start = {INITIALIZER_VARIANCE_SCALING, {0}}}, (weight_spec){0},
        "dense_1: kernel_initializer: VarianceScaling: scale must be more than 0, got 0");
    check_refused((weight_spec){.l1 = -1}, (weight_spec){0},
        "dense_1: kernel_regularizer: l1 and l2 must be 0 or more");
}

int main(void)
{
    return tap_run();
}
