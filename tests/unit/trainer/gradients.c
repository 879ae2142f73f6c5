// SPDX-License-Identifier: MIT
// Every layer and loss: compares the gradient used in training with differences of the loss.
#include "tests/support/tap.h"
#include "trainer/data/order.h"
#include "trainer/nn/train.h"

#include <math.h>

enum { ROWS = 9, INPUTS = 13 };

static tensor *random_tensor(int dims, const size_t *shape, uint64_t seed, float zeros)
{
    err e;
    random_state r = random_from(seed, 1);
    tensor *t = tensor_new(TENSOR_F32, dims, shape, &e);
    for (size_t i = 0; i < tensor_count(t); i++) {
        float value = 2 * random_unit(&r) - 1;
        ((float *)t->data)[i] = random_unit(&r) < zeros ? 0 : value;
    }
    return t;
}

// Targets that fit the loss: class numbers, distributions, yes or no, or numbers.
static tensor *targets(loss_kind loss, size_t units)
{
    err e;
    bool classes = loss == LOSS_SPARSE_CATEGORICAL_CROSSENTROPY;
    tensor *y = classes ? tensor_new(TENSOR_I64, 1, (size_t[]){ROWS}, &e)
                        : random_tensor(2, (size_t[]){ROWS, units}, 99, 0);
    for (size_t r = 0; classes && r < ROWS; r++)
        tensor_set(y, r, (double)(r * 7 % units), &e);
    for (size_t i = 0; !classes && i < tensor_count(y); i++) {
        double value = fabs(tensor_at(y, i));
        if (loss == LOSS_BINARY_CROSSENTROPY)
            tensor_set(y, i, value > 0.5, &e);
        else if (loss == LOSS_POISSON || loss == LOSS_MEAN_SQUARED_LOGARITHMIC_ERROR)
            tensor_set(y, i, 2 * value, &e);
        else if (loss == LOSS_RMSPE) // 0 does not count
            tensor_set(y, i, i % 7 ? value + 0.5 : 0, &e);
        else if (loss == LOSS_CATEGORICAL_CROSSENTROPY)
            tensor_set(
                y, i, i % units == i / units % units ? 0.75 : 0.25 / (double)(units - 1), &e);
    }
    return y;
}

static double loss_of(model *m, const model_data *data, const uint32_t *rows, const float **g)
{
    err e;
    batch_result r;
    CHECK_OK(model_gradient(m, data, &(batch){.rows = rows, .n = ROWS}, &r, g, &e) == 0, e);
    return r.loss_sum / ROWS;
}

// Compares every weight of small layers, and some of big ones; padding must have no gradient.
static void check_model(const layer_spec *layers, size_t n, loss_kind loss, bool from_logits,
    input_path input, const char *cpu)
{
    err e;
    size_t count;
    uint32_t rows[ROWS];
    model_data data;
    const float *g;
    compile_spec spec = {.optimizer = optimizer_default(OPTIMIZER_SGD),
        .loss = loss,
        .from_logits = from_logits,
        .delta = loss == LOSS_HUBER ? 0.4 : 0,
        .label_smoothing =
            loss == LOSS_CATEGORICAL_CROSSENTROPY || loss == LOSS_BINARY_CROSSENTROPY ? 0.1 : 0,
        .threads = 2,
        .cpu = cpu,
        .input = input};
    model *m = model_new(layers, n, 5, &e);
    CHECK_OK(m && model_compile(m, &spec, &e) == 0, e);
    tensor *x = random_tensor(2, (size_t[]){ROWS, INPUTS}, 3, 0.4f),
           *y = targets(loss, model_outputs(m));
    CHECK_OK(model_prepare(m, x, y, &data, &e) == 0, e);
    order_plain(rows, ROWS);
    float *w = model_weight_values(m, &count);
    for (size_t i = 0; i < count; i += 1 + count / 293) {
        const float h = 1 / 256.0f;
        float kept = w[i];
        loss_of(m, &data, rows, &g);
        double have = (double)g[i];
        w[i] = kept + h;
        double more = loss_of(m, &data, rows, &g);
        w[i] = kept - h;
        double less = loss_of(m, &data, rows, &g);
        w[i] = kept;
        double want = (more - less) / (2 * (double)h);
        if (fabs(have - want) > 2e-4 + 0.01 * fabs(want))
            tap_fail(
                __FILE__, __LINE__, "weight %zu: gradient %.6g, difference %.6g", i, have, want);
    }
    tensor_free(x);
    tensor_free(y);
    model_free(m);
}

static void check(const layer_spec *layers, size_t n, loss_kind loss, bool from_logits)
{
    check_model(layers, n, loss, from_logits, INPUT_DENSE, "plain");
    check_model(layers, n, loss, from_logits, INPUT_SPARSE, NULL);
}

#define DENSE .kind = LAYER_DENSE
#define CHECK_MODEL(loss, logits, ...)                                                             \
    check((layer_spec[]){__VA_ARGS__}, sizeof((layer_spec[]){__VA_ARGS__}) / sizeof(layer_spec),   \
        loss, logits)

TEST(softmax_with_classes)
{
    CHECK_MODEL(LOSS_SPARSE_CATEGORICAL_CROSSENTROPY, false,
        {.kind = LAYER_DENSE,
            .own =
                &(dense_layer){.inputs = INPUTS, .units = 10, .activation = ACTIVATION_SOFTMAX}});
}

TEST(a_wide_hidden_layer_before_a_narrow_one)
{
    CHECK_MODEL(LOSS_SPARSE_CATEGORICAL_CROSSENTROPY, false,
        {.kind = LAYER_DENSE,
            .own = &(dense_layer){.inputs = INPUTS, .units = 100, .activation = ACTIVATION_TANH}},
        {DENSE, .own = &(dense_layer){.units = 10, .activation = ACTIVATION_SOFTMAX}});
}

TEST(wide_after_wide_after_narrow)
{
    CHECK_MODEL(LOSS_CATEGORICAL_CROSSENTROPY, false,
        {.kind = LAYER_DENSE,
            .own = &(dense_layer){.inputs = INPUTS, .units = 7, .activation = ACTIVATION_SIGMOID}},
        {DENSE, .own = &(dense_layer){.units = 70, .activation = ACTIVATION_TANH}},
        {DENSE, .own = &(dense_layer){.units = 130, .activation = ACTIVATION_TANH}},
        {DENSE, .own = &(dense_layer){.units = 20, .activation = ACTIVATION_SOFTMAX}});
}

TEST(narrow_after_narrow)
{
    CHECK_MODEL(LOSS_SPARSE_CATEGORICAL_CROSSENTROPY, false,
        {.kind = LAYER_DENSE,
            .own = &(dense_layer){.inputs = INPUTS, .units = 5, .activation = ACTIVATION_TANH}},
        {DENSE,
            .own = &(dense_layer){.units = 6, .activation = ACTIVATION_SIGMOID, .no_bias = true}},
        {DENSE, .own = &(dense_layer){.units = 3, .activation = ACTIVATION_SOFTMAX}});
}

// These rows are no chain that runs fused: softmax between layers, Dropout at the end or twice.
TEST(rows_that_are_no_chain)
{
    CHECK_MODEL(LOSS_MEAN_SQUARED_ERROR, false,
        {.kind = LAYER_DENSE,
            .own = &(dense_layer){.inputs = INPUTS, .units = 7, .activation = ACTIVATION_SOFTMAX}},
        {DENSE, .own = &(dense_layer){.units = 3, .activation = ACTIVATION_TANH}},
        {.kind = LAYER_DROPOUT, .own = &(dropout_layer){.rate = 0}});
    CHECK_MODEL(LOSS_SPARSE_CATEGORICAL_CROSSENTROPY, false,
        {.kind = LAYER_DENSE,
            .own = &(dense_layer){.inputs = INPUTS, .units = 6, .activation = ACTIVATION_TANH}},
        {.kind = LAYER_DROPOUT, .own = &(dropout_layer){.rate = 0}},
        {.kind = LAYER_DROPOUT, .own = &(dropout_layer){.rate = 0}},
        {DENSE, .own = &(dense_layer){.units = 4, .activation = ACTIVATION_SOFTMAX}});
}

TEST(logits)
{
    CHECK_MODEL(LOSS_SPARSE_CATEGORICAL_CROSSENTROPY, true,
        {.kind = LAYER_DENSE,
            .own = &(dense_layer){.inputs = INPUTS, .units = 40, .activation = ACTIVATION_SIGMOID}},
        {DENSE, .own = &(dense_layer){.units = 17}});
    CHECK_MODEL(LOSS_BINARY_CROSSENTROPY, true,
        {.kind = LAYER_DENSE,
            .own = &(dense_layer){.inputs = INPUTS, .units = 8, .activation = ACTIVATION_TANH}},
        {DENSE, .own = &(dense_layer){.units = 1}});
}

TEST(yes_or_no)
{
    CHECK_MODEL(LOSS_BINARY_CROSSENTROPY, false,
        {.kind = LAYER_DENSE,
            .own = &(dense_layer){.inputs = INPUTS, .units = 33, .activation = ACTIVATION_TANH}},
        {DENSE, .own = &(dense_layer){.units = 3, .activation = ACTIVATION_SIGMOID}});
}

TEST(squares)
{
    CHECK_MODEL(LOSS_MEAN_SQUARED_ERROR, false,
        {.kind = LAYER_DENSE,
            .own = &(dense_layer){.inputs = INPUTS, .units = 20, .activation = ACTIVATION_TANH}},
        {DENSE, .own = &(dense_layer){.units = 2}});
    CHECK_MODEL(LOSS_MEAN_SQUARED_ERROR, false,
        {.kind = LAYER_DENSE,
            .own = &(dense_layer){.inputs = INPUTS, .units = 20, .activation = ACTIVATION_SIGMOID}},
        {DENSE, .own = &(dense_layer){.units = 18, .activation = ACTIVATION_TANH}});
}

// Where a loss has a corner, a difference of the loss is none of its slopes: outputs stay on one
// side here.
TEST(losses_of_single_outputs)
{
    static const loss_kind all[] = {LOSS_MEAN_SQUARED_LOGARITHMIC_ERROR, LOSS_LOG_COSH,
        LOSS_POISSON, LOSS_HUBER, LOSS_MEAN_ABSOLUTE_ERROR, LOSS_MEAN_ABSOLUTE_PERCENTAGE_ERROR,
        LOSS_RMSPE};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        CHECK_MODEL(all[i], false,
            {.kind = LAYER_DENSE,
                .own =
                    &(dense_layer){.inputs = INPUTS, .units = 20, .activation = ACTIVATION_TANH}},
            {DENSE, .own = &(dense_layer){.units = 3, .activation = ACTIVATION_SIGMOID}});
}

// Away from 0 relu is smooth; biases of one sign and small inputs keep it away.
TEST(relu)
{
    CHECK_MODEL(LOSS_MEAN_SQUARED_ERROR, false,
        {.kind = LAYER_DENSE,
            .own = &(dense_layer){.inputs = INPUTS, .units = 3, .activation = ACTIVATION_RELU}},
        {DENSE, .own = &(dense_layer){.units = 2}});
}

TEST(dropout)
{
    CHECK_MODEL(LOSS_SPARSE_CATEGORICAL_CROSSENTROPY, false,
        {.kind = LAYER_DENSE,
            .own = &(dense_layer){.inputs = INPUTS, .units = 100, .activation = ACTIVATION_TANH}},
        {.kind = LAYER_DROPOUT, .own = &(dropout_layer){.rate = 0.5f}},
        {DENSE, .own = &(dense_layer){.units = 10, .activation = ACTIVATION_SOFTMAX}});
    CHECK_MODEL(LOSS_MEAN_SQUARED_ERROR, false,
        {.kind = LAYER_DROPOUT, .own = &(dropout_layer){.rate = 0.3f}},
        {.kind = LAYER_DENSE,
            .own = &(dense_layer){.inputs = INPUTS, .units = 12, .activation = ACTIVATION_TANH}},
        {.kind = LAYER_DROPOUT, .own = &(dropout_layer){.rate = 0.25f}},
        {DENSE, .own = &(dense_layer){.units = 30, .activation = ACTIVATION_SIGMOID}},
        {.kind = LAYER_DROPOUT, .own = &(dropout_layer){.rate = 0.5f}},
        {DENSE, .own = &(dense_layer){.units = 2}});
}

int main(void)
{
    return tap_run();
}
