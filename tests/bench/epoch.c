// SPDX-License-Identifier: MIT
// Times epochs of the MNIST model (784-128-10, Adam, batch 64) and prints one line of JSON. "step"
// is a step's time in µs where nobody disturbs: the quickest twentieth is below it.
//   epoch FOLDER [--threads N] [--epochs N] [--cpu NAME] [--input auto|dense|sparse] [--seed N]
#include "base/clock.h"
#include "trainer/data/mnist.h"
#include "trainer/fit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct options {
    const char *folder;
    int threads, epochs;
    const char *cpu;
    input_path input;
    uint64_t seed;
};

static int usage(void)
{
    fprintf(stderr, "usage: epoch FOLDER [--threads N] [--epochs N] [--cpu avx512|avx2|plain] "
                    "[--input auto|dense|sparse] [--seed N]\n");
    return 2;
}

static int parse(int argc, char **argv, struct options *o)
{
    *o = (struct options){.threads = 1, .epochs = 5, .seed = MODEL_SEED};
    if (argc < 2 || argc % 2)
        return -1;
    o->folder = argv[1];
    for (int i = 2; i < argc; i += 2) {
        const char *value = argv[i + 1];
        if (strcmp(argv[i], "--threads") == 0)
            o->threads = atoi(value);
        else if (strcmp(argv[i], "--epochs") == 0)
            o->epochs = atoi(value);
        else if (strcmp(argv[i], "--cpu") == 0)
            o->cpu = value;
        else if (strcmp(argv[i], "--seed") == 0)
            o->seed = strtoull(value, NULL, 10);
        else if (strcmp(argv[i], "--input") == 0)
            o->input = *value == 'd'   ? INPUT_DENSE
                       : *value == 's' ? INPUT_SPARSE
                                       : INPUT_BY_DENSITY;
        else
            return -1;
    }
    return o->epochs > 0 ? 0 : -1;
}

static model *new_model(const struct options *o, err *e)
{
    const layer_spec layers[] = {
        {.kind = LAYER_FLATTEN, .own = &(shape_layer){.dims = 2, .size = {28, 28}}},
        {.kind = LAYER_DENSE, .own = &(dense_layer){.units = 128, .activation = ACTIVATION_RELU}},
        {.kind = LAYER_DENSE,
            .own = &(dense_layer){.units = 10, .activation = ACTIVATION_SOFTMAX}}};
    compile_spec spec = {.optimizer = optimizer_default(OPTIMIZER_ADAM),
        .metrics = METRIC(ACCURACY),
        .threads = o->threads,
        .cpu = o->cpu,
        .input = o->input};
    model *m = model_new(layers, 3, o->seed, e);
    return m && model_compile(m, &spec, e) == 0 ? m : NULL;
}

// Of all threads: on a busy machine others run in between.
static double processor(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// When each step began.
struct steps {
    double *at; // seconds
    size_t n, most;
};

static int note_step(void *ctx, size_t batch, err *e)
{
    struct steps *s = ctx;
    (void)batch;
    (void)e;
    if (s->n < s->most)
        s->at[s->n++] = (double)clock_mono() * 1e-9;
    return 0;
}

// In µs, the time that the quickest twentieth of the steps stays below.
static double quickest(struct steps *s)
{
    if (s->n < 2)
        return 0;
    for (size_t i = 0; i + 1 < s->n; i++)
        s->at[i] = s->at[i + 1] - s->at[i];
    qsort(s->at, s->n - 1, sizeof *s->at, by_value);
    return 1e6 * s->at[(s->n - 1) / 20];
}

static double accuracy(model *m, const mnist *d, err *e)
{
    AUTO_LOGS l = {0};
    double value = -1;
    if (model_evaluate(m, &(evaluate_spec){.x = d->test_x, .y = d->test_y}, &l, e) == 0)
        logs_get(&l, "accuracy", &value);
    return value;
}

int main(int argc, char **argv)
{
    struct options o;
    mnist d;
    err e = {0};
    if (parse(argc, argv, &o) < 0)
        return usage();
    int64_t start = clock_mono();
    model *m = new_model(&o, &e);
    if (!m || mnist_load(&d, o.folder, NULL, 0, 1, &e) < 0) {
        fprintf(stderr, "epoch: %s\n", e.text);
        return 1;
    }
    double load = (double)(clock_mono() - start) * 1e-9, first = 0;
    double *seconds = calloc((size_t)o.epochs, sizeof *seconds);
    double *busy = calloc((size_t)o.epochs, sizeof *busy);
    struct steps steps = {.most = (size_t)o.epochs * 1000};
    steps.at = calloc(steps.most, sizeof *steps.at);
    for (int i = 0; i < o.epochs; i++) {
        int64_t began = clock_mono();
        double used = processor();
        fit_spec fit = {.x = d.train_x,
            .y = d.train_y,
            .batch_size = 64,
            .epochs = i + 1,
            .initial_epoch = i,
            .callbacks = {.ctx = &steps, .train_batch_begin = note_step}};
        if (model_fit(m, &fit, NULL, &e) < 0)
            return fprintf(stderr, "epoch: %s\n", e.text), 1;
        seconds[i] = (double)(clock_mono() - began) * 1e-9;
        busy[i] = processor() - used;
        first = i ? first : accuracy(m, &d, &e);
    }
    double last = accuracy(m, &d, &e);
    qsort(seconds, (size_t)o.epochs, sizeof *seconds, by_value);
    qsort(busy, (size_t)o.epochs, sizeof *busy, by_value);
    printf("{\"cpu\": \"%s\", \"threads\": %d, \"load\": %.3f, \"median\": %.4f, \"min\": %.4f, "
           "\"processor\": %.4f, \"step\": %.1f, \"accuracy_1\": %.4f, \"accuracy_%d\": %.4f}\n",
        model_cpu(m), model_threads(m), load, seconds[o.epochs / 2], seconds[0], busy[o.epochs / 2],
        quickest(&steps), first, o.epochs, last);
    free(steps.at);
    free(seconds);
    free(busy);
    mnist_done(&d);
    model_free(m);
    return 0;
}
