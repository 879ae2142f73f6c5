// SPDX-License-Identifier: MIT
#include "trainer/fit.h"
#include "tests/support/tap.h"

#include <stdlib.h>

enum { N = 50 };

static const layer_spec layers[] = {
    {.kind = LAYER_DENSE,
        .own = &(dense_layer){.units = 20, .inputs = 4, .activation = ACTIVATION_RELU}},
    {.kind = LAYER_DENSE, .own = &(dense_layer){.units = 3, .activation = ACTIVATION_SOFTMAX}}};

struct fixture {
    model *m;
    tensor *x, *y;
    buf text;   // the text that the sink got
    buf calls;  // the callbacks that were called
    int answer; // the answer of epoch_end
    atomic_bool stop;
};

static void setup(struct fixture *f)
{
    err e;
    *f = (struct fixture){.m = model_new(layers, 2, 1, &e)};
    compile_spec c = {.optimizer = optimizer_default(OPTIMIZER_ADAM), .metrics = METRIC(ACCURACY)};
    c.optimizer.learning_rate = 0.05;
    CHECK_OK(f->m && model_compile(f->m, &c, &e) == 0, e);
    f->x = tensor_new(TENSOR_F32, 2, (size_t[]){N, 4}, &e);
    f->y = tensor_new(TENSOR_I64, 2, (size_t[]){N, 1}, &e);
    for (size_t i = 0; i < N; i++) {
        tensor_set(f->x, i * 4 + i % 3, 1, &e);
        tensor_set(f->x, i * 4 + 3, (double)i / N, &e);
        tensor_set(f->y, i, (double)(i % 3), &e);
    }
}

static void teardown(struct fixture *f)
{
    model_free(f->m);
    tensor_free(f->x);
    tensor_free(f->y);
    buf_done(&f->text);
    buf_done(&f->calls);
}

static void to_text(void *ctx, const char *text, size_t n)
{
    buf_add(&((struct fixture *)ctx)->text, text, n);
}

static fit_spec spec_of(struct fixture *f)
{
    return (fit_spec){.x = f->x,
        .y = f->y,
        .val_x = f->x,
        .val_y = f->y,
        .batch_size = 20,
        .epochs = 2,
        .verbose = 2,
        .sink = {f, to_text}};
}

// Digits are replaced by 0, so that lines can be compared.
static const char *shape_of(buf *text)
{
    for (size_t i = 0; i < text->len; i++)
        if (text->data[i] >= '1' && text->data[i] <= '9')
            text->data[i] = '0';
    return buf_cstr(text);
}

TEST(lines_are_keras_lines)
{
    err e;
    struct fixture f;
    history h;
    setup(&f);
    fit_spec spec = spec_of(&f);
    CHECK_OK(model_fit(f.m, &spec, &h, &e) == 0, e);
    CHECK_HAS(buf_cstr(&f.text), "Epoch 1/2\n3/3 - 0s - loss: ");
    CHECK_HAS(buf_cstr(&f.text), "Epoch 2/2\n3/3 - 0s - loss: ");
    CHECK_STR(shape_of(&f.text),
        "Epoch 0/0\n0/0 - 0s - loss: 0.0000 - accuracy: 0.0000 - val_loss: "
        "0.0000 - val_accuracy: 0.0000\nEpoch 0/0\n0/0 - 0s - loss: 0.0000 - "
        "accuracy: 0.0000 - val_loss: 0.0000 - val_accuracy: 0.0000\n");
    CHECK_INT(h.n, 2);
    double first, last;
    CHECK(logs_get(&h.epochs[0], "loss", &first) && logs_get(&h.epochs[1], "loss", &last));
    CHECK(last < first);
    fit_history_done(&h);
    teardown(&f);
}

TEST(small_numbers_are_shown_with_an_exponent)
{
    AUTO_LOGS l = {0};
    buf out = {0};
    logs_set(&l, "loss", 0.33251);
    logs_set(&l, "lr", 0.001);
    logs_set(&l, "tiny", 0.0009999);
    logs_set(&l, "loss", 12.5);
    logs_set(&l, "lost", -(double)NAN);
    logs_format(&l, &out);
    CHECK_STR(buf_cstr(&out), " - loss: 12.5000 - lr: 0.0010 - tiny: 9.9990e-04 - lost: nan");
    buf_done(&out);
}

TEST(evaluate_shows_its_line)
{
    err e;
    struct fixture f;
    AUTO_LOGS l = {0};
    double loss, accuracy;
    setup(&f);
    evaluate_spec spec = {.x = f.x, .y = f.y, .verbose = 2, .sink = {&f, to_text}};
    CHECK_OK(model_evaluate(f.m, &spec, &l, &e) == 0, e);
    CHECK(logs_get(&l, "loss", &loss) && logs_get(&l, "accuracy", &accuracy));
    char want[100];
    snprintf(want, sizeof want, "2/2 - 0s - loss: %.4f - accuracy: %.4f\n", loss, accuracy);
    CHECK_STR(buf_cstr(&f.text), want);
    teardown(&f);
}

TEST(the_bar_ends_full)
{
    err e;
    struct fixture f;
    setup(&f);
    fit_spec spec = spec_of(&f);
    spec.verbose = 1;
    CHECK_OK(model_fit(f.m, &spec, NULL, &e) == 0, e);
    CHECK_HAS(buf_cstr(&f.text), "3/3 [==============================] - 0s ");
    CHECK_HAS(buf_cstr(&f.text), "ms/step - loss: ");
    teardown(&f);
}

TEST(verbose_0_says_nothing)
{
    err e;
    struct fixture f;
    setup(&f);
    fit_spec spec = spec_of(&f);
    spec.verbose = 0;
    CHECK_OK(model_fit(f.m, &spec, NULL, &e) == 0, e);
    CHECK_INT(f.text.len, 0);
    teardown(&f);
}

static int on_train_begin(void *ctx, err *e)
{
    buf_str(&((struct fixture *)ctx)->calls, "<");
    return 0;
}

static int on_train_end(void *ctx, err *e)
{
    buf_str(&((struct fixture *)ctx)->calls, ">");
    return 0;
}

static int on_epoch_begin(void *ctx, int epoch, err *e)
{
    buf_fmt(&((struct fixture *)ctx)->calls, "e%d", epoch);
    return 0;
}

static int on_epoch_end(void *ctx, int epoch, logs *l, err *e)
{
    struct fixture *f = ctx;
    buf_fmt(&f->calls, "E%d", epoch);
    logs_set(l, "lr", model_learning_rate(f->m));
    return f->answer < 0 ? err_set(e, ERR_FAILED, "the callback failed") : f->answer;
}

static int on_batch_begin(void *ctx, size_t batch, err *e)
{
    buf_fmt(&((struct fixture *)ctx)->calls, "b%zu", batch);
    return 0;
}

static int on_batch_end(void *ctx, size_t batch, const logs *l, err *e)
{
    double loss;
    buf_str(&((struct fixture *)ctx)->calls, logs_get(l, "loss", &loss) ? "B" : "?");
    return 0;
}

static fit_spec with_callbacks(struct fixture *f)
{
    fit_spec spec = spec_of(f);
    spec.callbacks = (fit_callbacks){f, on_train_begin, on_train_end, on_epoch_begin, on_epoch_end,
        on_batch_begin, on_batch_end};
    return spec;
}

TEST(callbacks_come_in_order_and_change_the_line)
{
    err e;
    struct fixture f;
    history h;
    double lr;
    setup(&f);
    fit_spec spec = with_callbacks(&f);
    CHECK_OK(model_fit(f.m, &spec, &h, &e) == 0, e);
    CHECK_STR(buf_cstr(&f.calls), "<e0b0Bb1Bb2BE0e1b0Bb1Bb2BE1>");
    CHECK_HAS(buf_cstr(&f.text), " - lr: 0.0500\n");
    CHECK(logs_get(&h.epochs[1], "lr", &lr));
    CHECK_NEAR(lr, 0.05, 0);
    fit_history_done(&h);
    teardown(&f);
}

TEST(a_callback_stops_the_training)
{
    err e;
    struct fixture f;
    history h;
    setup(&f);
    f.answer = 1;
    fit_spec spec = with_callbacks(&f);
    CHECK_OK(model_fit(f.m, &spec, &h, &e) == 0, e);
    CHECK_STR(buf_cstr(&f.calls), "<e0b0Bb1Bb2BE0>");
    CHECK_INT(h.n, 1);
    fit_history_done(&h);
    teardown(&f);
}

TEST(a_failing_callback_is_an_error)
{
    err e;
    struct fixture f;
    setup(&f);
    f.answer = -1;
    fit_spec spec = with_callbacks(&f);
    CHECK(model_fit(f.m, &spec, NULL, &e) < 0);
    CHECK_STR(e.text, "the callback failed");
    teardown(&f);
}

static int stop_now(void *ctx, size_t batch, err *e)
{
    struct fixture *f = ctx;
    if (batch == 1)
        atomic_store(&f->stop, true);
    return 0;
}

TEST(the_stop_flag_is_seen_before_the_next_batch)
{
    err e;
    struct fixture f;
    setup(&f);
    fit_spec spec = spec_of(&f);
    spec.stop = &f.stop;
    spec.callbacks = (fit_callbacks){.ctx = &f, .train_batch_begin = stop_now};
    CHECK(model_fit(f.m, &spec, NULL, &e) < 0);
    CHECK_INT(e.code, ERR_CANCELLED);
    CHECK_INT(model_steps(f.m), 2);
    evaluate_spec evaluate = {.x = f.x, .y = f.y, .stop = &f.stop};
    AUTO_LOGS l = {0};
    CHECK(model_evaluate(f.m, &evaluate, &l, &e) < 0);
    CHECK(!model_predict(f.m, f.x, &f.stop, &e));
    teardown(&f);
}

TEST(it_learns_and_predicts)
{
    err e;
    struct fixture f;
    setup(&f);
    fit_spec spec = spec_of(&f);
    spec.epochs = 20;
    CHECK_OK(model_fit(f.m, &spec, NULL, &e) == 0, e);
    tensor *p = model_predict(f.m, f.x, NULL, &e);
    CHECK_OK(p, e);
    CHECK_INT(p->shape[0], N);
    CHECK_INT(p->shape[1], 3);
    tensor *best = tensor_argmax_rows(p, &e);
    for (size_t i = 0; i < N; i++)
        CHECK_NEAR(tensor_at(best, i), (double)(i % 3), 0);
    CHECK_NEAR(tensor_sum(p), N, 1e-3);
    tensor_free(p);
    tensor_free(best);
    teardown(&f);
}

TEST(a_second_fit_goes_on_where_the_first_ended)
{
    err e;
    struct fixture a, b;
    size_t n;
    setup(&a);
    setup(&b);
    fit_spec spec = spec_of(&a);
    spec.epochs = 4;
    CHECK_OK(model_fit(a.m, &spec, NULL, &e) == 0, e);
    spec = spec_of(&b);
    CHECK_OK(model_fit(b.m, &spec, NULL, &e) == 0, e);
    spec.initial_epoch = 2;
    spec.epochs = 4;
    CHECK_OK(model_fit(b.m, &spec, NULL, &e) == 0, e);
    float *x = model_weight_values(a.m, &n), *y = model_weight_values(b.m, &n);
    CHECK(memcmp(x, y, n * sizeof *x) == 0);
    CHECK_HAS(buf_cstr(&b.text), "Epoch 4/4\n");
    teardown(&a);
    teardown(&b);
}

// The message with which a training of these data ends.
static const char *failed_fit(struct fixture *f, err *e)
{
    fit_spec spec = spec_of(f);
    spec.no_shuffle = true;
    *e = (err){0};
    CHECK(model_fit(f->m, &spec, NULL, e) < 0);
    CHECK_INT(e->code, ERR_FAILED);
    return e->text;
}

TEST(nan_in_the_data_ends_the_training)
{
    err e;
    struct fixture f;
    setup(&f);
    tensor_set(f.x, 27 * 4 + 2, NAN, &e);
    CHECK_STR(failed_fit(&f, &e), "the loss is nan at step 2 of epoch 1: row 27 of x holds nan");
    CHECK_INT(model_steps(f.m), 2);
    teardown(&f);
    setup(&f);
    tensor_set(f.x, 7 * 4, -INFINITY, &e);
    CHECK_STR(failed_fit(&f, &e), "the loss is nan at step 1 of epoch 1: row 7 of x holds -inf");
    teardown(&f);
}

TEST(a_loss_that_the_last_step_ruins_is_noticed)
{
    err e = {0};
    struct fixture f;
    setup(&f);
    CHECK_OK(model_set_learning_rate(f.m, 1e38, &e) == 0, e);
    fit_spec spec = {.x = f.x, .y = f.y, .batch_size = tensor_rows(f.x), .epochs = 1};
    CHECK(model_fit(f.m, &spec, NULL, &e) < 0);
    CHECK_INT(model_steps(f.m), 1);
    CHECK_HAS(e.text, "after the last step: the outputs of dense");
    teardown(&f);
}

TEST(the_layer_whose_numbers_are_not_finite_is_named)
{
    err e;
    struct fixture f;
    static const char *const names[] = {"dense (Dense(20))", "dense_1 (Dense(3))"};
    for (size_t layer = 0; layer < 2; layer++) {
        AUTO_BUF want = {0};
        setup(&f);
        tensor *w = model_weight(f.m, 2 * layer, &e);
        for (size_t i = 0; i < tensor_count(w); i++)
            tensor_set(w, i, i % 2 ? 3e38 : -3e38, &e);
        CHECK_OK(model_set_weight(f.m, 2 * layer, w, &e) == 0, e);
        tensor_free(w);
        buf_fmt(&want, " at step 1 of epoch 1: the outputs of %s are the first", names[layer]);
        CHECK_HAS(failed_fit(&f, &e), buf_cstr(&want));
        CHECK_HAS(e.text, "smaller learning rate");
        teardown(&f);
    }
}

TEST(a_learning_rate_that_is_far_too_great_ends_the_training)
{
    err e;
    struct fixture f;
    setup(&f);
    CHECK_OK(model_set_learning_rate(f.m, 1e30, &e) == 0, e);
    CHECK_HAS(failed_fit(&f, &e), "at step 2 of epoch 1: the outputs of dense");
    teardown(&f);
}

// As Keras's TerminateOnNaN does: the training ends, and its history is there.
static int end_on_nan(void *ctx, size_t batch, const logs *l, err *e)
{
    double loss;
    return logs_get(l, "loss", &loss) && !isfinite(loss);
}

TEST(a_callback_may_end_a_training_without_a_finite_loss)
{
    err e;
    struct fixture f;
    history h;
    double loss = 0;
    setup(&f);
    tensor_set(f.x, 2, NAN, &e);
    fit_spec spec = spec_of(&f);
    spec.callbacks = (fit_callbacks){.ctx = &f, .train_batch_end = end_on_nan};
    CHECK_OK(model_fit(f.m, &spec, &h, &e) == 0, e);
    CHECK_INT(h.n, 1);
    CHECK(logs_get(&h.epochs[0], "loss", &loss) && isnan(loss));
    fit_history_done(&h);
    teardown(&f);
}

TEST(a_second_fit_has_another_order)
{
    err e;
    struct fixture a, b;
    size_t n;
    setup(&a);
    setup(&b);
    fit_spec spec = spec_of(&a);
    spec.epochs = 3;
    CHECK_OK(model_fit(a.m, &spec, NULL, &e) == 0, e);
    spec = spec_of(&b);
    spec.epochs = 1;
    for (int i = 0; i < 3; i++)
        CHECK_OK(model_fit(b.m, &spec, NULL, &e) == 0, e);
    float *x = model_weight_values(a.m, &n), *y = model_weight_values(b.m, &n);
    CHECK(memcmp(x, y, n * sizeof *x) == 0); // thrice one epoch is three epochs
    CHECK_INT(model_epochs(b.m), 3);
    teardown(&a);
    teardown(&b);
}

TEST(validation_needs_both_and_the_right_shape)
{
    err e;
    struct fixture f;
    setup(&f);
    fit_spec spec = spec_of(&f);
    spec.val_y = NULL;
    CHECK(model_fit(f.m, &spec, NULL, &e) < 0);
    CHECK_HAS(e.text, "needs both x and y");
    spec.val_y = f.y;
    tensor *wrong = tensor_reshape(f.x, 2, (int64_t[]){25, 8}, &e);
    spec.val_x = wrong;
    CHECK(model_fit(f.m, &spec, NULL, &e) < 0);
    CHECK_STR(e.text, "validation data: dense expects 4 inputs, got 8 (rows of shape (8,))");
    tensor_free(wrong);
    teardown(&f);
}

TEST(steps_per_epoch_limits)
{
    struct fixture f;
    err e;
    setup(&f);
    fit_spec spec = spec_of(&f);
    CHECK_INT(fit_steps(&spec), 3);
    spec.steps_per_epoch = 2;
    CHECK_INT(fit_steps(&spec), 2);
    CHECK_OK(model_fit(f.m, &spec, NULL, &e) == 0, e);
    CHECK_INT(model_steps(f.m), 4);
    teardown(&f);
}

int main(void)
{
    return tap_run();
}
