// SPDX-License-Identifier: MIT
// Ranks, as threads, that train a model whose normalisations are synchronized: as one rank with all
// the rows.
#include "tests/unit/trainer/graphs.h"
#include "trainer/dnn/dnn.h"
#include "trainer/fit.h"
#include "trainer/nn/internal.h"

#include <pthread.h>

enum { RANKS = 4, ROWS = 24, BATCH = 12, CLASSES = 3, ROOM = 1 << 16 };

#define SYNC(...)                                                                                  \
    {                                                                                              \
        .kind = LAYER_BATCH_NORMALIZATION,                                                         \
        .own = &(norm_layer){.epsilon = NORM_EPSILON, .momentum = 0.5, .synchronized = true},      \
        FROM(__VA_ARGS__)                                                                          \
    }
#define CONV(n, w, ...)                                                                            \
    {                                                                                              \
        .kind = LAYER_CONV2D,                                                                      \
        .own = &(window_layer){.units = n,                                                         \
            .window = {w, w},                                                                      \
            .stride = {1, 1},                                                                      \
            .padding = PADDING_SAME,                                                               \
            .no_bias = true},                                                                      \
        FROM(__VA_ARGS__)                                                                          \
    }
#define RELU(...)                                                                                  \
    {                                                                                              \
        .kind = LAYER_ACTIVATION, .own = &(activation_layer){.activation = ACTIVATION_RELU},       \
        FROM(__VA_ARGS__)                                                                          \
    }

// A normalisation by itself, one with relu, one with what is added and relu.
static const struct test_graph block = {
    {INPUT(4, 4, 16), SYNC(0), CONV(16, 3, 1), SYNC(2), RELU(3), CONV(16, 3, 4), SYNC(5),
        {.kind = LAYER_ADD, FROM(6, 4)}, RELU(7), {.kind = LAYER_GLOBAL_AVERAGE_POOLING2D, FROM(8)},
        {.kind = LAYER_DENSE,
            .own = &(dense_layer){.units = CLASSES, .activation = ACTIVATION_SOFTMAX},
            FROM(9)}},
    NUMBERS(0), NUMBERS(10)};

static const dnn_ops *ops;

struct ranks {
    pthread_barrier_t meet;
    size_t n;
    double sum[ROOM];
    double *mine[RANKS];
};

struct rank {
    struct ranks *all;
    size_t number, rows, from; // its rows; 0: each n-th one
    bool half, apart, fails, moved;
    size_t sums; // how many it was asked for
    err error;
    float *weights;
    size_t count, trained;
};

// Every rank adds up all ranks' numbers in the order of ranks.
static void add_up(struct rank *r, double *values, size_t n)
{
    struct ranks *all = r->all;
    CHECK(n <= ROOM);
    all->mine[r->number] = values;
    pthread_barrier_wait(&all->meet);
    for (size_t i = r->number; i < n; i += all->n) {
        all->sum[i] = 0;
        for (size_t k = 0; k < all->n; k++)
            all->sum[i] += all->mine[k][i];
    }
    pthread_barrier_wait(&all->meet);
    memcpy(values, all->sum, n * sizeof *values);
    pthread_barrier_wait(&all->meet);
}

static int average(void *ctx, float *values, size_t n, const char *name, err *e)
{
    struct rank *r = ctx;
    AUTO_FREE double *room = mem_array(n, sizeof *room);
    for (size_t i = 0; i < n; i++)
        room[i] = (double)values[i];
    add_up(r, room, n);
    for (size_t i = 0; i < n; i++)
        values[i] = (float)(room[i] / (double)r->all->n);
    return 0;
}

static int sum(void *ctx, double *values, size_t n, const char *name, err *e)
{
    struct rank *r = ctx;
    r->sums++;
    CHECK(strncmp(name, "batch_normalization", 19) == 0);
    if (r->fails)
        return err_set(e, ERR_FAILED, "rank 3 is gone");
    add_up(r, values, n);
    return 0;
}

static model *make(struct rank *r)
{
    struct test_graph g = block;
    compile_spec spec = {.optimizer = optimizer_default(OPTIMIZER_SGD),
        .allreduce = average,
        .allsum = sum,
        .allreduce_ctx = r,
        .ranks = (int)r->all->n,
        .rank = (int)r->number,
        .threads = 1 + (int)r->number % 2};
    spec.optimizer.learning_rate = 0.05;
    for (size_t i = 0; i < TEST_LAYERS; i++)
        g.layers[i].half = r->half && g.layers[i].kind;
    model *m = test_model(&g, &spec);
    model_set_dnn(m, r->half ? ops : NULL);
    model_plan_flow(m, r->apart);
    return m;
}

static void *run_rank(void *arg)
{
    struct rank *r = arg;
    model *m = make(r);
    row_shape in = model_input_shape(m, 0);
    size_t rows = ROWS, ranks = r->all->n;
    tensor *x = test_tensor(rows, &in, 0.3, 0.7), *y = tensor_new(TENSOR_I64, 1, &rows, &r->error);
    for (size_t i = 0; i < ROWS; i++)
        tensor_set(y, i, (double)(i * 7 % CLASSES), &r->error);
    int first = (int)(r->rows ? 0 : r->number), every = (int)(r->rows ? 1 : ranks);
    tensor *xs = tensor_shard(x, first, every, &r->error),
           *ys = tensor_shard(y, first, every, &r->error);
    AUTO_FREE uint32_t *order = mem_array(ROWS, sizeof *order);
    for (uint32_t i = 0; i < ROWS; i++)
        order[i] = (uint32_t)r->from + i;
    model_data data;
    batch_result done;
    CHECK_OK(model_prepare(m, xs, ys, &data, &r->error) == 0, r->error);
    AUTO_FREE float *before = mem_dup(m->w, m->graph->values * sizeof *before);
    size_t n = r->rows ? r->rows : BATCH / ranks, steps = r->rows ? 1 : 2;
    for (size_t i = 0; i < steps; i++) {
        batch b = {.rows = order + i * n, .n = n};
        if (model_train_batch(m, &data, &b, &done, &r->error) < 0)
            break;
    }
    r->moved = memcmp(before, m->w, m->graph->values * sizeof *before) != 0;
    float *w = model_weight_values(m, &r->count);
    r->weights = mem_dup(w, r->count * sizeof *w);
    r->trained = m->graph->trained;
    tensor_free(x), tensor_free(y), tensor_free(xs), tensor_free(ys);
    model_free(m);
    return NULL;
}

static void run_all(struct rank *rank, size_t n)
{
    struct ranks *all = mem_alloc(sizeof *all);
    pthread_t thread[RANKS];
    all->n = n;
    pthread_barrier_init(&all->meet, NULL, (unsigned)n);
    for (size_t i = 0; i < n; i++) {
        rank[i].all = all;
        rank[i].number = i;
        pthread_create(&thread[i], NULL, run_rank, &rank[i]);
    }
    for (size_t i = 0; i < n; i++)
        pthread_join(thread[i], NULL);
    pthread_barrier_destroy(&all->meet);
    free(all);
}

static void check_near(const struct rank *a, const struct rank *b, size_t from, double within)
{
    double most = 0;
    CHECK_INT(a->count, b->count);
    for (size_t i = from; i < a->count; i++)
        most = fmax(most, fabs((double)a->weights[i] - (double)b->weights[i]));
    if (!(most <= within))
        tap_fail(__FILE__, __LINE__, "%g apart, at most %g", most, within);
}

static void compare(bool half, bool apart, double within)
{
    struct rank single = {.half = half, .apart = apart};
    run_all(&single, 1);
    for (size_t n = 2; n <= RANKS; n++) {
        struct rank rank[RANKS] = {0};
        for (size_t i = 0; i < n; i++)
            rank[i] = (struct rank){.half = half, .apart = apart};
        run_all(rank, n);
        check_near(&rank[0], &single, 0, within);
        // Two steps of three layers, forward and back; all ranks have the same bits.
        for (size_t i = 0; i < n; i++) {
            CHECK_INT(rank[i].sums, 12);
            CHECK(memcmp(rank[i].weights, rank[0].weights, single.count * sizeof(float)) == 0);
        }
        for (size_t i = 0; i < n; i++)
            free(rank[i].weights);
    }
    free(single.weights);
}

TEST(any_number_of_ranks_trains_as_one)
{
    compare(false, false, 1e-6);
    compare(false, true, 1e-6);
}

TEST(any_number_of_ranks_trains_as_one_in_bf16)
{
    if (!ops || !ops->has_half()) {
        printf("# bf16: not on this CPU\n");
        return;
    }
    compare(true, false, 2e-3);
    compare(true, true, 2e-3);
}

// Statistics are of all 12 rows, whoever has them; the mean of the ranks' gradients is not.
TEST(each_row_counts_once_in_statistics)
{
    struct rank single = {.rows = 12}, two[2] = {{.rows = 9}, {.rows = 3, .from = 9}};
    run_all(&single, 1);
    run_all(two, 2);
    check_near(&two[0], &single, single.trained, 1e-6);
    CHECK(memcmp(two[0].weights, two[1].weights, single.count * sizeof(float)) == 0);
    free(single.weights), free(two[0].weights), free(two[1].weights);
}

TEST(a_sum_that_fails_ends_the_step)
{
    struct rank r = {.fails = true};
    run_all(&r, 1);
    CHECK_STR(r.error.text, "rank 3 is gone");
    CHECK_INT(r.sums, 1);
    CHECK(!r.moved); // moving statistics, too
    free(r.weights);
}

int main(void)
{
#ifdef HAVE_PLUGIN
    err e;
    ops = dnn_load(tap_built("trainer/dnn/firesteel-dnn.so"), &e);
#endif
    return tap_run();
}
