// SPDX-License-Identifier: MIT
#include "trainer/nn/train.h"

#include "base/clock.h"
#include "base/mem.h"
#include "trainer/nn/clip.h"
#include "trainer/nn/internal.h"
#include "trainer/nn/objective.h"
#include "trainer/nn/step.h"
#include "trainer/tensor/memory.h"

#include <math.h>
#include <string.h>

// If more than this share is not 0, the dense kernels are faster: doc/trainer.md.
static const double dense_from = 0.7;
enum { DENSITY_ROWS = 256 };

// The share of numbers that are not 0, sampled from rows all over x.
static double density(const tensor *x)
{
    size_t rows = tensor_rows(x), width = tensor_row_size(x), other = 0;
    size_t stride = rows / DENSITY_ROWS + 1, looked = 0;
    for (size_t r = 0; r < rows; r += stride, looked++) {
        const void *row = tensor_row_data(x, r);
        for (size_t k = 0; k < width; k++)
            other += x->type == TENSOR_U8 ? ((const uint8_t *)row)[k] != 0
                                          : ((const float *)row)[k] != 0;
    }
    return looked ? (double)other / (double)(looked * width) : 1;
}

// The number of threads that have work: one for each panel of the widest layer.
static int useful_threads(const model *m)
{
    size_t parts = 1;
    int want = m->spec.threads ? m->spec.threads : pool_cores();
    for (size_t i = 0; i < m->plan->n; i++) {
        const plan_layer *l = &m->plan->layer[i];
        size_t here = l->narrow ? l->slices : l->panels;
        parts = here > parts ? here : parts;
    }
    return (size_t)want < parts ? want : (int)parts;
}

static void start_threads(model *m)
{
    int want = useful_threads(m);
    if (m->pool && pool_threads(m->pool) == want)
        return;
    pool_free(m->pool);
    m->pool = pool_new(want);
    m->tempo = (tempo){0};
}

int model_prepare(model *m, const tensor *x, const tensor *y, model_data *out, err *e)
{
    if (!m->compiled)
        return err_set(e, ERR_USAGE, "the model was not compiled: call compile first");
    if (x->dims < 2 || !tensor_rows(x)) {
        AUTO_BUF shape = {0};
        tensor_shape_text(x, &shape);
        return err_set(
            e, ERR_USAGE, "x must have rows of numbers, its shape is %s", buf_cstr(&shape));
    }
    if (tensor_rows(x) > UINT32_MAX)
        return err_set(e, ERR_LIMIT, "x has %zu rows, more than 2^32", tensor_rows(x));
    if (model_build(m, x->dims - 1, x->shape + 1, e) < 0)
        return -1;
    if (y && tensor_rows(y) != tensor_rows(x))
        return err_set(
            e, ERR_USAGE, "x has %zu rows, but y has %zu", tensor_rows(x), tensor_rows(y));
    if (y && objective_check_targets(m->spec.loss, m->plan->outputs, y, e) < 0)
        return -1;
    if (y && (m->spec.metrics & (METRIC(ACCURACY) | METRIC(ACC))) &&
        objective_check_accuracy(m->spec.loss, y, e) < 0)
        return -1;
    bool values = x->type == TENSOR_U8 || x->type == TENSOR_F32;
    bool sparse = m->spec.input == INPUT_BY_DENSITY ? values && density(x) < dense_from
                                                    : values && m->spec.input == INPUT_SPARSE;
    *out = (model_data){.x = x, .y = y, .sparse = sparse};
    start_threads(m);
    return 0;
}

int model_check_weights(const model_data *data, err *e)
{
    const tensor *w = data->weights;
    if (w && (!w->dims || tensor_row_size(w) != 1 || tensor_rows(w) != tensor_rows(data->x))) {
        AUTO_BUF shape = {0};
        tensor_shape_text(w, &shape);
        return err_set(e, ERR_USAGE,
            "sample_weight must have a number for each of the %zu rows, "
            "its shape is %s",
            tensor_rows(data->x), buf_cstr(&shape));
    }
    for (size_t i = 0; w && i < tensor_count(w); i++)
        if (!isfinite(tensor_at(w, i)))
            return err_set(e, ERR_USAGE, "row %zu of sample_weight holds %g", i, tensor_at(w, i));
    return 0;
}

static params params_of(const model *m)
{
    return (params){.w = m->w,
        .m = m->slots > 0 ? m->slot : NULL,
        .v = m->slots > 1 ? m->slot + m->plan->values : NULL,
        .g = m->g};
}

static update_rule kind_of_rule(const optimizer_spec *o)
{
    switch (o->kind) {
    case OPTIMIZER_SGD:
        return !(o->momentum > 0) ? UPDATE_SGD : o->nesterov ? UPDATE_NESTEROV : UPDATE_MOMENTUM;
    case OPTIMIZER_RMSPROP:
        return o->momentum > 0 ? UPDATE_RMSPROP_MOMENTUM : UPDATE_RMSPROP;
    case OPTIMIZER_ADAGRAD:
        return UPDATE_ADAGRAD;
    case OPTIMIZER_ADAM:
    case OPTIMIZER_ADAMW:
        break;
    }
    return UPDATE_ADAM;
}

// The update rule with the constants of step m->steps.
static update rule_of(const model *m)
{
    const optimizer_spec now = optimizer_at(&m->spec.optimizer, m->steps - 1), *o = &now;
    double t = (double)m->steps;
    update u = {.rule = kind_of_rule(o),
        .rate = (float)o->learning_rate,
        .epsilon = (float)o->epsilon,
        .decay = (float)(o->learning_rate * o->weight_decay)};
    if (u.rule == UPDATE_ADAM) {
        u.rate = (float)(o->learning_rate * sqrt(1 - pow(o->beta_2, t)) / (1 - pow(o->beta_1, t)));
        u.beta_1 = (float)o->beta_1;
        u.beta_2 = (float)o->beta_2;
    } else {
        u.beta_1 = (float)o->momentum;
        u.beta_2 = (float)o->rho;
    }
    return u;
}

static int run(model *m, const model_data *data, const batch *b, step *s, err *e)
{
    if (plan_reserve(m->plan, b->n, pool_threads(m->pool), e) < 0)
        return -1;
    s->plan = m->plan;
    s->cpu = m->cpu;
    s->pool = m->pool;
    s->values = params_of(m);
    s->spec = &m->spec;
    s->sparse = data->sparse && !(s->train && m->plan->input_dropout > 0);
    s->x = data->x;
    s->y = data->y;
    s->weights = data->weights;
    s->outputs = b->outputs;
    s->rows = b->rows;
    s->n = b->n;
    s->next = b->next;
    s->alone = m->tempo.alone;
    int64_t began = clock_mono();
    step_run(s);
    if (s->train && pool_threads(m->pool) > 1)
        tempo_step(&m->tempo, clock_mono() - began);
    return 0;
}

// Computes gradients and keeps them instead of updating weights.
static int keep_gradients(model *m, const model_data *data, const batch *b, step *s, err *e)
{
    if (!m->g && !(m->g = memory_array(m->plan->values, sizeof *m->g)))
        return err_set(e, ERR_LIMIT, "no memory for the gradients");
    s->rule = (update){.rule = UPDATE_STORE};
    return run(m, data, b, s, e);
}

// Updates every weight by its gradient, on all threads. The split does not change the results.
struct follow {
    const model *m;
    update rule;
};

static void follow(void *ctx, int thread)
{
    const struct follow *f = ctx;
    size_t threads = f->m->tempo.alone ? 1 : (size_t)pool_threads(f->m->pool),
           lines = f->m->plan->values / 16;
    size_t from = lines * (size_t)thread / threads * 16;
    size_t to = lines * ((size_t)thread + 1) / threads * 16;
    params values = params_of(f->m);
    f->m->cpu->update(&f->rule, params_at(&values, from), f->m->g + from, to - from);
}

// The fused kernels use a gradient while it is in registers; with several ranks it must be averaged
// first, and to be clipped it must be whole.
static int train_apart(model *m, const model_data *data, const batch *b, step *s, err *e)
{
    update rule = s->rule;
    if (keep_gradients(m, data, b, s, e) < 0)
        return -1;
    if (m->spec.allreduce &&
        m->spec.allreduce(m->spec.allreduce_ctx, m->g, m->plan->values, "gradients", e) < 0)
        return -1;
    clip_gradients(m->plan, &m->spec.optimizer, m->g);
    pool_run(m->pool, m->tempo.alone, follow, &(struct follow){m, rule});
    return 0;
}

static batch_result result_of(const step *s)
{
    batch_result r = {.loss_sum = s->loss_sum};
    memcpy(r.metric, s->metric, sizeof r.metric);
    return r;
}

// The seed of this step's Dropout.
static uint64_t noise_of(const model *m)
{
    uint64_t rank = (uint64_t)m->spec.rank * 0x9e3779b97f4a7c15u;
    return (m->seed + (uint64_t)m->steps * 1000003) ^ rank;
}

int model_train_batch(model *m, const model_data *data, const batch *b, batch_result *r, err *e)
{
    m->steps++;
    step s = {.train = true, .rule = rule_of(m), .noise = noise_of(m)};
    bool apart = m->spec.allreduce || optimizer_clips(&m->spec.optimizer);
    int status = apart ? train_apart(m, data, b, &s, e) : run(m, data, b, &s, e);
    *r = result_of(&s);
    return status;
}

int model_test_batch(model *m, const model_data *data, const batch *b, batch_result *r, err *e)
{
    step s = {0};
    int status = run(m, data, b, &s, e);
    *r = result_of(&s);
    return status;
}

int model_predict_batch(model *m, const model_data *data, const batch *b, float *out, err *e)
{
    return run(m, data, b, &(step){.out = out}, e);
}

int model_gradient(
    model *m, const model_data *data, const batch *b, batch_result *r, const float **values, err *e)
{
    step s = {.train = true, .noise = noise_of(m)};
    if (keep_gradients(m, data, b, &s, e) < 0)
        return -1;
    *r = result_of(&s);
    *values = m->g;
    return 0;
}
