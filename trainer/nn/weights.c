// SPDX-License-Identifier: MIT
// Makes weights and optimizer state, and reads and writes them: one by one in the usual shape, or
// all.
#include "trainer/nn/internal.h"

#include "base/mem.h"
#include "trainer/data/order.h"
#include "trainer/tensor/available.h"
#include "trainer/tensor/memory.h"

#include <math.h>
#include <string.h>

// Glorot and Bengio 2010: uniform in ±√(6 / (inputs + units)). Numbers are drawn in the order of
// the kernel's shape (inputs, units), so they do not depend on the layout of weights in memory.
void model_init_weights(model *m)
{
    for (size_t i = 0; i < m->plan->n; i++) {
        const plan_layer *l = &m->plan->layer[i];
        float limit = sqrtf(6.0f / (float)(l->inputs + l->units));
        random_state r = random_from(m->seed, i);
        for (size_t k = 0; k < l->inputs; k++)
            for (size_t u = 0; u < l->units; u++)
                m->w[plan_weight(l, k, u)] = (2 * random_unit(&r) - 1) * limit;
    }
}

int model_init_slots(model *m, err *e)
{
    free(m->slot);
    m->slot = NULL;
    m->slots = optimizer_slots(&m->spec.optimizer);
    if (memory_check(m->slots * m->plan->values * sizeof *m->slot, "the optimizer's state", e) < 0)
        return -1;
    m->slot = memory_array(m->slots * m->plan->values, sizeof *m->slot);
    if (!m->slot)
        return err_set(e, ERR_LIMIT, "no memory for the optimizer's state");
    const optimizer_spec *o = &m->spec.optimizer;
    for (size_t i = 0; o->kind == OPTIMIZER_ADAGRAD && i < m->plan->values; i++)
        m->slot[i] = (float)o->initial_accumulator_value;
    // With weight decay also the weights of an input that is always 0 change.
    memset(m->plan->seen, o->weight_decay > 0, m->plan->seen_size);
    return 0;
}

void model_forget_unseen(model *m)
{
    if (m->plan)
        memset(m->plan->seen, 1, m->plan->seen_size);
}

// Finds weight i, which is the kernel or the bias of a layer. Layers without a bias have one
// weight.
static const plan_layer *find(const model *m, size_t i, bool *bias)
{
    for (size_t at = 0; m->plan && at < m->plan->n; at++) {
        const plan_layer *l = &m->plan->layer[at];
        size_t here = l->bias ? 2 : 1;
        if (i < here) {
            *bias = i == 1;
            return l;
        }
        i -= here;
    }
    return NULL;
}

size_t model_weight_count(const model *m)
{
    size_t n = 0;
    for (size_t i = 0; m->plan && i < m->plan->n; i++)
        n += m->plan->layer[i].bias ? 2 : 1;
    return n;
}

void model_weight_name(const model *m, size_t i, buf *out)
{
    bool bias = false;
    const plan_layer *l = find(m, i, &bias);
    if (l)
        buf_fmt(out, "%s/%s", m->layer[l->spec].name, bias ? "bias" : "kernel");
}

// Copies between the layout of `run` and the plain layout of a tensor; `in`: writes the run.
static void copy(const plan_layer *l, bool bias, float *run, float *plain, bool in)
{
    size_t rows = bias ? 1 : l->inputs;
    for (size_t k = 0; k < rows; k++)
        for (size_t u = 0; u < l->units; u++) {
            float *at = run + (bias ? l->biases + u : plan_weight(l, k, u));
            if (in)
                *at = plain[k * l->units + u];
            else
                plain[k * l->units + u] = *at;
        }
}

static tensor *read_run(const model *m, float *run, size_t i, err *e)
{
    bool bias = false;
    const plan_layer *l = run ? find(m, i, &bias) : NULL;
    if (!l) {
        err_set(e, ERR_USAGE, "the model has no weight number %zu", i);
        return NULL;
    }
    tensor *t = bias ? tensor_new(TENSOR_F32, 1, &l->units, e)
                     : tensor_new(TENSOR_F32, 2, (size_t[]){l->inputs, l->units}, e);
    if (t)
        copy(l, bias, run, t->data, false);
    return t;
}

// A number that is not finite would ruin every output without a word.
static int check_finite(const model *m, size_t i, const tensor *value, err *e)
{
    for (size_t k = 0; k < tensor_count(value); k++) {
        AUTO_BUF name = {0};
        double number = tensor_at(value, k);
        if (isfinite(number))
            continue;
        model_weight_name(m, i, &name);
        return err_set(e, ERR_INVALID, "%s holds %g at index %zu", buf_cstr(&name), number, k);
    }
    return 0;
}

int model_check_weight(const model *m, size_t i, const tensor *value, err *e)
{
    bool bias = false;
    const plan_layer *l = find(m, i, &bias);
    if (!l)
        return err_set(e, ERR_USAGE, "the model has no weight number %zu", i);
    size_t want[2] = {bias ? l->units : l->inputs, l->units};
    int dims = bias ? 1 : 2;
    if (value->dims == dims && memcmp(value->shape, want, (size_t)dims * sizeof *want) == 0)
        return check_finite(m, i, value, e);
    AUTO_BUF name = {0}, wanted = {0}, have = {0};
    model_weight_name(m, i, &name);
    shape_text(dims, want, &wanted);
    tensor_shape_text(value, &have);
    return err_set(e, ERR_USAGE, "%s expects shape %s, got %s", buf_cstr(&name), buf_cstr(&wanted),
        buf_cstr(&have));
}

static int write_run(model *m, float *run, size_t i, const tensor *value, err *e)
{
    bool bias = false;
    if (!run)
        return err_set(e, ERR_USAGE, "the model has no such weights");
    if (model_check_weight(m, i, value, e) < 0)
        return -1;
    tensor *plain = tensor_to_f32(value, e);
    if (!plain)
        return -1;
    const plan_layer *l = find(m, i, &bias);
    copy(l, bias, run, plain->data, true);
    tensor_free(plain);
    model_forget_unseen(m);
    return 0;
}

static float *slot_run(const model *m, size_t slot)
{
    return m->plan && m->slot && slot < m->slots ? m->slot + slot * m->plan->values : NULL;
}

tensor *model_weight(const model *m, size_t i, err *e)
{
    return read_run(m, m->w, i, e);
}

int model_set_weight(model *m, size_t i, const tensor *value, err *e)
{
    return write_run(m, m->w, i, value, e);
}

size_t model_slot_count(const model *m)
{
    return m->slot ? m->slots : 0;
}

const char *model_slot_name(const model *m, size_t slot)
{
    return optimizer_slot_name(&m->spec.optimizer, slot);
}

tensor *model_slot(const model *m, size_t slot, size_t weight, err *e)
{
    return read_run(m, slot_run(m, slot), weight, e);
}

int model_set_slot(model *m, size_t slot, size_t weight, const tensor *value, err *e)
{
    return write_run(m, slot_run(m, slot), weight, value, e);
}

float *model_weight_values(model *m, size_t *n)
{
    *n = m->plan ? m->plan->values : 0;
    return m->w;
}

float *model_slot_values(model *m, size_t *n)
{
    *n = m->plan && m->slot ? m->slots * m->plan->values : 0;
    return *n ? m->slot : NULL;
}

void model_written(model *m)
{
    model_forget_unseen(m);
}
