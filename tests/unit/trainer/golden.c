// SPDX-License-Identifier: MIT
// Small models against what Keras 3 computes for them: golden.py has the models and their data.
#include "tests/unit/trainer/golden.h"
#include "base/mem.h"
#include "tests/support/tap.h"
#include "trainer/fit.h"
#include "trainer/weighting.h"

enum { ROWS = 8, INPUTS = 4, HIDDEN = 5, OUTPUTS = 3, STEPS = 10 };

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

static double number_of_column(double k, double u)
{
    return u;
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

static double count(size_t row, size_t j)
{
    return 1 + number(row, j);
}

static double positive(size_t row, size_t j)
{
    return 2 + number(row, j);
}

static double share(size_t row, size_t j)
{
    return 0.5 + 0.5 * number(row, j);
}

static double one(size_t row, size_t j)
{
    return row % 3 == j;
}

static double class(size_t row, size_t j)
{
    return (double)(row % 3);
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
            {.kind = LAYER_DENSE,
                .own = &(
                    dense_layer){.units = HIDDEN, .inputs = INPUTS, .activation = ACTIVATION_TANH}},
            {.kind = LAYER_DENSE, .own = &(dense_layer){.units = OUTPUTS, .activation = last}}},
        2, 1, &e);
    CHECK_OK(m && model_compile(m, spec, &e) == 0, e);
    set_weight(m, 0, INPUTS, HIDDEN, first_kernel);
    set_weight(m, 2, HIDDEN, OUTPUTS, second_kernel);
    return m;
}

static const tensor *unweighted[2];

// Trains, then compares predictions for two rows, and evaluate's logs, which stay. The rows have
// these weights in fit and in evaluate.
static void check_golden(const char *what, const compile_spec *spec, activation last,
    const tensor *y, const tensor *weights[2], const double predicted[2 * OUTPUTS], logs *l)
{
    err e;
    tensor *x = inputs();
    model *m = golden_model(spec, last);
    fit_spec fit = {.x = x, .y = y, .batch_size = ROWS, .epochs = STEPS, .no_shuffle = true};
    fit.weights = weights[0];
    CHECK_OK(model_fit(m, &fit, NULL, &e) == 0, e);
    CHECK_OK(
        model_evaluate(m, &(evaluate_spec){.x = x, .y = y, .weights = weights[1]}, l, &e) == 0, e);
    tensor *p = model_predict(m, x, NULL, &e);
    for (size_t i = 0; i < (size_t)2 * OUTPUTS; i++)
        if (!(fabs(tensor_at(p, i) - predicted[i]) <= 1e-5 * (1 + fabs(predicted[i]))))
            tap_fail(__FILE__, __LINE__, "%s: output %zu is %.7f, Keras has %.7f", what, i,
                tensor_at(p, i), predicted[i]);
    tensor_free(p), tensor_free(x);
    model_free(m);
}

TEST(optimizers_have_keras_defaults)
{
    for (size_t i = 0; i < ARRAY_LEN(golden_defaults); i++) {
        optimizer_spec have = optimizer_default(golden_defaults[i].kind);
        const declaration *d = optimizer_declaration(have.kind);
        for (const attribute *a = attribute_next(d, NULL); a; a = attribute_next(d, a)) {
            const double *value = attribute_number(a, &have);
            const double *want = attribute_number(a, &golden_defaults[i]);
            if (value && fabs(*value - *want) > 1e-9)
                tap_fail(__FILE__, __LINE__, "%s: %s is %g, Keras has %g", d->name, a->name, *value,
                    *want);
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
            AUTO_LOGS l = {0};
            compile_spec spec = {
                .optimizer = g->spec, .loss = LOSS_MEAN_SQUARED_ERROR, .threads = threads};
            check_golden(
                buf_cstr(&what), &spec, ACTIVATION_LINEAR, y, unweighted, g->predicted, &l);
            CHECK(logs_get(&l, "loss", &loss));
            CHECK_NEAR(loss, g->loss, 1e-5);
        }
    }
    tensor_free(y);
}

static tensor *targets_named(const char *name)
{
    static const struct {
        const char *name;
        size_t columns;
        double (*f)(size_t, size_t);
    } all[] = {{"number", OUTPUTS, number}, {"count", OUTPUTS, count},
        {"positive", OUTPUTS, positive}, {"share", OUTPUTS, share}, {"one", OUTPUTS, one},
        {"class", 1, class}};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (strcmp(all[i].name, name) == 0)
            return targets(all[i].columns, all[i].f);
    tap_fail(__FILE__, __LINE__, "no targets %s", name);
}

TEST(losses_and_metrics_are_keras)
{
    err e;
    for (size_t i = 0; i < ARRAY_LEN(golden_losses); i++) {
        const struct golden_loss *g = &golden_losses[i];
        AUTO_BUF what = {0};
        AUTO_LOGS l = {0};
        double have = 0;
        compile_spec spec = g->spec;
        tensor *y = targets_named(g->targets);
        buf_fmt(&what, "golden_losses[%zu], %s", i, loss_name(spec.loss));
        spec.optimizer = optimizer_default(OPTIMIZER_SGD);
        spec.optimizer.learning_rate = 0.05;
        for (size_t k = 0; k < g->metrics.n; k++) {
            metric m;
            CHECK_OK(metric_parse(g->metrics.items[k].name, &m, &e) == 0, e);
            spec.metrics |= (metric_set)1 << m;
        }
        check_golden(buf_cstr(&what), &spec, g->last, y, unweighted, g->predicted, &l);
        CHECK(logs_get(&l, "loss", &have));
        CHECK_NEAR(have, g->loss, 1e-5 * (1 + g->loss));
        for (size_t k = 0; k < g->metrics.n; k++) {
            double want = g->metrics.items[k].value;
            CHECK(logs_get(&l, g->metrics.items[k].name, &have));
            if (!(fabs(have - want) <= 2e-5 * (1 + want)))
                tap_fail(__FILE__, __LINE__, "%s: %s is %.7f, Keras has %.7f", buf_cstr(&what),
                    g->metrics.items[k].name, have, want);
        }
        tensor_free(y);
    }
}

// The weights of golden.py: of the rows, or of their classes, where class 1 has none.
static tensor *weights_of(const tensor *y, bool by_class)
{
    err e;
    if (by_class)
        return class_weights(y, (double[]){0.5, 1, 3}, 3, &e);
    tensor *w = tensor_new(TENSOR_F32, 1, (size_t[]){ROWS}, &e);
    for (size_t i = 0; i < ROWS; i++)
        tensor_set(w, i, i == 5 ? 0 : 0.25 + 0.3 * (double)(i % 4), &e);
    return w;
}

TEST(rows_and_classes_have_keras_weights)
{
    for (size_t i = 0; i < ARRAY_LEN(golden_weighted); i++) {
        const struct golden_weighted *g = &golden_weighted[i];
        AUTO_BUF what = {0};
        double loss = 0;
        tensor *y = targets_named(g->targets), *w = weights_of(y, g->by_class);
        buf_fmt(&what, "golden_weighted[%zu], %s", i, loss_name(g->spec.loss));
        for (int threads = 1; threads <= 2; threads++) {
            AUTO_LOGS l = {0};
            compile_spec spec = g->spec;
            spec.optimizer = optimizer_default(OPTIMIZER_SGD);
            spec.optimizer.learning_rate = 0.05;
            spec.threads = threads;
            check_golden(buf_cstr(&what), &spec, g->last, y,
                (const tensor *[2]){w, g->by_class ? NULL : w}, g->predicted, &l);
            CHECK(logs_get(&l, "loss", &loss));
            CHECK_NEAR(loss, g->loss, 1e-5 * (1 + g->loss));
        }
        tensor_free(y), tensor_free(w);
    }
}

TEST(a_class_without_a_weight_counts_once)
{
    err e;
    tensor *y = tensor_from(TENSOR_I64, 1, (size_t[]){3}, (int64_t[]){0, 7, 1}, &e);
    tensor *w = class_weights(y, (double[]){0.5, 2}, 2, &e);
    CHECK_NEAR(tensor_at(w, 0), 0.5, 0);
    CHECK_NEAR(tensor_at(w, 1), 1, 0);
    CHECK_NEAR(tensor_at(w, 2), 2, 0);
    tensor_free(w);
    tensor_set(y, 1, -1, &e);
    CHECK(!class_weights(y, (double[]){0.5, 2}, 2, &e));
    CHECK_STR(e.text, "class_weight is for classes, but row 1 of y holds -1");
    tensor_free(y);
}

// Adds the points of golden.py from `from` on to the watch.
static void add_points(watch *w, size_t from, size_t to)
{
    err e;
    size_t shape[] = {to - from, 1};
    tensor *y = tensor_new(TENSOR_F32, 2, shape, &e), *p = tensor_new(TENSOR_F32, 2, shape, &e);
    for (size_t k = from; k < to; k++) {
        double i = (double)k;
        tensor_set(y, k - from, sin(3 * i) + 0.3 * cos(i) > 0, &e);
        tensor_set(p, k - from, 0.5 + 0.5 * sin(3 * i + 0.8 * cos(2 * i)), &e);
    }
    CHECK_OK(w->ops->add(w->ctx, y, p, &e) == 0, e);
    tensor_free(y), tensor_free(p);
}

TEST(areas_under_curves_are_keras)
{
    err e;
    enum { POINTS = 50, BATCH = 32 };
    for (size_t i = 0; i < ARRAY_LEN(golden_aucs); i++) {
        watch w;
        CHECK_OK(auc_watch(&w, "auc", &golden_aucs[i].spec, &e) == 0, e);
        for (int again = 0; again < 2; again++) {
            w.ops->reset(w.ctx);
            add_points(&w, 0, BATCH);
            add_points(&w, BATCH, POINTS);
            if (fabs(w.ops->value(w.ctx) - golden_aucs[i].area) > 1e-6)
                tap_fail(__FILE__, __LINE__, "golden_aucs[%zu] is %.7f, Keras has %.7f", i,
                    w.ops->value(w.ctx), golden_aucs[i].area);
        }
        watch_done(&w);
    }
}

TEST(learning_rates_follow_keras_schedules)
{
    err e;
    for (size_t i = 0; i < ARRAY_LEN(golden_schedules); i++) {
        const schedule *s = &golden_schedules[i].spec;
        CHECK_OK(schedule_check(s, &e) == 0, e);
        for (size_t k = 0; k < ARRAY_LEN(golden_steps); k++) {
            double have = schedule_rate(s, golden_steps[k]), want = golden_schedules[i].rate[k];
            if (!(fabs(have - want) <= 1e-6))
                tap_fail(__FILE__, __LINE__,
                    "golden_schedules[%zu], %s, at %d: %.8f, Keras has %.8f", i,
                    schedule_name(s->kind), golden_steps[k], have, want);
        }
        // What is left out has Keras's default.
        schedule made = schedule_default(s->kind);
        const declaration *d = schedule_declaration(s->kind);
        for (const attribute *a = attribute_next(d, NULL); a; a = attribute_next(d, a)) {
            const double *value = attribute_number(a, &made);
            if (value && i % 2 == 0 && *value != 0)
                CHECK_NEAR(*attribute_number(a, s), *value, 1e-9);
        }
    }
}

// The rate of step t is that of t - 1 steps done, as Keras's `iterations` is.
TEST(a_model_follows_its_schedule)
{
    err e;
    compile_spec spec = {.loss = LOSS_MEAN_SQUARED_ERROR,
        .optimizer = {.kind = OPTIMIZER_SGD,
            .schedule = {
                .kind = SCHEDULE_PIECEWISE, .pieces = 2, .boundary = {2}, .value = {0.1, 0}}}};
    tensor *x = inputs(), *y = targets(OUTPUTS, number);
    model *m = golden_model(&spec, ACTIVATION_LINEAR), *plain;
    fit_spec fit = {.x = x, .y = y, .batch_size = ROWS, .epochs = STEPS};
    CHECK_OK(model_fit(m, &fit, NULL, &e) == 0, e);
    CHECK_NEAR(model_learning_rate(m), 0, 0);
    CHECK(model_set_learning_rate(m, 1, &e) < 0);
    CHECK_STR(e.text,
        "the learning rate is that of a schedule, PiecewiseConstantDecay: it cannot be set");
    spec.optimizer = (optimizer_spec){.kind = OPTIMIZER_SGD, .learning_rate = 0.1};
    plain = golden_model(&spec, ACTIVATION_LINEAR);
    fit.epochs = 3; // the steps after 0, 1 and 2 others
    CHECK_OK(model_fit(plain, &fit, NULL, &e) == 0, e);
    size_t n;
    const float *a = model_weight_values(m, &n), *b = model_weight_values(plain, &n);
    CHECK(memcmp(a, b, n * sizeof *a) == 0);
    model_free(m), model_free(plain);
    tensor_free(x), tensor_free(y);
}

TEST(a_percentage_error_passes_over_zeros)
{
    metric_sum s = {0};
    metric_add(METRIC_RMSPE, &s, (double[]){2, 0, -4}, (float[]){1, 9, -5}, 3); // 0 does not count
    CHECK_NEAR(metric_value(METRIC_RMSPE, s), sqrt((0.25 + 0.0625) / 2), 1e-12);
}

// Seven classes, of which the model prefers the last: the lower the class, the lower its output.
TEST(a_class_may_be_among_the_best_five)
{
    err e;
    enum { CLASSES = 7 };
    AUTO_LOGS l = {0};
    double top = 0, best = 0;
    compile_spec spec = {.optimizer = optimizer_default(OPTIMIZER_SGD),
        .metrics = METRIC(SPARSE_TOP_K) | METRIC(ACCURACY)};
    layer_spec layer = {.kind = LAYER_DENSE,
        .own = &(dense_layer){.units = CLASSES, .inputs = 1, .activation = ACTIVATION_SOFTMAX}};
    model *m = model_new(&layer, 1, 1, &e);
    CHECK_OK(m && model_compile(m, &spec, &e) == 0, e);
    set_weight(m, 0, 1, CLASSES, number_of_column);
    tensor *x = tensor_new(TENSOR_F32, 2, (size_t[]){CLASSES, 1}, &e);
    tensor *y = tensor_new(TENSOR_I64, 1, (size_t[]){CLASSES}, &e);
    for (size_t i = 0; i < CLASSES; i++) {
        tensor_set(x, i, 1, &e);
        tensor_set(y, i, (double)i, &e);
    }
    CHECK_OK(model_evaluate(m, &(evaluate_spec){.x = x, .y = y}, &l, &e) == 0, e);
    CHECK(
        logs_get(&l, "sparse_top_k_categorical_accuracy", &top) && logs_get(&l, "accuracy", &best));
    CHECK_NEAR(top, 5.0 / CLASSES, 1e-9);
    CHECK_NEAR(best, 1.0 / CLASSES, 1e-9);
    tensor_free(x), tensor_free(y);
    model_free(m);
}

int main(void)
{
    return tap_run();
}
