// SPDX-License-Identifier: MIT
#include "base/os/available.h"
#include "tests/support/tap.h"
#include "trainer/data/order.h"
#include "trainer/fit.h"
#include "trainer/nn/plan/objective.h"
#include "trainer/nn/train.h"
#include "trainer/tensor/arithmetic.h"
#include "trainer/watch.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define FLATTEN(...)                                                                               \
    {                                                                                              \
        .kind = LAYER_FLATTEN, .own = &(shape_layer)                                               \
        {                                                                                          \
            .dims = 2, .size = { __VA_ARGS__ }                                                     \
        }                                                                                          \
    }
#define DENSE(n, f)                                                                                \
    {                                                                                              \
        .kind = LAYER_DENSE, .own = &(dense_layer)                                                 \
        {                                                                                          \
            .units = n, .activation = ACTIVATION_##f                                               \
        }                                                                                          \
    }

static const layer_spec mlp[] = {FLATTEN(8, 9), DENSE(150, RELU), DENSE(10, SOFTMAX)};

enum { N = 96 };

// N rows of bytes in the shape (8, 9), three quarters zeros, with classes that depend on them.
static tensor *rows_x(void)
{
    err e;
    random_state r = random_from(1, 1);
    tensor *t = tensor_new(TENSOR_U8, 3, (size_t[]){N, 8, 9}, &e);
    for (size_t i = 0; i < tensor_count(t); i++) {
        uint8_t value = (uint8_t)random_next(&r);
        ((uint8_t *)t->data)[i] = random_unit(&r) < 0.75f ? 0 : value;
    }
    tensor *scaled = tensor_scaled(t, 1 / 255.0f, &e);
    tensor_free(t);
    return scaled;
}

static tensor *rows_y(void)
{
    err e;
    tensor *t = tensor_new(TENSOR_U8, 1, (size_t[]){N}, &e);
    for (size_t i = 0; i < N; i++)
        ((uint8_t *)t->data)[i] = (uint8_t)(i % 10);
    return t;
}

static model *compiled(const layer_spec *layers, size_t n, compile_spec spec)
{
    err e;
    model *m = model_new(layers, n, 7, &e);
    if (!spec.optimizer.learning_rate)
        spec.optimizer = optimizer_default(OPTIMIZER_ADAM);
    spec.metrics = METRIC(ACCURACY);
    CHECK_OK(m && model_compile(m, &spec, &e) == 0, e);
    return m;
}

static void check_refused(const layer_spec *layers, size_t n, const char *message)
{
    err e = {0};
    CHECK(!model_new(layers, n, 1, &e));
    CHECK_INT(e.code, ERR_USAGE);
    CHECK_HAS(e.text, message);
}

#define REFUSED(message, ...)                                                                      \
    check_refused(                                                                                 \
        (layer_spec[]){__VA_ARGS__}, sizeof((layer_spec[]){__VA_ARGS__}) / sizeof *mlp, message)

TEST(layers_that_do_not_go_together)
{
    check_refused(NULL, 0, "a model needs a layer");
    REFUSED("a model needs a layer with weights", FLATTEN(2, 3));
    REFUSED("Dense(0) must have between", DENSE(0, RELU));
    REFUSED("Dropout(1) must have a rate",
        {.kind = LAYER_DROPOUT, .own = &(dropout_layer){.rate = 1}}, DENSE(3, SOFTMAX));
    REFUSED("dense_1 expects 100 inputs, got 128",
        {.kind = LAYER_DENSE, .own = &(dense_layer){.units = 128, .inputs = 784}},
        {.kind = LAYER_DENSE, .own = &(dense_layer){.units = 10, .inputs = 100}});
    REFUSED("two layers have the name \"a\"",
        {.kind = LAYER_DENSE, .own = &(dense_layer){.units = 2}, .name = "a"},
        {.kind = LAYER_DENSE, .own = &(dense_layer){.units = 2}, .name = "a"});
}

static void check_data(model *m, const tensor *x, const tensor *y, const char *message)
{
    err e = {0};
    model_data data;
    CHECK(model_prepare(m, x, y, &data, &e) < 0);
    CHECK_INT(e.code, ERR_USAGE);
    CHECK_STR(e.text, message);
}

TEST(data_that_does_not_fit)
{
    err e;
    model *m = compiled((layer_spec[]){FLATTEN(28, 28), DENSE(128, RELU), DENSE(10, SOFTMAX)}, 3,
        (compile_spec){0});
    tensor *x = tensor_new(TENSOR_F32, 2, (size_t[]){4, 785}, &e);
    tensor *good = tensor_new(TENSOR_F32, 3, (size_t[]){4, 28, 28}, &e);
    tensor *y = tensor_new(TENSOR_I64, 1, (size_t[]){4}, &e);
    tensor *three = tensor_slice(y, 0, 3, &e);
    tensor *wide = tensor_new(TENSOR_F32, 2, (size_t[]){4, 10}, &e);
    check_data(m, x, y, "flatten expects rows of shape (28, 28), got (785,)");
    check_data(m, good, three, "x has 4 rows, but y has 3");
    check_data(
        m, good, wide, "sparse_categorical_crossentropy expects y of shape (n, 1), got (4, 10)");
    check_data(m, y, y, "x must have rows of numbers, its shape is (4,)");
    tensor_set(y, 2, 10, &e);
    check_data(
        m, good, y, "label 10 at index 2 is out of range: the model has 10 classes (0 to 9)");
    tensor_set(y, 2, -1, &e);
    check_data(
        m, good, y, "label -1 at index 2 is out of range: the model has 10 classes (0 to 9)");
    model *flat = compiled((layer_spec[]){DENSE(10, SOFTMAX)}, 1, (compile_spec){0});
    check_data(flat, good, y,
        "dense has softmax, which expects rows of one dimension, got (28, 28): put Flatten before");
    model *raw = model_new(mlp, 3, 1, &e);
    check_data(raw, good, y, "the model was not compiled: call compile first");
    tensor_free(x), tensor_free(good), tensor_free(y), tensor_free(three), tensor_free(wide);
    model_free(m), model_free(flat), model_free(raw);
}

// A model of 2 outputs, and targets whose row 3 holds `value`.
static void check_target(loss_kind loss, activation f, bool accuracy, double value, const char *why)
{
    err e = {0};
    model_data data;
    compile_spec c = {.optimizer = optimizer_default(OPTIMIZER_SGD),
        .loss = loss,
        .metrics = accuracy ? METRIC(ACCURACY) : 0};
    model *m = model_new((layer_spec[]){{.kind = LAYER_DENSE,
                             .own = &(dense_layer){.inputs = 2, .units = 2, .activation = f}}},
        1, 1, &e);
    tensor *x = tensor_new(TENSOR_F32, 2, (size_t[]){5, 2}, &e);
    tensor *y = tensor_new(TENSOR_F32, 2, (size_t[]){5, 2}, &e);
    CHECK_OK(model_compile(m, &c, &e) == 0, e);
    CHECK_OK(model_prepare(m, x, y, &data, &e) == 0, e);
    tensor_set(y, 3 * 2 + 1, value, &e);
    int result = model_prepare(m, x, y, &data, &e);
    if (why)
        CHECK_HAS(e.text, why);
    CHECK_INT(result, why ? -1 : 0);
    tensor_free(x), tensor_free(y);
    model_free(m);
}

TEST(targets_outside_of_a_losss_domain)
{
    const loss_kind yes = LOSS_BINARY_CROSSENTROPY, some = LOSS_CATEGORICAL_CROSSENTROPY,
                    mse = LOSS_MEAN_SQUARED_ERROR;
    check_target(yes, ACTIVATION_SIGMOID, true, 0.25, NULL);
    check_target(yes, ACTIVATION_SIGMOID, true, 2,
        "row 3 of y holds 2: binary_crossentropy takes targets from 0 to 1");
    check_target(yes, ACTIVATION_SIGMOID, true, -4, "row 3 of y holds -4");
    check_target(some, ACTIVATION_SOFTMAX, false, 1.5, "row 3 of y holds 1.5");
    check_target(some, ACTIVATION_SOFTMAX, false, NAN, "row 3 of y holds nan");
    check_target(mse, ACTIVATION_LINEAR, false, -1000, NULL);
    check_target(mse, ACTIVATION_LINEAR, false, -NAN, "row 3 of y holds nan");
    check_target(mse, ACTIVATION_LINEAR, false, INFINITY, "row 3 of y holds inf");
}

TEST(a_regression_has_no_accuracy)
{
    const loss_kind mse = LOSS_MEAN_SQUARED_ERROR;
    check_target(mse, ACTIVATION_LINEAR, true, 1, NULL); // classes, as numbers
    check_target(mse, ACTIVATION_LINEAR, true, 0.5,
        "the metric \"accuracy\" is for classes, but row 3 of y holds 0.5");
}

// One row of seven outputs, of class 0, whose own output is nan.
TEST(a_class_of_nan_is_in_no_top)
{
    enum { UNITS = 7, LD = 16 };
    err e = {0};
    watch w;
    compile_spec spec = {.loss = LOSS_SPARSE_CATEGORICAL_CROSSENTROPY,
        .metrics = METRIC(TOP_K) | METRIC(ACC) | METRIC(SPARSE_ACCURACY)};
    _Alignas(64) float z[LD] = {NAN, 1, 2, 3, 4, 5, 6}, d[LD], log_sum[1];
    tensor *y = tensor_new(TENSOR_I64, 1, (size_t[]){1}, &e);
    tensor *p = tensor_new(TENSOR_F32, 2, (size_t[]){1, UNITS}, &e);
    memcpy(p->data, z, UNITS * sizeof *z);
    CHECK_OK(topk_watch(&w, "top", 5, true, &e) == 0, e);
    w.ops->reset(w.ctx);
    CHECK_OK(w.ops->add(w.ctx, y, p, &e) == 0, e);
    CHECK(w.ops->value(w.ctx) == 0);
    watch_done(&w);
    objective o = {.cpu = cpu_choose(NULL, &e),
        .spec = &spec,
        .f = ACTIVATION_SOFTMAX,
        .z = z,
        .d = d,
        .ld = LD,
        .rows = 1,
        .units = UNITS,
        .y = y,
        .row = (uint32_t[]){0},
        .log_sum = log_sum};
    objective_run(&o, true);
    CHECK(o.metric[METRIC_TOP_K].n == 1 && o.metric[METRIC_TOP_K].sum == 0);
    CHECK_INT(o.formulas, 2); // both accuracies have one formula
    CHECK(o.metric[METRIC_ACCURACY].n == 1);
    tensor_free(y), tensor_free(p);
}

TEST(loss_and_last_layer_must_go_together)
{
    err e;
    model *m = model_new((layer_spec[]){DENSE(10, RELU)}, 1, 1, &e);
    compile_spec c = {.optimizer = optimizer_default(OPTIMIZER_ADAM)};
    CHECK(model_compile(m, &c, &e) < 0);
    CHECK_STR(e.text,
        "sparse_categorical_crossentropy needs softmax as the last layer's activation "
        "(or from_logits), not relu");
    c.loss = LOSS_MEAN_SQUARED_ERROR;
    c.optimizer.learning_rate = -1;
    CHECK(model_compile(m, &c, &e) < 0);
    CHECK_HAS(e.text, "learning_rate must be at least 0, not -1");
    c.optimizer.learning_rate = 1;
    c.cpu = "mmx";
    CHECK(model_compile(m, &c, &e) < 0);
    CHECK_HAS(e.text, "unknown instruction set");
    model_free(m);
}

// The weights alone would fit, but not with Adam's two moments beside them.
enum { TIMES = 4, WIDTH_IN = 5, WIDTH_OUT = 3, OUTS = TIMES * WIDTH_OUT };

// A Dense over rows of (4, 5), then Flatten: what the loss sees is Flatten's, which has no
// activation. told: the layer has an input_shape.
static model *flattened(activation f, bool told, compile_spec spec, err *e)
{
    layer_spec layers[] = {
        {.kind = LAYER_DENSE, .own = &(dense_layer){.units = WIDTH_OUT, .activation = f}},
        {.kind = LAYER_FLATTEN}};
    if (told)
        layers[0].in = (row_shape){2, {TIMES, WIDTH_IN}};
    spec.optimizer = optimizer_default(OPTIMIZER_SGD);
    spec.optimizer.learning_rate = 1;
    model *m = model_new(layers, 2, 7, e);
    if (m && model_compile(m, &spec, e) == 0)
        return m;
    model_free(m);
    return NULL;
}

static tensor *some_numbers(int dims, const size_t *shape)
{
    err e;
    tensor *t = tensor_new(TENSOR_F32, dims, shape, &e);
    for (size_t i = 0; i < tensor_count(t); i++)
        ((float *)t->data)[i] = (float)sin(0.3 + 0.7 * (double)i);
    return t;
}

// The loss of N rows, and the gradient of the kernel, from the formula of the losses.
static double formula(loss_kind loss, activation f, const float *x, const float *y, const float *w,
    double slopes[WIDTH_IN * WIDTH_OUT])
{
    double sum = 0;
    memset(slopes, 0, WIDTH_IN * WIDTH_OUT * sizeof *slopes);
    for (size_t i = 0; i < N * OUTS; i++) {
        const float *in = x + i / WIDTH_OUT * WIDTH_IN;
        double z = 0, slope;
        for (size_t k = 0; k < WIDTH_IN; k++)
            z += (double)(in[k] * w[k * WIDTH_OUT + i % WIDTH_OUT]);
        double target = (double)y[i], p = 1 / (1 + exp(-z));
        double out = f == ACTIVATION_SIGMOID ? p : z;
        if (loss == LOSS_BINARY_CROSSENTROPY) {
            sum += -target * log(p) - (1 - target) * log(1 - p);
            slope = p - target;
        } else {
            sum += (out - target) * (out - target);
            slope = 2 * (out - target) * (f == ACTIVATION_SIGMOID ? p * (1 - p) : 1);
        }
        for (size_t k = 0; k < WIDTH_IN; k++)
            slopes[k * WIDTH_OUT + i % WIDTH_OUT] += slope * (double)in[k] / (N * OUTS);
    }
    return sum / OUTS;
}

static void check_flattened(compile_spec spec, activation f, bool told)
{
    err e;
    model_data data;
    batch_result r;
    uint32_t rows[N];
    double slopes[WIDTH_IN * WIDTH_OUT];
    tensor *x = some_numbers(3, (size_t[]){N, TIMES, WIDTH_IN});
    tensor *y = tensor_new(TENSOR_F32, 2, (size_t[]){N, OUTS}, &e);
    tensor *w = some_numbers(2, (size_t[]){WIDTH_IN, WIDTH_OUT}), *after;
    for (size_t i = 0; i < N * OUTS; i++)
        ((float *)y->data)[i] = i * 7 % 5 < 2;
    for (uint32_t i = 0; i < N; i++)
        rows[i] = i;
    const batch all = {.rows = rows, .n = N};
    model *m = flattened(f, told, spec, &e);
    CHECK_OK(m && model_prepare(m, x, y, &data, &e) == 0, e);
    CHECK_OK(model_set_weight(m, 0, w, &e) == 0, e);
    double loss = formula(spec.loss, f, x->data, y->data, w->data, slopes);
    CHECK_OK(model_test_batch(m, &data, &all, &r, &e) == 0, e);
    CHECK_NEAR(r.loss_sum, loss, 1e-4);
    CHECK_OK(model_train_batch(m, &data, &all, &r, &e) == 0, e);
    CHECK_NEAR(r.loss_sum, loss, 1e-4);
    after = model_weight(m, 0, &e);
    for (size_t i = 0; i < tensor_count(w); i++)
        CHECK_NEAR(tensor_at(after, i), tensor_at(w, i) - slopes[i], 1e-5);
    tensor_free(x), tensor_free(y), tensor_free(w), tensor_free(after);
    model_free(m);
}

TEST(a_loss_after_flatten_takes_what_flatten_puts_out)
{
    for (int told = 0; told < 2; told++) {
        check_flattened((compile_spec){.loss = LOSS_BINARY_CROSSENTROPY, .from_logits = true},
            ACTIVATION_LINEAR, told);
        check_flattened((compile_spec){.loss = LOSS_MEAN_SQUARED_ERROR}, ACTIVATION_SIGMOID, told);
    }
}

// Probabilities would be taken for logits. Without a shape the data tells it.
TEST(a_sigmoid_over_rows_before_flatten_is_not_the_last_layer_s)
{
    static const char why[] = "binary_crossentropy needs sigmoid as the last layer's activation "
                              "(or from_logits), not linear";
    const compile_spec spec = {.loss = LOSS_BINARY_CROSSENTROPY};
    err e = {0};
    model_data data;
    CHECK(!flattened(ACTIVATION_SIGMOID, true, spec, &e));
    CHECK_STR(e.text, why);
    tensor *deep = some_numbers(3, (size_t[]){N, TIMES, WIDTH_IN});
    tensor *flat = some_numbers(2, (size_t[]){N, WIDTH_IN});
    tensor *y = tensor_new(TENSOR_F32, 2, (size_t[]){N, OUTS}, &e);
    tensor *narrow = tensor_new(TENSOR_F32, 2, (size_t[]){N, WIDTH_OUT}, &e);
    model *m = flattened(ACTIVATION_SIGMOID, false, spec, &e);
    CHECK_OK(m, e);
    CHECK_INT(model_prepare(m, deep, y, &data, &e), -1);
    CHECK_STR(e.text, why);
    CHECK(!model_is_built(m));
    CHECK_OK(model_prepare(m, flat, narrow, &data, &e) == 0, e); // here Flatten changes nothing
    tensor_free(deep), tensor_free(flat), tensor_free(y), tensor_free(narrow);
    model_free(m);
}

TEST(a_model_larger_than_memory_is_refused)
{
    err e;
    size_t free = memory_available("/"), units = (size_t)sqrt((double)free / 4 / 2);
    if (free == SIZE_MAX || units > 1 << 16)
        SKIP("this machine has too much memory");
    units = (units + 63) / 64 * 64;
    model *m = model_new(
        (layer_spec[]){{.kind = LAYER_DENSE, .own = &(dense_layer){.units = units}}}, 1, 1, &e);
    compile_spec c = {
        .optimizer = optimizer_default(OPTIMIZER_ADAM), .loss = LOSS_MEAN_SQUARED_ERROR};
    CHECK_OK(m && model_compile(m, &c, &e) == 0, e);
    CHECK(model_build(m, 1, &units, &e) < 0);
    CHECK_INT(e.code, ERR_LIMIT);
    CHECK_HAS(e.text, "the weights and the optimizer's state need ");
    CHECK_HAS(e.text, " GiB of memory, but only ");
    CHECK(!model_is_built(m));
    model_free(m);
    layer_spec wide = {
        .kind = LAYER_DENSE, .own = &(dense_layer){.units = 2 * units, .inputs = 2 * units}};
    CHECK(!model_new(&wide, 1, 1, &e));
    CHECK_HAS(e.text, "the weights need ");
}

TEST(names_are_found_or_listed)
{
    err e;
    activation a;
    loss_kind l;
    optimizer_kind o;
    layer_kind k;
    CHECK(activation_parse("none", &a, &e) == 0 && a == ACTIVATION_LINEAR);
    CHECK(loss_parse("mse", &l, &e) == 0 && l == LOSS_MEAN_SQUARED_ERROR);
    CHECK(optimizer_parse("adam", &o, &e) == 0 && o == OPTIMIZER_ADAM);
    CHECK(layer_kind_parse("Dense", &k, &e) == 0 && k == LAYER_DENSE);
    CHECK(activation_parse("swish", &a, &e) == 0 && a == ACTIVATION_SILU);
    CHECK(activation_parse("mish", &a, &e) < 0);
    CHECK_STR(e.text, "unknown activation \"mish\" (known: linear, relu, sigmoid, tanh, softmax, "
                      "gelu, silu, elu, selu, leaky_relu, softplus)");
    CHECK(optimizer_parse("lion", &o, &e) < 0);
    CHECK_STR(
        e.text, "unknown optimizer \"lion\" (known: SGD, Adam, AdamW, RMSprop, Adagrad, LazyAdam)");
}

TEST(weights_are_read_and_written_by_name)
{
    err e;
    buf name = {0};
    model *m = compiled(mlp, 3, (compile_spec){0});
    static const char *const names[] = {
        "dense/kernel", "dense/bias", "dense_1/kernel", "dense_1/bias"};
    CHECK_INT(model_weight_count(m), 4);
    for (size_t i = 0; i < 4; i++) {
        buf_clear(&name);
        model_weight_name(m, i, &name);
        CHECK_STR(buf_cstr(&name), names[i]);
    }
    tensor *w = model_weight(m, 0, &e);
    CHECK_INT(w->shape[0], 72);
    CHECK_INT(w->shape[1], 150);
    double limit = sqrt(6.0 / (72 + 150));
    CHECK(tensor_reduce_all(REDUCTION_MAX, w, &e) <= limit &&
          tensor_reduce_all(REDUCTION_MAX, w, &e) > 0.99 * limit);
    CHECK(tensor_reduce_all(REDUCTION_MIN, w, &e) >= -limit &&
          tensor_reduce_all(REDUCTION_MIN, w, &e) < -0.99 * limit);
    CHECK_NEAR(tensor_sum(w) / 72 / 150, 0, 0.01);
    for (size_t i = 0; i < tensor_count(w); i++)
        tensor_set(w, i, (double)i, &e);
    CHECK_OK(model_set_weight(m, 0, w, &e) == 0, e);
    tensor *again = model_weight(m, 0, &e);
    CHECK(memcmp(w->data, again->data, tensor_count(w) * 4) == 0);
    CHECK(model_set_weight(m, 1, w, &e) < 0);
    CHECK_STR(e.text, "dense/bias expects shape (150,), got (72, 150)");
    tensor_set(w, 5, -NAN, &e);
    CHECK(model_set_weight(m, 0, w, &e) < 0);
    CHECK_STR(e.text, "dense/kernel holds nan at index 5");
    CHECK(!model_weight(m, 4, &e));
    CHECK_HAS(e.text, "no weight number 4");
    tensor_free(w), tensor_free(again);
    buf_done(&name);
    model_free(m);
}

TEST(summary_counts_parameters)
{
    buf out = {0};
    model *m = compiled(mlp, 3, (compile_spec){0});
    model_summary(m, &out);
    CHECK_HAS(buf_cstr(&out), "│ dense (Dense)     │ (None, 150)  │  10,950 │ 21,600 │\n");
    CHECK_HAS(buf_cstr(&out), " Total params: 12,460 (48.67 KB)\n");
    buf_done(&out);
    model_free(m);
}

// Weights after some epochs, as bytes.
static float *trained(const layer_spec *layers, size_t n, compile_spec spec, size_t *count)
{
    err e;
    model *m = compiled(layers, n, spec);
    tensor *x = rows_x(), *y = rows_y();
    fit_spec fit = {.x = x, .y = y, .batch_size = 20, .epochs = 3};
    CHECK_OK(model_fit(m, &fit, NULL, &e) == 0, e);
    float *w = model_weight_values(m, count);
    float *copy = malloc(*count * sizeof *copy);
    memcpy(copy, w, *count * sizeof *copy);
    tensor_free(x), tensor_free(y);
    model_free(m);
    return copy;
}

static void check_same(
    const layer_spec *layers, size_t n, compile_spec a, compile_spec b, double within)
{
    size_t count;
    float *x = trained(layers, n, a, &count), *y = trained(layers, n, b, &count);
    double most = 0;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, fabs((double)x[i] - (double)y[i]));
    CHECK_NEAR(most, 0, within);
    if (within <= 0)
        CHECK(memcmp(x, y, count * sizeof *x) == 0);
    free(x), free(y);
}

static const layer_spec deep[] = {FLATTEN(8, 9), DENSE(130, RELU),
    {.kind = LAYER_DROPOUT, .own = &(dropout_layer){.rate = 0.2f}}, DENSE(12, TANH),
    DENSE(200, RELU), {.kind = LAYER_DROPOUT, .own = &(dropout_layer){.rate = 0.5f}},
    DENSE(70, SIGMOID), DENSE(20, SOFTMAX)};

TEST(any_number_of_threads_gives_the_same_bits)
{
    for (int threads = 2; threads <= 5; threads++) {
        check_same(mlp, 3, (compile_spec){.threads = 1}, (compile_spec){.threads = threads}, 0);
        check_same(deep, 8, (compile_spec){.threads = 1}, (compile_spec){.threads = threads}, 0);
    }
    check_same((layer_spec[]){FLATTEN(8, 9), DENSE(10, SOFTMAX)}, 2, (compile_spec){.threads = 1},
        (compile_spec){.threads = 2}, 0);
}

TEST(sparse_and_dense_input_give_the_same_bits)
{
    check_same(
        mlp, 3, (compile_spec){.input = INPUT_DENSE}, (compile_spec){.input = INPUT_SPARSE}, 0);
    check_same((layer_spec[]){FLATTEN(8, 9), DENSE(10, SOFTMAX)}, 2,
        (compile_spec){.input = INPUT_DENSE}, (compile_spec){.input = INPUT_SPARSE}, 0);
}

TEST(whole_numbers_are_never_read_as_sparse_input)
{
    err e;
    model *m = compiled((layer_spec[]){FLATTEN(8, 9), DENSE(10, SOFTMAX)}, 2,
        (compile_spec){.input = INPUT_SPARSE});
    static const tensor_type types[] = {TENSOR_F32, TENSOR_U8, TENSOR_I64};
    for (size_t i = 0; i < 3; i++) {
        model_data data;
        tensor *x = tensor_new(types[i], 3, (size_t[]){4, 8, 9}, &e);
        CHECK_OK(model_prepare(m, x, NULL, &data, &e) == 0, e);
        CHECK_INT(data.sparse, types[i] != TENSOR_I64);
        tensor_free(x);
    }
    model_free(m);
}

// Inputs that are zero in a whole batch still move by what an earlier step left of them.
static void step_by_step(bool then_sparse, float *out)
{
    err e = {0};
    enum { BATCH = 32 };
    uint32_t rows[BATCH];
    batch_result r;
    tensor *x = rows_x(), *later = rows_x(), *y = rows_y();
    model *m = compiled(mlp, 3, (compile_spec){0});
    for (size_t i = 0; i < BATCH; i++)
        rows[i] = (uint32_t)i;
    CHECK_INT(later->type, TENSOR_U8);
    for (size_t i = 0; i < tensor_count(later); i++)
        if (i % 72 < 30)
            ((uint8_t *)later->data)[i] = 0;
    batch b = {.rows = rows, .n = BATCH};
    for (int step = 0; step < 2; step++) {
        model_data data;
        CHECK_OK(model_prepare(m, step ? later : x, y, &data, &e) == 0, e);
        data.sparse = step && then_sparse;
        CHECK_OK(model_train_batch(m, &data, &b, &r, &e) == 0, e);
    }
    model_data data;
    CHECK_OK(model_prepare(m, x, NULL, &data, &e) == 0, e);
    data.sparse = false;
    CHECK_OK(model_predict_batch(m, &data, &b, out, &e) == 0, e);
    model_free(m);
    tensor_free(x);
    tensor_free(later);
    tensor_free(y);
}

TEST(a_sparse_step_after_a_dense_one_moves_the_same_weights)
{
    float dense[32 * 10], sparse[32 * 10];
    step_by_step(false, dense);
    step_by_step(true, sparse);
    CHECK(memcmp(dense, sparse, sizeof dense) == 0);
}

TEST(instruction_sets_agree)
{
    check_same(deep, 8, (compile_spec){.cpu = "plain"}, (compile_spec){0}, 2e-3);
    check_same(mlp, 3, (compile_spec){.cpu = "plain"}, (compile_spec){0}, 2e-4);
}

static int alone(void *ctx, float *values, size_t n, const char *name, err *e)
{
    ++*(int *)ctx;
    CHECK_STR(name, "gradients");
    return 0;
}

TEST(an_allreduce_of_one_changes_nothing)
{
    int calls = 0;
    check_same(
        deep, 8, (compile_spec){0}, (compile_spec){.allreduce = alone, .allreduce_ctx = &calls}, 0);
    CHECK_INT(calls, 3 * 5);
    compile_spec sgd = {
        .optimizer = {.kind = OPTIMIZER_SGD, .learning_rate = 0.05, .momentum = 0.9}};
    compile_spec same = sgd;
    same.allreduce = alone;
    same.allreduce_ctx = &calls;
    check_same(mlp, 3, sgd, same, 0);
}

static int fails(void *ctx, float *values, size_t n, const char *name, err *e)
{
    return err_set(e, ERR_UNAVAILABLE, "rank 1 is gone");
}

TEST(a_failing_allreduce_ends_the_training)
{
    err e;
    model *m = compiled(mlp, 3, (compile_spec){.allreduce = fails});
    tensor *x = rows_x(), *y = rows_y();
    history h;
    CHECK(model_fit(m, &(fit_spec){.x = x, .y = y, .epochs = 1}, &h, &e) < 0);
    CHECK_STR(e.text, "rank 1 is gone");
    fit_history_done(&h);
    tensor_free(x), tensor_free(y);
    model_free(m);
}

// Two ranks in one process: each adds its values, waits, and takes the mean.
struct ranks {
    pthread_barrier_t meet;
    float *sum;
};

struct rank {
    struct ranks *all;
    int number;
    float *weights;
    size_t count;
};

static int average(void *ctx, float *values, size_t n, const char *name, err *e)
{
    struct rank *r = ctx;
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

static void *run_rank(void *arg)
{
    struct rank *r = arg;
    err e;
    model *m = model_new(mlp, 3, 7, &e);
    compile_spec spec = {.optimizer = optimizer_default(OPTIMIZER_ADAM), .threads = 1};
    if (r->all) {
        spec.allreduce = average;
        spec.allreduce_ctx = r;
    }
    tensor *x = rows_x(), *y = rows_y();
    tensor *xs = tensor_shard(x, r->all ? r->number : 0, r->all ? 2 : 1, &e);
    tensor *ys = tensor_shard(y, r->all ? r->number : 0, r->all ? 2 : 1, &e);
    fit_spec fit = {
        .x = xs, .y = ys, .batch_size = r->all ? 16 : 32, .epochs = 4, .no_shuffle = true};
    if (model_compile(m, &spec, &e) == 0 && model_fit(m, &fit, NULL, &e) == 0) {
        float *w = model_weight_values(m, &r->count);
        r->weights = malloc(r->count * sizeof *w);
        memcpy(r->weights, w, r->count * sizeof *w);
    }
    tensor_free(x), tensor_free(y), tensor_free(xs), tensor_free(ys);
    model_free(m);
    return NULL;
}

TEST(two_ranks_with_half_batches_are_one_with_whole_ones)
{
    struct ranks all = {.sum = malloc(1 << 20)};
    struct rank rank[2] = {{&all, 0}, {&all, 1}}, single = {0};
    pthread_t thread[2];
    pthread_barrier_init(&all.meet, NULL, 2);
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, run_rank, &rank[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    run_rank(&single);
    CHECK(single.weights && rank[0].weights && rank[1].weights);
    CHECK(memcmp(rank[0].weights, rank[1].weights, rank[0].count * sizeof(float)) == 0);
    for (size_t i = 0; i < single.count; i++)
        CHECK_NEAR((double)rank[0].weights[i], (double)single.weights[i], 1e-5);
    free(all.sum), free(single.weights), free(rank[0].weights), free(rank[1].weights);
    pthread_barrier_destroy(&all.meet);
}

enum { WIDE = 256 };

// A model of one input: a Dense layer of ones, then any number of pairs of Dropout and a Dense
// layer with the unit matrix. So its outputs are ones after the Dropouts. The learning rate is 0.
static model *ones_through(size_t dropouts)
{
    err e;
    layer_spec layers[5] = {
        {.kind = LAYER_DENSE, .own = &(dense_layer){.inputs = 1, .units = WIDE, .no_bias = true}}};
    static const dropout_layer half = {.rate = 0.5f};
    static const dense_layer wide = {.units = WIDE, .no_bias = true};
    for (size_t i = 0; i < dropouts; i++) {
        layers[1 + 2 * i] = (layer_spec){.kind = LAYER_DROPOUT, .own = &half};
        layers[2 + 2 * i] = (layer_spec){.kind = LAYER_DENSE, .own = &wide};
    }
    compile_spec spec = {
        .loss = LOSS_MEAN_SQUARED_ERROR, .optimizer = optimizer_default(OPTIMIZER_SGD)};
    spec.optimizer.learning_rate = 0;
    model *m = model_new(layers, 1 + 2 * dropouts, 7, &e);
    CHECK_OK(m && model_compile(m, &spec, &e) == 0, e);
    for (size_t i = 0; i <= dropouts; i++) {
        tensor *w = tensor_new(TENSOR_F32, 2, (size_t[]){i ? WIDE : 1, WIDE}, &e);
        for (size_t k = 0; k < tensor_count(w); k++)
            ((float *)w->data)[k] = !i || k / WIDE == k % WIDE;
        CHECK_OK(model_set_weight(m, i, w, &e) == 0, e);
        tensor_free(w);
    }
    return m;
}

// The mean of the squared outputs for an input of 1, in each of two steps of training, and in an
// evaluation.
static void mean_squares(model *m, double training[2], double *evaluation)
{
    err e;
    model_data data;
    batch_result r;
    tensor *x = tensor_new(TENSOR_F32, 2, (size_t[]){1, 1}, &e);
    tensor *y = tensor_new(TENSOR_F32, 2, (size_t[]){1, WIDE}, &e);
    ((float *)x->data)[0] = 1;
    memset(y->data, 0, WIDE * sizeof(float));
    const batch one = {.rows = (uint32_t[]){0}, .n = 1};
    CHECK_OK(model_prepare(m, x, y, &data, &e) == 0, e);
    for (int i = 0; i < 2; i++) {
        CHECK_OK(model_train_batch(m, &data, &one, &r, &e) == 0, e);
        training[i] = r.loss_sum;
    }
    CHECK_OK(model_test_batch(m, &data, &one, &r, &e) == 0, e);
    *evaluation = r.loss_sum;
    tensor_free(x), tensor_free(y);
    model_free(m);
}

// Half of the values are kept, each twice as large.
TEST(dropout_keeps_the_sum_and_is_for_training_only)
{
    double training[2], evaluation;
    mean_squares(ones_through(1), training, &evaluation);
    CHECK_NEAR(training[0], 2, 0.5);
    CHECK_NEAR(evaluation, 1, 1e-6);
}

// A quarter of the values passes two Dropouts, four times as large; if both had the same noise,
// half of them would.
TEST(each_dropout_and_each_step_have_noise_of_their_own)
{
    double training[2], evaluation;
    mean_squares(ones_through(2), training, &evaluation);
    CHECK_NEAR(training[0], 4, 1.5);
    CHECK_NEAR(training[1], 4, 1.5);
    CHECK(training[0] != training[1]);
    CHECK_NEAR(evaluation, 1, 1e-6);
}

static int keep(void *ctx, float *values, size_t n, const char *name, err *e)
{
    return 0;
}

// The squares of a training step of this rank.
static double squares_of_rank(int rank)
{
    err e;
    double training[2], evaluation;
    model *m = ones_through(1);
    compile_spec spec = *model_compiled(m);
    spec.allreduce = rank < 0 ? NULL : keep;
    spec.rank = rank < 0 ? 0 : rank;
    CHECK_OK(model_compile(m, &spec, &e) == 0, e);
    mean_squares(m, training, &evaluation);
    return training[0];
}

TEST(each_ranks_dropout_has_noise_of_its_own)
{
    CHECK(squares_of_rank(0) == squares_of_rank(-1)); // as if it trained alone
    CHECK(squares_of_rank(1) != squares_of_rank(0));
    CHECK(squares_of_rank(2) != squares_of_rank(1));
    CHECK_NEAR(squares_of_rank(3), 2, 0.5);
}

// Without the corrections for the start m/√v would be far from ±1.
TEST(adams_first_step_is_the_learning_rate)
{
    err e;
    size_t n;
    model *m = compiled(
        (layer_spec[]){FLATTEN(8, 9), DENSE(20, TANH), DENSE(10, SOFTMAX)}, 3, (compile_spec){0});
    tensor *x = rows_x(), *y = rows_y();
    float *w = model_weight_values(m, &n), *before = malloc(n * sizeof *w);
    memcpy(before, w, n * sizeof *w);
    fit_spec fit = {.x = x, .y = y, .batch_size = N, .epochs = 1};
    CHECK_OK(model_fit(m, &fit, NULL, &e) == 0, e);
    size_t moved = 0, whole = 0; // a tiny gradient moves less, by ε
    for (size_t i = 0; i < n; i++) {
        double step = fabs((double)(w[i] - before[i]));
        moved += step > 0;
        CHECK(step <= 0.00101);
        whole += step > 0.00095;
    }
    CHECK(moved > 72 * 20 / 2 && whole * 10 > moved * 9);
    free(before);
    tensor_free(x), tensor_free(y);
    model_free(m);
}

TEST(momentum_cannot_be_switched_on_later)
{
    err e;
    model *m = compiled(mlp, 3, (compile_spec){.optimizer = optimizer_default(OPTIMIZER_SGD)});
    CHECK_INT(model_slot_count(m), 0);
    CHECK(model_set_momentum(m, 0.5, &e) < 0);
    CHECK_OK(model_set_learning_rate(m, 0.5, &e) == 0, e);
    CHECK_NEAR(model_learning_rate(m), 0.5, 0);
    CHECK(model_set_learning_rate(m, -0.5, &e) < 0);
    CHECK_NEAR(model_learning_rate(m), 0.5, 0);
    model_free(m);
}

TEST(threads_are_as_many_as_there_is_work_for)
{
    err e;
    model_data data;
    model *m = compiled(mlp, 3, (compile_spec){.threads = 64});
    tensor *x = rows_x();
    CHECK_OK(model_prepare(m, x, NULL, &data, &e) == 0, e);
    CHECK(data.sparse);
    CHECK_INT(model_threads(m), 3); // 150 units: three panels of 64
    tensor_free(x);
    model_free(m);
}

int main(void)
{
    return tap_run();
}
