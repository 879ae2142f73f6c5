// SPDX-License-Identifier: MIT
// The recipe's model on the data that comes with it, with the default seed.
#include "trainer/data/mnist.h"
#include "tests/support/tap.h"
#include "trainer/cpu/ops.h"
#include "trainer/data/order.h"
#include "trainer/fit.h"

#include <stdlib.h>

static const layer_spec layers[] = {
    {.kind = LAYER_FLATTEN, .own = &(shape_layer){.dims = 2, .size = {28, 28}}},
    {.kind = LAYER_DENSE, .own = &(dense_layer){.units = 128, .activation = ACTIVATION_RELU}},
    {.kind = LAYER_DENSE, .own = &(dense_layer){.units = 10, .activation = ACTIVATION_SOFTMAX}}};

static model *new_model(const char *cpu)
{
    err e;
    model *m = model_new(layers, 3, MODEL_SEED, &e);
    compile_spec c = {
        .optimizer = optimizer_default(OPTIMIZER_ADAM), .metrics = METRIC(ACCURACY), .cpu = cpu};
    CHECK_OK(m && model_compile(m, &c, &e) == 0, e);
    return m;
}

static double value(const logs *l, const char *name)
{
    double v = -1;
    CHECK(logs_get(l, name, &v));
    return v;
}

TEST(five_epochs_reach_97_percent)
{
    err e;
    mnist d;
    history h;
    CHECK_OK(mnist_load(&d, tap_source("recipes/data/mnist"), NULL, 0, 1, &e) == 0, e);
    model *m = new_model(NULL);
    fit_spec fit = {.x = d.train_x, .y = d.train_y, .val_x = d.test_x, .val_y = d.test_y};
    fit.batch_size = 64;
    fit.epochs = 5;
    CHECK_OK(model_fit(m, &fit, &h, &e) == 0, e);
    printf("# val_accuracy %.4f after one epoch, %.4f after five\n",
        value(&h.epochs[0], "val_accuracy"), value(&h.epochs[4], "val_accuracy"));
    CHECK(value(&h.epochs[0], "val_accuracy") >= 0.945);
    CHECK(value(&h.epochs[4], "val_accuracy") >= 0.972);

    tensor *image = tensor_slice(d.test_x, 100, 101, &e);
    tensor *p = model_predict(m, image, NULL, &e);
    CHECK_INT(tensor_argmax(p, &e), 6);

    AUTO_LOGS l = {0};
    evaluate_spec evaluate = {.x = d.test_x, .y = d.test_y};
    CHECK_OK(model_evaluate(m, &evaluate, &l, &e) == 0, e);
    CHECK_NEAR(value(&l, "accuracy"), value(&h.epochs[4], "val_accuracy"), 1e-12);
    CHECK_NEAR(value(&l, "loss"), value(&h.epochs[4], "val_loss"), 1e-6);
    tensor_free(image);
    tensor_free(p);
    fit_history_done(&h);
    model_free(m);
    mnist_done(&d);
}

static double first_epoch(const mnist *d, const char *cpu)
{
    err e;
    history h;
    model *m = new_model(cpu);
    fit_spec fit = {.x = d->train_x, .y = d->train_y, .val_x = d->test_x, .val_y = d->test_y};
    fit.epochs = 1;
    fit.batch_size = 64;
    CHECK_OK(model_fit(m, &fit, &h, &e) == 0, e);
    double accuracy = value(&h.epochs[0], "val_accuracy");
    fit_history_done(&h);
    model_free(m);
    return accuracy;
}

TEST(every_instruction_set_learns)
{
    err e;
    mnist d;
    CHECK_OK(mnist_load(&d, tap_source("recipes/data/mnist"), NULL, 0, 1, &e) == 0, e);
    for (size_t i = 0; cpu_nth(i); i++) {
        if (!cpu_nth(i)->usable())
            continue;
        double accuracy = first_epoch(&d, cpu_nth(i)->name);
        printf("# %s: val_accuracy %.4f\n", cpu_nth(i)->name, accuracy);
        CHECK(accuracy >= 0.945);
    }
    mnist_done(&d);
}

TEST(shuffled_labels_teach_nothing)
{
    err e;
    mnist d;
    CHECK_OK(mnist_load(&d, tap_source("recipes/data/mnist"), NULL, 0, 1, &e) == 0, e);
    size_t n = tensor_rows(d.train_y);
    uint32_t *order = malloc(n * sizeof *order);
    order_shuffle(order, n, 1, 1);
    tensor *shuffled = tensor_gather(d.train_y, order, n, &e);
    tensor_free(d.train_y);
    d.train_y = shuffled;
    double accuracy = first_epoch(&d, NULL);
    printf("# val_accuracy %.4f\n", accuracy);
    CHECK_NEAR(accuracy, 0.1, 0.04);
    free(order);
    mnist_done(&d);
}

int main(void)
{
    return tap_run();
}
