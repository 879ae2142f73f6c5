// SPDX-License-Identifier: MIT
// Operations that are joined (nn/fuse.h) against the same ones apart: gradients, weights after some
// steps, and predictions; numerical gradients; the same bits on any number of threads, and whether
// outputs are kept or computed anew (nn/flow_anew.c).
#include "tests/unit/trainer/graphs.h"
#include "tests/unit/trainer/overlap.h"
#include "trainer/dnn/dnn.h"
#include "trainer/nn/internal.h"

enum { ROWS = 13, CLASSES = 3, STEPS = 3 };

#define BN(...)                                                                                    \
    {                                                                                              \
        .kind = LAYER_BATCH_NORMALIZATION,                                                         \
        .own = &(norm_layer){.epsilon = NORM_EPSILON, .momentum = 0.5}, FROM(__VA_ARGS__)          \
    }
#define CONV(n, w, s, bias, ...)                                                                   \
    {                                                                                              \
        .kind = LAYER_CONV2D,                                                                      \
        .own = &(window_layer){.units = n,                                                         \
            .window = {w, w},                                                                      \
            .stride = {s, s},                                                                      \
            .padding = PADDING_SAME,                                                               \
            .no_bias = !(bias)},                                                                   \
        FROM(__VA_ARGS__)                                                                          \
    }
#define DEPTHWISE(w, s, ...)                                                                       \
    {                                                                                              \
        .kind = LAYER_DEPTHWISE_CONV2D,                                                            \
        .own =                                                                                     \
            &(window_layer){                                                                       \
                .multiplier = 1, .window = {w, w}, .stride = {s, s}, .padding = PADDING_SAME},     \
        FROM(__VA_ARGS__)                                                                          \
    }
#define RELU(...)                                                                                  \
    {                                                                                              \
        .kind = LAYER_ACTIVATION, .own = &(activation_layer){.activation = ACTIVATION_RELU},       \
        FROM(__VA_ARGS__)                                                                          \
    }
#define RELU_TO(top, ...)                                                                          \
    {                                                                                              \
        .kind = LAYER_RELU, .own = &(relu_layer){.most = top}, FROM(__VA_ARGS__)                   \
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
    size_t trained, predicted; // nodes that are left
} all[] = {
    {"a block with a shortcut",
        {{INPUT(6, 6, 16), CONV(32, 3, 1, true, 0), BN(1), RELU(2), CONV(32, 3, 1, false, 3), BN(4),
             CONV(32, 1, 2, false, 0), BN(6), CONV(32, 1, 2, true, 5), OF(ADD, 7, 8), RELU(9),
             OF(GLOBAL_AVERAGE_POOLING2D, 10), OUT(11)},
            NUMBERS(0), NUMBERS(12)},
        10, 7},
    {"an identity that is added",
        {{INPUT(5, 4, 16), CONV(16, 1, 1, false, 0), BN(1), RELU(2), CONV(16, 3, 1, false, 3),
             BN(4), OF(ADD, 5, 3), RELU(6), CONV(16, 3, 2, true, 7), BN(8),
             OF(GLOBAL_AVERAGE_POOLING2D, 9), OUT(10)},
            NUMBERS(0), NUMBERS(11)},
        9, 6},
    {"a normalisation of what it is added to",
        {{INPUT(4, 4, 4), BN(0), OF(ADD, 0, 1), RELU(2), OF(GLOBAL_AVERAGE_POOLING2D, 3), OUT(4)},
            NUMBERS(0), NUMBERS(5)},
        4, 4},
    {"depthwise, relu up to 2",
        {{INPUT(6, 5, 3), CONV(6, 3, 2, true, 0), BN(1), RELU_TO(2, 2), DEPTHWISE(3, 1, 3), BN(4),
             RELU_TO(2, 5), CONV(6, 1, 1, false, 6), BN(7), OF(ADD, 8, 3),
             OF(GLOBAL_AVERAGE_POOLING2D, 9), OUT(10)},
            NUMBERS(0), NUMBERS(11)},
        9, 6},
    {"what somebody else reads stays",
        {{INPUT(4, 4, 8), CONV(8, 1, 1, true, 0), BN(1), RELU(2), OF(ADD, 1, 3),
             OF(GLOBAL_AVERAGE_POOLING2D, 4), OUT(5)},
            NUMBERS(0), NUMBERS(6)},
        6, 6},
    {"a relu that is called twice",
        {{INPUT(8), {.kind = LAYER_DENSE, .own = &(dense_layer){.units = 16}, FROM(0)}, BN(1),
             RELU(2), {.kind = LAYER_DENSE, .own = &(dense_layer){.units = 16}, FROM(0)},
             {.kind = LAYER_ACTIVATION,
                 .own = &(activation_layer){.activation = ACTIVATION_RELU},
                 .shares = 4,
                 FROM(4)},
             OF(ADD, 3, 5), OUT(6)},
            NUMBERS(0), NUMBERS(7)},
        7, 7},
};

static const dnn_ops *ops;

struct result {
    float *values; // gradients, weights after some steps, outputs
    size_t n;
};

// Rows of numbers, with some that relu cuts off.
struct rows {
    tensor *x, *y;
    uint32_t order[ROWS];
    model_data data;
};

static void open_rows(struct rows *r, model *m)
{
    err e = {0};
    row_shape in = model_input_shape(m, 0);
    size_t rows = ROWS;
    r->x = test_tensor(rows, &in, 0.3, 0.7);
    r->y = tensor_new(TENSOR_I64, 1, &rows, &e);
    for (uint32_t i = 0; i < ROWS; i++) {
        r->order[i] = i;
        tensor_set(r->y, i, i * 7 % CLASSES, &e);
    }
    CHECK_OK(model_prepare(m, r->x, r->y, &r->data, &e) == 0, e);
}

static void close_rows(struct rows *r)
{
    tensor_free(r->x), tensor_free(r->y);
}

// A bias before a normalisation has no gradient: without what is added here it would stay 0.
static model *make_by(
    const compile_spec *spec, const struct test_graph *g, bool apart, const dnn_ops *dnn)
{
    model *m = test_model(g, spec);
    for (size_t i = 0; i < m->graph->trained; i++)
        m->w[i] += 0.05F * sinf((float)i);
    model_set_dnn(m, dnn);
    model_plan_flow(m, apart);
    return m;
}

static model *make(const struct test_graph *g, int threads, bool apart, const dnn_ops *dnn)
{
    compile_spec spec = {.optimizer = optimizer_default(OPTIMIZER_SGD), .threads = threads};
    return make_by(&spec, g, apart, dnn);
}

static struct result result_of_model(model *m)
{
    err e = {0};
    struct rows r;
    batch_result done;
    const float *slopes;
    open_rows(&r, m);
    batch b = {.rows = r.order, .n = ROWS};
    size_t trained = m->graph->trained, values = m->graph->values;
    struct result out = {.n = trained + values + ROWS * CLASSES};
    out.values = mem_array(out.n, sizeof *out.values);
    CHECK_OK(model_gradient(m, &r.data, &b, &done, &slopes, &e) == 0, e);
    memcpy(out.values, slopes, trained * sizeof *slopes);
    for (int i = 0; i < STEPS; i++)
        CHECK_OK(model_train_batch(m, &r.data, &b, &done, &e) == 0, e);
    memcpy(out.values + trained, m->w, values * sizeof *m->w);
    CHECK_OK(model_predict_batch(m, &r.data, &b, out.values + trained + values, &e) == 0, e);
    close_rows(&r);
    model_free(m);
    return out;
}

static struct result result_of(
    const struct test_graph *g, int threads, bool apart, const dnn_ops *dnn)
{
    return result_of_model(make(g, threads, apart, dnn));
}

static void check_alike(const char *name, const struct test_graph *g, const dnn_ops *dnn)
{
    struct result joined = result_of(g, 2, false, dnn), apart = result_of(g, 2, true, dnn);
    double most = 0, largest = 1;
    for (size_t i = 0; i < apart.n; i++) {
        double d = fabs((double)apart.values[i] - (double)joined.values[i]);
        most = d > most || isnan(d) ? d : most;
        largest = fmax(largest, fabs((double)apart.values[i]));
    }
    if (!(most <= 1e-5 * largest))
        printf("# %s: %g of %g\n", name, most, largest);
    CHECK(most <= 1e-5 * largest);
    free(joined.values), free(apart.values);
}

TEST(joined_is_as_apart)
{
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        check_alike(all[i].name, &all[i].graph, NULL);
        if (ops)
            check_alike(all[i].name, &all[i].graph, ops);
    }
}

TEST(patterns_are_found)
{
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        model *m = make(&all[i].graph, 1, false, NULL);
        graph *trained = graph_fuse(m->graph, FUSE_TRAINING, NULL);
        graph *predicted = graph_fuse(m->graph, FUSE_PREDICTING, NULL);
        graph *apart = graph_fuse(m->graph, FUSE_NOTHING, NULL);
        CHECK_INT(trained->n, all[i].trained);
        CHECK_INT(predicted->n, all[i].predicted);
        CHECK_INT(apart->n, m->graph->n);
        graph_fuse_free(trained), graph_fuse_free(predicted), graph_fuse_free(apart);
        model_free(m);
    }
}

static bool always(void)
{
    return true;
}

// Its node computes in bf16 if it says so; a layer that has no node any more is joined to the
// normalisation.
static void check_half(const graph *g, layer_kind kind, bool want, bool joined)
{
    bool have = joined;
    for (size_t i = 0; i < g->n; i++)
        if (g->node[i].layer && g->node[i].op->kind == kind)
            have = g->node[i].half;
    CHECK_INT(have, want);
}

TEST(layers_of_several_types_of_numbers_stay_apart)
{
    const dnn_ops half = {.has_half = always};
    for (int mask = 0; mask < 8; mask++) {
        struct test_graph mixed = {{INPUT(4, 4, 4), BN(0), OF(ADD, 0, 1), RELU(2),
                                       OF(GLOBAL_AVERAGE_POOLING2D, 3), OUT(4)},
            NUMBERS(0), NUMBERS(5)};
        bool norm = mask & 1, add = mask & 2, relu = mask & 4;
        mixed.layers[1].half = norm, mixed.layers[2].half = add, mixed.layers[3].half = relu;
        model *m = make(&mixed, 1, false, NULL);
        graph *g = graph_fuse(m->graph, FUSE_TRAINING, &half);
        check_half(g, LAYER_BATCH_NORMALIZATION, norm, false);
        check_half(g, LAYER_ADD, add, norm);
        check_half(g, LAYER_ACTIVATION, relu, norm);
        graph_fuse_free(g);
        model_free(m);
    }
}

TEST(any_number_of_threads_gives_the_same_bits)
{
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        for (int k = 0; k <= (ops != NULL); k++) {
            struct result one = result_of(&all[i].graph, 1, false, k ? ops : NULL);
            for (int threads = 2; threads <= 4; threads++) {
                struct result more = result_of(&all[i].graph, threads, false, k ? ops : NULL);
                CHECK(memcmp(one.values, more.values, one.n * sizeof *one.values) == 0);
                free(more.values);
            }
            free(one.values);
        }
}

static double loss_of(model *m, struct rows *r, const float **g)
{
    err e;
    batch_result result;
    batch b = {.rows = r->order, .n = ROWS};
    CHECK_OK(model_gradient(m, &r->data, &b, &result, g, &e) == 0, e);
    return result.loss_sum / ROWS;
}

// A relu's kink in between makes some differences no gradients: nearly all have to fit.
enum { COMPARED = TAP_SANITIZED ? 4 : 12 }; // numbers of each parameter

TEST(gradients_are_those_of_the_loss)
{
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        model *m = make(&all[i].graph, 1, false, ops);
        struct rows r;
        const float *g;
        size_t count, looked = 0, wrong = 0;
        float *w = model_weight_values(m, &count);
        open_rows(&r, m);
        for (size_t p = 0; p < m->graph->parameters; p++) {
            const parameter *of = &m->graph->parameter[p];
            size_t n = of->rows * of->columns;
            for (size_t k = 0; !of->as.fixed && k < n; k += 1 + n / COMPARED) {
                const float h = 1 / 512.0f;
                float *at = &w[parameter_at(of, k / of->columns, k % of->columns)], kept = *at;
                loss_of(m, &r, &g);
                double have = (double)g[at - w];
                *at = kept + h;
                double more = loss_of(m, &r, &g);
                *at = kept - h;
                double want = (more - loss_of(m, &r, &g)) / (2 * (double)h);
                *at = kept;
                looked++;
                wrong += !(fabs(have - want) <= 5e-4 + 0.02 * fabs(want));
            }
        }
        if (wrong * 7 > looked)
            tap_fail(__FILE__, __LINE__, "%s: %zu of %zu gradients", all[i].name, wrong, looked);
        close_rows(&r);
        model_free(m);
    }
}

// Of 768 rows a part has 256, of 767 it has 384.
TEST(a_smaller_batch_with_larger_parts_has_room)
{
    const struct test_graph thin = {
        {INPUT(4, 4, 512), CONV(16, 1, 2, false, 0), OF(GLOBAL_AVERAGE_POOLING2D, 1), OUT(2)},
        NUMBERS(0), NUMBERS(3)};
    enum { MANY = 768 };
    err e = {0};
    model *m = make(&thin, 1, false, ops);
    row_shape in = model_input_shape(m, 0);
    tensor *x = test_tensor(MANY, &in, 0.3, 0.7);
    tensor *y = tensor_new(TENSOR_I64, 1, &(size_t){MANY}, &e);
    AUTO_FREE uint32_t *order = mem_array(MANY, sizeof *order);
    model_data data;
    batch_result done;
    for (uint32_t i = 0; i < MANY; i++)
        order[i] = i;
    CHECK_OK(model_prepare(m, x, y, &data, &e) == 0, e);
    for (size_t n = MANY; n + 2 > MANY; n--) {
        batch b = {.rows = order, .n = n};
        CHECK_OK(model_train_batch(m, &data, &b, &done, &e) == 0, e);
    }
    CHECK_INT(model_steps(m), 2);
    tensor_free(x), tensor_free(y);
    model_free(m);
}

// What is no number stays none.
TEST(nan_comes_through)
{
    for (int kind = 0; kind < (ops ? 4 : 2); kind++)
        for (size_t i = 0; i < ARRAY_LEN(all); i++) {
            err e = {0};
            model *m = make(&all[i].graph, 1, kind & 1, kind & 2 ? ops : NULL);
            struct rows r;
            float out[ROWS * CLASSES];
            open_rows(&r, m);
            batch b = {.rows = r.order, .n = ROWS};
            tensor_set(r.x, 0, NAN, &e);
            CHECK_OK(model_predict_batch(m, &r.data, &b, out, &e) == 0, e);
            if (!isnan(out[0]) || isnan(out[CLASSES]))
                tap_fail(__FILE__, __LINE__, "%s, %s, %s: %g", all[i].name,
                    kind & 1 ? "apart" : "joined", kind & 2 ? "oneDNN" : "own", (double)out[0]);
            close_rows(&r);
            model_free(m);
        }
}

// Which layers are computed anew: all, every second one, or those with large outputs.
enum { ANEW_ALL, ANEW_SOME, ANEW_LARGE, ANEW_WAYS };
static struct test_graph forgetful(const struct test_graph *g, int way)
{
    struct test_graph copy = *g;
    for (size_t i = 0; i < test_layers(g); i++)
        copy.layers[i].remat = way == ANEW_LARGE ? 200 : way == ANEW_ALL || i % 2;
    return copy;
}

static const struct test_graph noisy[] = {
    {{INPUT(6, 6, 16),
         {.kind = LAYER_RANDOM_FLIP, .own = &(flip_layer){.mode = FLIP_HORIZONTAL}, FROM(0)},
         CONV(32, 3, 1, true, 1),
         {.kind = LAYER_DROPOUT, .own = &(dropout_layer){.rate = 0.5f}, FROM(2)}, BN(3), RELU(4),
         {.kind = LAYER_DROPOUT, .own = &(dropout_layer){.rate = 0.25f}, FROM(5)},
         CONV(32, 3, 1, false, 6), BN(7), OF(ADD, 8, 2), OF(CONCATENATE, 9, 6),
         CONV(16, 1, 1, true, 10), OF(GLOBAL_AVERAGE_POOLING2D, 11), OUT(12)},
        NUMBERS(0), NUMBERS(13)},
    {{INPUT(4, 4, 16), CONV(16, 3, 1, true, 0), BN(1), RELU(2),
         {.kind = LAYER_CONV2D,
             .own =
                 &(window_layer){
                     .units = 16, .window = {3, 3}, .stride = {1, 1}, .padding = PADDING_SAME},
             .shares = 2,
             FROM(3)},
         {.kind = LAYER_BATCH_NORMALIZATION,
             .own = &(norm_layer){.epsilon = NORM_EPSILON, .momentum = 0.5},
             .shares = 3,
             FROM(4)},
         {.kind = LAYER_ACTIVATION,
             .own = &(activation_layer){.activation = ACTIVATION_GELU},
             FROM(5)},
         OF(FLATTEN, 6),
         {.kind = LAYER_DENSE,
             .own = &(dense_layer){.units = 8, .activation = ACTIVATION_SILU},
             FROM(7)},
         OUT(8)},
        NUMBERS(0), NUMBERS(9)},
};

static void check_anew(const struct test_graph *g, const dnn_ops *dnn, bool half)
{
    struct test_graph plain = *g;
    for (size_t i = 0; i < test_layers(g); i++)
        plain.layers[i].half = half;
    struct result kept = result_of(&plain, 1, false, dnn);
    for (int way = 0; way < ANEW_WAYS; way++)
        for (int threads = TAP_SANITIZED ? 3 : 1; threads <= 3; threads += 2)
            for (int apart = 0; apart < 2; apart++) {
                struct test_graph marked = forgetful(&plain, way);
                struct result want = apart ? result_of(&plain, threads, true, dnn) : kept;
                struct result have = result_of(&marked, threads, apart, dnn);
                CHECK(memcmp(want.values, have.values, want.n * sizeof *want.values) == 0);
                free(have.values);
                if (apart)
                    free(want.values);
            }
    free(kept.values);
}

TEST(what_is_computed_anew_has_the_same_bits)
{
    for (size_t i = 0; i < ARRAY_LEN(all) + ARRAY_LEN(noisy); i++) {
        const struct test_graph *g =
            i < ARRAY_LEN(all) ? &all[i].graph : &noisy[i - ARRAY_LEN(all)];
        check_anew(g, NULL, false);
        if (ops)
            check_anew(g, ops, false);
        if (ops)
            check_anew(g, ops, true);
    }
}

// As they are when backward is through.
static void check_overlap(const struct test_graph *g, const dnn_ops *dnn)
{
    struct overlap each;
    compile_spec spec = {.optimizer = optimizer_default(OPTIMIZER_SGD), .threads = 2},
                 behind = spec;
    behind.allreduce = overlap_halve;
    spec = overlap_spec(spec, &each, 1);
    for (int way = 0; way <= ANEW_WAYS; way++) {
        struct test_graph marked = way < ANEW_WAYS ? forgetful(g, way) : *g;
        struct result want = result_of_model(make_by(&behind, &marked, false, dnn));
        struct result have = result_of_model(make_by(&spec, &marked, false, dnn));
        CHECK(memcmp(want.values, have.values, want.n * sizeof *want.values) == 0);
        free(want.values), free(have.values);
    }
    CHECK_INT(each.steps, (ANEW_WAYS + 1) * STEPS);
    CHECK(each.most > 2);
}

TEST(gradients_of_joined_and_forgotten_layers_are_final_when_told)
{
    for (size_t i = 0; i < ARRAY_LEN(noisy); i++)
        for (int dnn = 0; dnn < (ops ? 2 : 1); dnn++)
            check_overlap(&noisy[i], dnn ? ops : NULL);
    check_overlap(&all[0].graph, ops);
}

// The arena of a step, in floats.
static size_t arena_of(const struct test_graph *g)
{
    err e = {0};
    model *m = make(g, 1, false, NULL);
    struct rows r;
    batch_result done;
    size_t arena;
    open_rows(&r, m);
    batch b = {.rows = r.order, .n = ROWS};
    CHECK_OK(model_train_batch(m, &r.data, &b, &done, &e) == 0, e);
    flow_floats(m->flow, &arena);
    close_rows(&r);
    model_free(m);
    return arena;
}

// Twelve outputs of the same size and a gradient or two: three are kept, and as many computed anew.
TEST(what_is_computed_anew_takes_less_memory)
{
    struct test_graph deep = {{INPUT(40, 40, 4)}, NUMBERS(0), NUMBERS(14)};
    static const size_t before[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13};
    static const window_layer relu = {.units = 4,
        .window = {3, 3},
        .stride = {1, 1},
        .padding = PADDING_SAME,
        .activation = ACTIVATION_RELU};
    for (size_t i = 1; i <= 12; i++)
        deep.layers[i] =
            (layer_spec){.kind = LAYER_CONV2D, .own = &relu, .from = before + i - 1, .froms = 1};
    deep.layers[13] =
        (layer_spec){.kind = LAYER_GLOBAL_AVERAGE_POOLING2D, .from = before + 12, .froms = 1};
    deep.layers[14] = (layer_spec){.kind = LAYER_DENSE,
        .own = &(dense_layer){.units = CLASSES, .activation = ACTIVATION_SOFTMAX},
        .from = before + 13,
        .froms = 1};
    struct test_graph all_of_it = forgetful(&deep, ANEW_ALL), none = deep;
    size_t whole = arena_of(&deep), less = arena_of(&all_of_it);
    CHECK(less * 8 < whole * 5);
    for (size_t i = 0; i < test_layers(&none); i++)
        none.layers[i].remat = 1 << 20; // no output is so large
    CHECK_INT(arena_of(&none), whole);
}

// The layer that is not finite is named before backward overwrites it.
TEST(who_is_not_finite_is_found_when_outputs_are_forgotten)
{
    err e = {0};
    struct test_graph marked = forgetful(&all[0].graph, ANEW_ALL);
    model *m = make(&marked, 2, false, NULL);
    struct rows r;
    batch_result done;
    open_rows(&r, m);
    batch b = {.rows = r.order, .n = ROWS};
    m->w[m->graph->parameter[m->graph->node[4].first].at] = NAN; // of the second convolution
    CHECK_OK(model_train_batch(m, &r.data, &b, &done, &e) == 0, e);
    CHECK_INT(flow_blame(m->flow), 4);
    close_rows(&r);
    model_free(m);
}

static atomic_int packed;
static int count_pack(
    const dnn_conv *c, void *out, const float *from, size_t ld, size_t at, size_t n)
{
    packed++;
    return ops->pack(c, out, from, ld, at, n);
}

// How often a prediction of so many rows packs a panel; it is that of the same weights elsewhere.
static int packs_of(model *m, struct rows *r, size_t n)
{
    err e = {0};
    float have[ROWS * CLASSES], want[ROWS * CLASSES];
    model *fresh = make(&all[0].graph, 2, false, ops);
    struct rows same;
    open_rows(&same, fresh);
    memcpy(fresh->w, m->w, m->graph->values * sizeof *m->w);
    batch b = {.rows = r->order, .n = n};
    packed = 0;
    CHECK_OK(model_predict_batch(m, &r->data, &b, have, &e) == 0, e);
    int count = packed;
    CHECK_OK(model_predict_batch(fresh, &same.data, &b, want, &e) == 0, e);
    CHECK(memcmp(have, want, n * CLASSES * sizeof *have) == 0);
    close_rows(&same);
    model_free(fresh);
    return count;
}

TEST(weights_are_packed_once_for_few_rows)
{
    if (!ops)
        return;
    err e = {0};
    dnn_ops counting = *ops;
    counting.pack = count_pack;
    model *m = make(&all[0].graph, 2, false, &counting);
    struct rows r;
    batch_result done;
    const float *g;
    open_rows(&r, m);
    batch b = {.rows = r.order, .n = 4};
    CHECK(packs_of(m, &r, 4) > 0);
    CHECK_INT(packs_of(m, &r, 4), 0);
    CHECK_INT(packs_of(m, &r, 1), 0);
    CHECK_OK(model_gradient(m, &r.data, &b, &done, &g, &e) == 0, e); // uses the same memory
    CHECK(packs_of(m, &r, 4) > 0);
    CHECK_OK(model_train_batch(m, &r.data, &b, &done, &e) == 0, e);
    CHECK(packs_of(m, &r, 4) > 0);
    CHECK_INT(packs_of(m, &r, 4), 0);
    tensor *kernel = model_weight(m, 0, &e);
    for (size_t i = 0; i < tensor_count(kernel); i++)
        tensor_set(kernel, i, 0.01 * (double)(i % 7), &e);
    CHECK_OK(model_set_weight(m, 0, kernel, &e) == 0, e);
    CHECK(packs_of(m, &r, 4) > 0);
    CHECK(packs_of(m, &r, ROWS) > 0); // of more rows they have no place of their own
    CHECK(packs_of(m, &r, ROWS) > 0);
    CHECK(packs_of(m, &r, 4) > 0); // they used the same memory
    CHECK_INT(packs_of(m, &r, 4), 0);
    tensor_free(kernel);
    close_rows(&r);
    model_free(m);
}

int main(void)
{
#ifdef HAVE_PLUGIN
    err e;
    ops = dnn_load(tap_built("trainer/dnn/firesteel-dnn.so"), &e);
#endif
    return tap_run();
}
