// SPDX-License-Identifier: MIT
// Two ranks, as threads, that train a model with tables: what travels, and that it does not matter
// how.
#include "tests/unit/trainer/graphs.h"
#include "trainer/fit.h"
#include "trainer/nn/internal.h"

#include <pthread.h>

enum { ENTRIES = 4000, WIDTH = 8, ROWS = 48, BATCH = 12 };

struct ranks {
    pthread_barrier_t meet;
    float *sum;
    const void *mine[2];
};

struct rank {
    struct ranks *all;
    const struct test_graph *graph; // NULL: the table's
    size_t number;
    bool dense; // sparse_as_dense
    optimizer_kind optimizer;
    const param_group *groups;
    size_t group_count;
    size_t floats, bytes; // that it was asked to send
    float *weights;
    size_t count;
};

static int average(void *ctx, float *values, size_t n, const char *name, err *e)
{
    struct rank *r = ctx;
    r->floats += n;
    if (r->number == 0)
        memcpy(r->all->sum, values, n * sizeof *values);
    pthread_barrier_wait(&r->all->meet);
    for (size_t i = 0; r->number == 1 && i < n; i++)
        r->all->sum[i] = (r->all->sum[i] + values[i]) / 2;
    pthread_barrier_wait(&r->all->meet);
    memcpy(values, r->all->sum, n * sizeof *values);
    pthread_barrier_wait(&r->all->meet);
    return 0;
}

static int gather(
    void *ctx, const void *mine, void *all, const size_t *counts, const char *name, err *e)
{
    struct rank *r = ctx;
    r->bytes += counts[r->number];
    r->all->mine[r->number] = mine;
    pthread_barrier_wait(&r->all->meet);
    memcpy(all, r->all->mine[0], counts[0]);
    memcpy((char *)all + counts[0], r->all->mine[1], counts[1]);
    pthread_barrier_wait(&r->all->meet);
    return 0;
}

// Two indices, and a Dense layer on their rows.
static const struct test_graph table = {
    {INPUT(2),
        {.kind = LAYER_EMBEDDING,
            .own = &(embedding_layer){.entries = ENTRIES, .units = WIDTH},
            FROM(0)},
        {.kind = LAYER_FLATTEN, FROM(1)},
        {.kind = LAYER_DENSE,
            .own = &(dense_layer){.units = 1100, .activation = ACTIVATION_RELU},
            FROM(2)},
        {.kind = LAYER_DENSE, .own = &(dense_layer){.units = 1}, FROM(3)}},
    NUMBERS(0), NUMBERS(4)};

// The same, made after a normalisation, whose statistics lie behind all that is trained.
static const struct test_graph behind = {
    {INPUT(2),
        {.kind = LAYER_BATCH_NORMALIZATION,
            .own = &(norm_layer){.epsilon = NORM_EPSILON, .momentum = NORM_MOMENTUM},
            FROM(0)},
        {.kind = LAYER_EMBEDDING,
            .own = &(embedding_layer){.entries = ENTRIES, .units = WIDTH},
            FROM(0)},
        {.kind = LAYER_FLATTEN, FROM(2)}, {.kind = LAYER_CONCATENATE, FROM(1, 3)},
        {.kind = LAYER_DENSE, .own = &(dense_layer){.units = 1}, FROM(4)}},
    NUMBERS(0), NUMBERS(5)};

static void *run_rank(void *arg)
{
    struct rank *r = arg;
    err e;
    compile_spec spec = {.optimizer = optimizer_default(r->optimizer),
        .loss = LOSS_MEAN_SQUARED_ERROR,
        .groups = r->groups,
        .group_count = r->group_count,
        .threads = 1};
    if (r->all) {
        spec.allreduce = average;
        spec.allgather = r->dense ? NULL : gather;
        spec.allreduce_ctx = r;
        spec.ranks = 2;
        spec.rank = (int)r->number;
    }
    model *m = test_model(r->graph ? r->graph : &table, &spec);
    tensor *x = test_tensor(ROWS, &(row_shape){1, {2}}, 0, 0),
           *y = test_tensor(ROWS, &(row_shape){1, {1}}, 0.3, 0.7);
    for (size_t i = 0; i < tensor_count(x); i++)
        tensor_set(x, i, (double)(i * i * 37 % ENTRIES), &e);
    size_t rank = r->all ? r->number : 0, ranks = r->all ? 2 : 1;
    tensor *xs = tensor_shard(x, (int)rank, (int)ranks, &e);
    tensor *ys = tensor_shard(y, (int)rank, (int)ranks, &e);
    fit_spec fit = {
        .x = xs, .y = ys, .batch_size = 2 * BATCH / ranks, .epochs = 3, .no_shuffle = true};
    CHECK_OK(model_fit(m, &fit, NULL, &e) == 0, e);
    float *w = model_weight_values(m, &r->count);
    r->weights = mem_dup(w, r->count * sizeof *w);
    tensor_free(x), tensor_free(y), tensor_free(xs), tensor_free(ys);
    model_free(m);
    return NULL;
}

static void run_two(struct rank rank[2])
{
    struct ranks all = {.sum = mem_array(1 << 20, sizeof(float))};
    pthread_t thread[2];
    pthread_barrier_init(&all.meet, NULL, 2);
    for (size_t i = 0; i < 2; i++) {
        rank[i].all = &all;
        rank[i].number = i;
        pthread_create(&thread[i], NULL, run_rank, &rank[i]);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    pthread_barrier_destroy(&all.meet);
    free(all.sum);
}

static void check_near(const struct rank *a, const struct rank *b, double within)
{
    CHECK_INT(a->count, b->count);
    for (size_t i = 0; i < a->count; i++)
        CHECK_NEAR((double)a->weights[i], (double)b->weights[i], within);
}

static void forget(struct rank rank[2])
{
    free(rank[0].weights), free(rank[1].weights);
}

TEST(rows_travel_instead_of_tables_and_train_the_same)
{
    static const optimizer_kind kinds[] = {OPTIMIZER_SGD, OPTIMIZER_ADAM, OPTIMIZER_LAZY_ADAM};
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        struct rank rows[2] = {{.optimizer = kinds[k]}, {.optimizer = kinds[k]}};
        struct rank whole[2] = {
            {.optimizer = kinds[k], .dense = true}, {.optimizer = kinds[k], .dense = true}};
        struct rank single = {.optimizer = kinds[k]};
        run_two(rows);
        run_two(whole);
        run_rank(&single);
        CHECK(memcmp(rows[0].weights, rows[1].weights, rows[0].count * sizeof(float)) == 0);
        check_near(&rows[0], &whole[0], 2e-5);
        check_near(&rows[0], &single, 2e-5);
        // Six steps of at most 24 rows a rank, with a number each, and of a count.
        size_t steps = 6, rest = rows[0].floats / steps;
        CHECK(rows[0].bytes <= steps * (2 * BATCH * (WIDTH + 1) * 4 + 4));
        CHECK(rows[0].bytes > steps * BATCH * (WIDTH + 1) * 4);
        CHECK_INT(whole[0].bytes, 0);
        CHECK_INT(whole[0].floats / steps, rest + ENTRIES * WIDTH);
        forget(rows), forget(whole), free(single.weights);
    }
}

TEST(frozen_weights_stay_behind)
{
    param_group frozen[] = {PARAM_GROUP("embedding"), PARAM_GROUP("dense/kernel")};
    frozen[0].trainable = frozen[1].trainable = 0;
    struct rank all[2] = {{.dense = true}, {.dense = true}},
                some[2] = {
                    {.groups = frozen, .group_count = 2}, {.groups = frozen, .group_count = 2}};
    run_two(all);
    run_two(some);
    // dense/kernel has 16 inputs and room for 1104 units.
    CHECK_INT((all[0].floats - some[0].floats) / 6, ENTRIES * WIDTH + 16 * 1104);
    CHECK_INT(some[0].bytes, 0);
    CHECK(memcmp(some[0].weights, some[1].weights, some[0].count * sizeof(float)) == 0);
    forget(all), forget(some);
}

TEST(a_normalisation_before_a_table_does_not_make_it_travel)
{
    param_group frozen = PARAM_GROUP("embedding");
    frozen.trainable = 0;
    struct rank rows[2] = {{.graph = &behind}, {.graph = &behind}};
    struct rank whole[2] = {{.graph = &behind, .dense = true}, {.graph = &behind, .dense = true}};
    struct rank some[2] = {{.graph = &behind, .groups = &frozen, .group_count = 1},
        {.graph = &behind, .groups = &frozen, .group_count = 1}};
    run_two(rows);
    run_two(whole);
    run_two(some);
    CHECK_INT((whole[0].floats - rows[0].floats) / 6, ENTRIES * WIDTH);
    CHECK_INT((whole[0].floats - some[0].floats) / 6, ENTRIES * WIDTH);
    CHECK(rows[0].bytes > 0);
    forget(rows), forget(whole), forget(some);
}

int main(void)
{
    return tap_run();
}
