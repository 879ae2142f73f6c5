// SPDX-License-Identifier: MIT
// Small models against what Keras 3 computes for them: golden.py has the models and their data.
#include "tests/unit/trainer/golden.h"
#include "base/mem.h"
#include "tests/support/tap.h"
#include "trainer/fit.h"

enum { ROWS = 8, INPUTS = 4, HIDDEN = 5, OUTPUTS = 3, STEPS = 6 };

static void set_weight(model *m, size_t i, size_t rows, size_t columns, double (*f)(double, double))
{
    err e;
    tensor *w = tensor_new(TENSOR_F32, 2, (size_t[]){rows, columns}, &e);
    for (size_t k = 0; k < tensor_count(w); k++)
        tensor_set(w, k, f((double)(k / columns), (double)(k % columns)), &e);
    CHECK_OK(model_set_weight(m, i, w, &e) == 0, e);
    tensor_free(w);
}

static double first_kernel(double k, double u)
{
    return 0.5 * sin(1 + 2 * k + 3 * u);
}

static double second_kernel(double k, double u)
{
    return 0.5 * cos(k + 2 * u);
}

static tensor *inputs(void)
{
    err e;
    tensor *x = tensor_new(TENSOR_F32, 2, (size_t[]){ROWS, INPUTS}, &e);
    for (size_t i = 0; i < tensor_count(x); i++)
        tensor_set(x, i, sin(1 + 0.7 * (double)(i / INPUTS) + 1.3 * (double)(i % INPUTS)), &e);
    return x;
}

static double number(size_t row, size_t j)
{
    return cos(0.5 * (double)row + (double)j);
}

static tensor *targets(size_t columns, double (*f)(size_t, size_t))
{
    err e;
    tensor *y = tensor_new(TENSOR_F32, 2, (size_t[]){ROWS, columns}, &e);
    for (size_t i = 0; i < tensor_count(y); i++)
        tensor_set(y, i, f(i / columns, i % columns), &e);
    return y;
}

static model *golden_model(const compile_spec *spec, activation last)
{
    err e;
    model *m = model_new(
        (layer_spec[]){
            {.kind = LAYER_DENSE, .units = HIDDEN, .inputs = INPUTS, .activation = ACTIVATION_TANH},
            {.kind = LAYER_DENSE, .units = OUTPUTS, .activation = last}},
        2, 1, &e);
    CHECK_OK(m && model_compile(m, spec, &e) == 0, e);
    set_weight(m, 0, INPUTS, HIDDEN, first_kernel);
    set_weight(m, 2, HIDDEN, OUTPUTS, second_kernel);
    return m;
}

// Trains, then compares predictions for two rows, and evaluate's logs, which stay.
static void check_golden(const char *what, const compile_spec *spec, activation last,
    const tensor *y, const double predicted[2 * OUTPUTS], logs *l)
{
    err e;
    tensor *x = inputs();
    model *m = golden_model(spec, last);
    fit_spec fit = {.x = x, .y = y, .batch_size = ROWS, .epochs = STEPS, .no_shuffle = true};
    CHECK_OK(model_fit(m, &fit, NULL, &e) == 0, e);
    CHECK_OK(model_evaluate(m, &(evaluate_spec){.x = x, .y = y}, l, &e) == 0, e);
    tensor *p = model_predict(m, x, NULL, &e);
    for (size_t i = 0; i < (size_t)2 * OUTPUTS; i++)
        if (!(fabs(tensor_at(p, i) - predicted[i]) <= 1e-5))
            tap_fail(__FILE__, __LINE__, "%s: output %zu is %.7f, Keras has %.7f", what, i,
                tensor_at(p, i), predicted[i]);
    tensor_free(p), tensor_free(x);
    model_free(m);
}

TEST(optimizers_have_keras_defaults)
{
    for (size_t i = 0; i < ARRAY_LEN(golden_defaults); i++) {
        double *value, *want;
        const char *name;
        optimizer_spec have = optimizer_default(golden_defaults[i].kind),
                       keras = golden_defaults[i];
        for (size_t k = 0; (name = optimizer_number(&have, k, &value)); k++) {
            optimizer_number(&keras, k, &want);
            if (fabs(*value - *want) > 1e-9)
                tap_fail(__FILE__, __LINE__, "%s: %s is %g, Keras has %g",
                    optimizer_name(have.kind), name, *value, *want);
        }
    }
}

TEST(optimizers_move_as_keras_moves)
{
    tensor *y = targets(OUTPUTS, number);
    for (size_t i = 0; i < ARRAY_LEN(golden_optimizers); i++) {
        const struct golden_optimizer *g = &golden_optimizers[i];
        AUTO_BUF what = {0};
        double loss = 0;
        buf_fmt(&what, "golden_optimizers[%zu], %s", i, optimizer_name(g->spec.kind));
        for (int threads = 1; threads <= 2; threads++) {
            logs l;
            compile_spec spec = {
                .optimizer = g->spec, .loss = LOSS_MEAN_SQUARED_ERROR, .threads = threads};
            check_golden(buf_cstr(&what), &spec, ACTIVATION_LINEAR, y, g->predicted, &l);
            CHECK(logs_get(&l, "loss", &loss));
            CHECK_NEAR(loss, g->loss, 1e-5);
        }
    }
    tensor_free(y);
}

int main(void)
{
    return tap_run();
}
