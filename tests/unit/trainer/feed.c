// SPDX-License-Identifier: MIT
// Rows that are made on a thread while the batch before trains: the bits are those of rows in
// memory, and the thread ends with the training, however that ends.
#include "trainer/feed.h"
#include "base/mem.h"
#include "tests/support/tap.h"
#include "trainer/data/npy.h"
#include "trainer/fit.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 83, SIDE = 6, NUMBERS = SIDE * SIDE };

static float number_of(size_t row, size_t i)
{
    return sinf((float)(row * 31 + i * 7)) + (float)(row % 3) * 0.3f;
}

struct maker {
    atomic_size_t made;
    float scale;   // of the numbers
    size_t broken; // the row that cannot be made
    atomic_bool *stop;
};

static int fill(void *ctx, const uint32_t *rows, size_t n, float *out, err *e)
{
    struct maker *m = ctx;
    for (size_t r = 0; r < n; r++) {
        if (rows[r] == m->broken)
            return err_set(e, ERR_INVALID, "row %zu is broken", m->broken);
        if (m->stop && atomic_load(&m->made) > ROWS / 2)
            atomic_store(m->stop, true);
        for (size_t i = 0; i < NUMBERS; i++)
            out[r * NUMBERS + i] = number_of(rows[r], i) * m->scale;
        atomic_fetch_add(&m->made, 1);
    }
    return 0;
}

struct rows {
    tensor *x, *later, *y, *w;
    struct maker maker;
    struct tensor_later how;
};

static void rows_init(struct rows *r)
{
    err e;
    size_t shape[] = {ROWS, SIDE, SIDE};
    r->maker = (struct maker){.scale = 1, .broken = SIZE_MAX};
    r->how = (struct tensor_later){&r->maker, fill};
    r->later = tensor_of_later(3, shape, &r->how, &e);
    r->x = tensor_new(TENSOR_F32, 3, shape, &e);
    r->y = tensor_new(TENSOR_I64, 1, shape, &e);
    r->w = tensor_new(TENSOR_F32, 1, shape, &e);
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t k = 0; k < NUMBERS; k++)
            ((float *)r->x->data)[i * NUMBERS + k] = number_of(i, k);
        ((int64_t *)r->y->data)[i] = (int64_t)(i % 3);
        ((float *)r->w->data)[i] = 1 + 0.1f * (float)(i % 4);
    }
}

static void rows_done(struct rows *r)
{
    tensor *all[] = {r->x, r->later, r->y, r->w};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        tensor_free(all[i]);
}

static model *new_model_of(int threads, input_path input)
{
    err e;
    const layer_spec layers[] = {{.kind = LAYER_FLATTEN},
        {.kind = LAYER_DENSE, .own = &(dense_layer){.units = 20, .activation = ACTIVATION_RELU}},
        {.kind = LAYER_DENSE, .own = &(dense_layer){.units = 3, .activation = ACTIVATION_SOFTMAX}}};
    const compile_spec spec = {.optimizer = {OPTIMIZER_ADAM, .learning_rate = 0.01, .beta_1 = 0.9,
                                   .beta_2 = 0.999, .epsilon = 1e-7},
        .input = input,
        .threads = threads};
    model *m = model_new(layers, ARRAY_LEN(layers), 3, &e);
    CHECK_OK(m && model_compile(m, &spec, &e) == 0, e);
    return m;
}

static model *new_model(int threads)
{
    return new_model_of(threads, INPUT_DENSE);
}

static fit_spec spec_of(const struct rows *r, bool later)
{
    const tensor *x = later ? r->later : r->x;
    return (fit_spec){.x = x,
        .y = r->y,
        .weights = r->w,
        .val_x = x,
        .val_y = r->y,
        .batch_size = 16,
        .val_batch_size = 10,
        .epochs = 3};
}

TEST(the_bits_are_those_of_rows_in_memory)
{
    err e;
    struct rows r;
    history h[2];
    tensor *p[2];
    rows_init(&r);
    for (int later = 0; later < 2; later++) {
        model *m = new_model(1 + later);
        fit_spec spec = spec_of(&r, later);
        CHECK_OK(model_fit(m, &spec, &h[later], &e) == 0, e);
        p[later] = model_predict(m, spec.x, NULL, &e);
        CHECK_OK(p[later] != NULL, e);
        model_free(m);
    }
    CHECK_INT(h[0].n, 3);
    CHECK_INT(h[1].n, 3);
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < h[0].epochs[i].n; k++) {
            CHECK_STR(h[1].epochs[i].items[k].name, h[0].epochs[i].items[k].name);
            CHECK_NEAR(h[1].epochs[i].items[k].value, h[0].epochs[i].items[k].value, 0);
        }
    CHECK(memcmp(p[0]->data, p[1]->data, tensor_count(p[0]) * sizeof(float)) == 0);
    // Three epochs, validated each, the last batch once more, and predicted.
    CHECK_INT(atomic_load(&r.maker.made), ROWS * 7 + ROWS % 16);
    for (int i = 0; i < 2; i++) {
        fit_history_done(&h[i]);
        tensor_free(p[i]);
    }
    rows_done(&r);
}

// A mapped tensor's rows are read from its file by the thread, whatever their type.
static void check_mapped(tensor_type type, input_path input)
{
    err e;
    struct rows r;
    history h[2];
    char path[] = "/tmp/firesteel-feed-XXXXXX";
    rows_init(&r);
    tensor *x = tensor_new(type, 3, (size_t[]){ROWS, SIDE, SIDE}, &e);
    for (size_t i = 0; i < tensor_count(x); i++)
        tensor_set(x, i, (i * 2654435761u >> 8 & 0xff) > 200, &e);
    close(mkstemp(path));
    CHECK_OK(npy_write(path, x, &e) == 0, e);
    tensor *map = npy_map(path, &e);
    CHECK_OK(map != NULL, e);
    CHECK(map->mapped && !x->mapped);
    for (int mapped = 0; mapped < 2; mapped++) {
        model *m = new_model_of(2, input);
        model_data data;
        fit_spec spec = spec_of(&r, false);
        spec.x = spec.val_x = mapped ? map : x;
        CHECK_OK(model_fit(m, &spec, &h[mapped], &e) == 0, e);
        CHECK_OK(model_prepare(m, spec.x, spec.y, &data, &e) == 0, e);
        CHECK(feed_is_needed(m, &data) == mapped);
        model_free(m);
    }
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < h[0].epochs[i].n; k++)
            CHECK_NEAR(h[1].epochs[i].items[k].value, h[0].epochs[i].items[k].value, 0);
    for (int i = 0; i < 2; i++)
        fit_history_done(&h[i]);
    unlink(path);
    tensor_free(x);
    tensor_free(map);
    rows_done(&r);
}

TEST(rows_of_a_mapped_file_are_read_on_the_thread)
{
    check_mapped(TENSOR_F32, INPUT_DENSE);
    check_mapped(TENSOR_U8, INPUT_SPARSE);
    check_mapped(TENSOR_I64, INPUT_DENSE);
}

TEST(a_row_that_cannot_be_made_ends_the_training)
{
    err e = {0};
    struct rows r;
    rows_init(&r);
    for (size_t broken = 0; broken < ROWS; broken += 41) {
        r.maker.broken = broken;
        model *m = new_model(2);
        fit_spec spec = spec_of(&r, true);
        CHECK(model_fit(m, &spec, NULL, &e) < 0);
        CHECK(strstr(e.text, "is broken"));
        CHECK(model_predict(m, r.later, NULL, &e) == NULL && strstr(e.text, "is broken"));
        model_free(m);
    }
    rows_done(&r);
}

// Only what the step did to the weights of big numbers is infinite: rows of zeros would not show
// it.
TEST(the_check_after_the_last_step_looks_at_the_rows_themselves)
{
    struct rows r;
    err e[2] = {0};
    rows_init(&r);
    r.maker.scale = 1e15f;
    for (size_t i = 0; i < ROWS * NUMBERS; i++)
        ((float *)r.x->data)[i] *= r.maker.scale;
    for (int later = 0; later < 2; later++) {
        const layer_spec layers[] = {
            {.kind = LAYER_FLATTEN}, {.kind = LAYER_DENSE, .own = &(dense_layer){.units = 1}}};
        const compile_spec how = {.optimizer = {OPTIMIZER_SGD, .learning_rate = 0.01},
            .input = INPUT_DENSE,
            .loss = LOSS_MEAN_SQUARED_ERROR};
        model *m = model_new(layers, ARRAY_LEN(layers), 3, &e[later]);
        CHECK_OK(m && model_compile(m, &how, &e[later]) == 0, e[later]);
        fit_spec spec = {.x = later ? r.later : r.x, .y = r.w, .batch_size = ROWS, .epochs = 1};
        CHECK(model_fit(m, &spec, NULL, &e[later]) < 0);
        CHECK(strstr(e[later].text, "after the last step"));
        model_free(m);
    }
    CHECK_STR(e[1].text, e[0].text);
    rows_done(&r);
}

static int end_at_two(void *ctx, size_t step, err *e)
{
    return step == 2;
}

TEST(an_interrupt_and_a_callback_end_the_thread)
{
    err e = {0};
    struct rows r;
    atomic_bool stop = false;
    rows_init(&r);
    r.maker.stop = &stop;
    model *m = new_model(2);
    fit_spec spec = spec_of(&r, true);
    spec.stop = &stop;
    CHECK(model_fit(m, &spec, NULL, &e) < 0);
    CHECK_INT(e.code, ERR_CANCELLED);
    r.maker.stop = NULL;
    spec.stop = NULL;
    spec.val_x = spec.val_y = NULL;
    spec.callbacks.train_batch_begin = end_at_two;
    CHECK_OK(model_fit(m, &spec, NULL, &e) == 0, e);
    model_free(m);
    rows_done(&r);
}

int main(void)
{
    return tap_run();
}
