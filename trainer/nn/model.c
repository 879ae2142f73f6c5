// SPDX-License-Identifier: MIT
#include "trainer/nn/internal.h"

#include "base/mem.h"
#include "trainer/nn/objective.h"
#include "trainer/tensor/available.h"
#include "trainer/tensor/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// More than any real model has. This keeps all products of sizes below far from overflow.
enum { LAYERS_MAX = 1000, UNITS_MAX = 1 << 24 };
static const size_t values_max = (size_t)1 << 34;

static int layer_error(const layer_spec *l, err *e, const char *why)
{
    AUTO_BUF text = {0};
    layer_text(l, &text);
    return err_set(e, ERR_USAGE, "%s %s", buf_cstr(&text), why);
}

static int check_layer(const layer_spec *all, size_t n, size_t i, err *e)
{
    const layer_spec *l = &all[i];
    bool last = i + 1 == n;
    if (memchr(l->name, 0, sizeof l->name) == NULL)
        return err_set(e, ERR_USAGE, "a layer's name is too long");
    switch (l->kind) {
    case LAYER_DENSE:
        if (l->units < 1 || l->units > UNITS_MAX || l->inputs > UNITS_MAX)
            return layer_error(l, e, "must have between 1 and 16777216 units and inputs");
        if (l->activation == ACTIVATION_SOFTMAX && !last)
            return layer_error(l, e, "has softmax, which is for the last layer");
        return 0;
    case LAYER_DROPOUT:
        if (!(l->rate >= 0 && l->rate < 1))
            return layer_error(l, e, "must have a rate of at least 0 and less than 1");
        if (last)
            return layer_error(l, e, "cannot be the last layer");
        if (i > 0 && all[i - 1].kind == LAYER_DROPOUT)
            return layer_error(l, e, "follows another Dropout: one is enough");
        return 0;
    case LAYER_FLATTEN:
        if (l->dims < 0 || l->dims > TENSOR_MAX_DIMS)
            return layer_error(l, e, "has too many dimensions");
        for (int d = 0; d < l->dims; d++)
            if (l->shape[d] < 1 || l->shape[d] > UNITS_MAX)
                return layer_error(l, e, "must have sizes between 1 and 16777216");
        return 0;
    }
    return err_set(e, ERR_USAGE, "unknown kind of layer %d", (int)l->kind);
}

// Gives unnamed layers Keras's names: dense, dense_1, …
static int name_layers(layer_spec *l, size_t n, err *e)
{
    size_t made[LAYER_DROPOUT + 1] = {0}; // number of names so far, by kind
    for (size_t i = 0; i < n; i++) {
        const char *id = layer_kind_id(l[i].kind);
        size_t number = l[i].name[0] ? 0 : made[l[i].kind]++;
        if (number)
            snprintf(l[i].name, sizeof l[i].name, "%s_%zu", id, number);
        else if (!l[i].name[0])
            snprintf(l[i].name, sizeof l[i].name, "%s", id);
        for (size_t j = 0; j < i; j++)
            if (strcmp(l[j].name, l[i].name) == 0)
                return err_set(e, ERR_USAGE, "two layers have the name \"%s\"", l[i].name);
    }
    return 0;
}

static size_t shape_product(int dims, const size_t *shape)
{
    size_t n = 1;
    for (int i = 0; i < dims; i++)
        n = n > values_max / (shape[i] + 1) ? values_max : n * shape[i];
    return n;
}

// The numbers in a row, as far as the layers tell; 0 when only data can tell.
static size_t told_inputs(const model *m)
{
    for (size_t i = 0; i < m->n; i++) {
        const layer_spec *l = &m->layer[i];
        if (l->kind == LAYER_FLATTEN && l->dims)
            return shape_product(l->dims, l->shape);
        if (l->kind == LAYER_DENSE)
            return l->inputs;
    }
    return 0;
}

// Connects the Dense layers, beginning with `inputs`; the error names the first that does not fit.
static int connect_layers(model *m, size_t inputs, err *e)
{
    size_t values = 0, have = inputs;
    for (size_t i = 0; i < m->n; i++) {
        layer_spec *l = &m->layer[i];
        if (l->kind != LAYER_DENSE)
            continue;
        AUTO_BUF text = {0};
        layer_text(l, &text);
        if (l->inputs && l->inputs != have)
            return err_set(
                e, ERR_USAGE, "%s expects %zu inputs, got %zu", buf_cstr(&text), l->inputs, have);
        l->inputs = have;
        values += (have + 1) * (l->units + PANEL);
        if (values > values_max)
            return err_set(
                e, ERR_LIMIT, "%s: the model would have too many weights", buf_cstr(&text));
        have = l->units;
    }
    return 0;
}

static int forget_plan(model *m)
{
    plan_free(m->plan);
    m->plan = NULL;
    return -1;
}

static int lay_out(model *m, size_t inputs, err *e)
{
    if (connect_layers(m, inputs, e) < 0)
        return -1;
    m->plan = plan_new(m->layer, m->n, inputs);
    size_t slots = m->compiled ? optimizer_slots(&m->spec.optimizer) : 0;
    if (memory_check((1 + slots) * m->plan->values * sizeof *m->w,
            slots ? "the weights and the optimizer's state" : "the weights", e) < 0)
        return forget_plan(m);
    m->w = memory_array(m->plan->values, sizeof *m->w);
    if (!m->w)
        return err_set(e, ERR_LIMIT, "no memory for %zu weights", m->plan->values);
    model_init_weights(m);
    return m->compiled ? model_init_slots(m, e) : 0;
}

model *model_new(const layer_spec *layers, size_t n, uint64_t seed, err *e)
{
    size_t dense = 0;
    for (size_t i = 0; i < n && n <= LAYERS_MAX; i++) {
        if (check_layer(layers, n, i, e) < 0)
            return NULL;
        dense += layers[i].kind == LAYER_DENSE;
    }
    if (!dense || n > LAYERS_MAX) {
        err_set(e, ERR_USAGE, "a model needs a Dense layer, and at most %d layers", LAYERS_MAX);
        return NULL;
    }
    model *m = mem_alloc(sizeof *m);
    m->n = n;
    m->layer = mem_dup(layers, n * sizeof *layers);
    m->seed = seed;
    size_t inputs = told_inputs(m);
    if (name_layers(m->layer, n, e) < 0 || (inputs && lay_out(m, inputs, e) < 0)) {
        model_free(m);
        return NULL;
    }
    return m;
}

void model_free(model *m)
{
    if (!m)
        return;
    pool_free(m->pool);
    plan_free(m->plan);
    free(m->w);
    free(m->slot);
    free(m->g);
    free(m->layer);
    free(m);
}

static const layer_spec *first_of(const model *m, layer_kind kind)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->layer[i].kind == kind)
            return &m->layer[i];
    return NULL;
}

static int check_rows(const model *m, int dims, const size_t *shape, err *e)
{
    const layer_spec *dense = first_of(m, LAYER_DENSE), *flatten = first_of(m, LAYER_FLATTEN);
    size_t got = shape_product(dims, shape);
    AUTO_BUF text = {0}, have = {0};
    layer_text(dense, &text);
    shape_text(dims, shape, &have);
    if (flatten > dense)
        flatten = NULL;
    if (m->plan && got != m->plan->inputs)
        return err_set(e, ERR_USAGE, "%s expects %zu inputs, got %zu (rows of shape %s)",
            buf_cstr(&text), m->plan->inputs, got, buf_cstr(&have));
    if (dims > 1 && !flatten)
        return err_set(e, ERR_USAGE, "%s expects rows of one dimension, got %s: put Flatten before",
            buf_cstr(&text), buf_cstr(&have));
    if (got < 1 || got > UNITS_MAX)
        return err_set(e, ERR_USAGE, "rows of shape %s cannot be trained on", buf_cstr(&have));
    return 0;
}

int model_build(model *m, int dims, const size_t *row_shape, err *e)
{
    if (check_rows(m, dims, row_shape, e) < 0)
        return -1;
    return m->plan ? 0 : lay_out(m, shape_product(dims, row_shape), e);
}

bool model_is_built(const model *m)
{
    return m->plan != NULL;
}

int model_compile(model *m, const compile_spec *spec, err *e)
{
    const layer_spec *last = &m->layer[m->n - 1];
    for (size_t i = 0; i < m->n; i++)
        last = m->layer[i].kind == LAYER_DENSE ? &m->layer[i] : last;
    if (optimizer_check(&spec->optimizer, e) < 0 || objective_check(spec, last->activation, e) < 0)
        return -1;
    const cpu_ops *cpu = cpu_choose(spec->cpu, e);
    if (!cpu)
        return -1;
    if (spec->threads < 0)
        return err_set(
            e, ERR_USAGE, "threads must be 0 (all cores) or more, not %d", spec->threads);
    m->spec = *spec;
    m->spec.cpu = cpu->name;
    m->cpu = cpu;
    m->compiled = true;
    m->steps = 0;
    return m->plan ? model_init_slots(m, e) : 0;
}

const compile_spec *model_compiled(const model *m)
{
    return m->compiled ? &m->spec : NULL;
}

void model_set_allreduce(model *m, allreduce_fn fn, void *ctx)
{
    m->spec.allreduce = fn;
    m->spec.allreduce_ctx = ctx;
    model_forget_unseen(m);
}

size_t model_layer_count(const model *m)
{
    return m->n;
}

const layer_spec *model_layer(const model *m, size_t i)
{
    return &m->layer[i];
}

size_t model_inputs(const model *m)
{
    return m->plan ? m->plan->inputs : 0;
}

size_t model_outputs(const model *m)
{
    for (size_t i = m->n; i-- > 0;)
        if (m->layer[i].kind == LAYER_DENSE)
            return m->layer[i].units;
    return 0;
}

uint64_t model_seed(const model *m)
{
    return m->seed;
}

const char *model_cpu(const model *m)
{
    return m->cpu ? m->cpu->name : "";
}

int model_threads(const model *m)
{
    return m->pool ? pool_threads(m->pool) : 0;
}

double model_learning_rate(const model *m)
{
    return optimizer_at(&m->spec.optimizer, m->steps).learning_rate;
}

int model_set_learning_rate(model *m, double value, err *e)
{
    optimizer_spec changed = m->spec.optimizer;
    if (changed.schedule.kind != SCHEDULE_NONE)
        return err_set(e, ERR_USAGE,
            "the learning rate is that of a schedule, %s: it cannot be set",
            schedule_name(changed.schedule.kind));
    changed.learning_rate = value;
    if (optimizer_check(&changed, e) < 0)
        return -1;
    m->spec.optimizer = changed;
    return 0;
}

double model_momentum(const model *m)
{
    return m->spec.optimizer.momentum;
}

int model_set_momentum(model *m, double value, err *e)
{
    // A warm-up's correction (momentum × new rate / old rate) exceeds 1 for one step.
    if (!(value >= 0 && value < HUGE_VAL))
        return err_set(e, ERR_USAGE, "momentum must be at least 0, not %g", value);
    if ((value > 0) != (m->spec.optimizer.momentum > 0))
        return err_set(e, ERR_USAGE, "momentum cannot be switched on or off after compile");
    m->spec.optimizer.momentum = value;
    return 0;
}

int64_t model_steps(const model *m)
{
    return m->steps;
}

void model_set_steps(model *m, int64_t steps)
{
    m->steps = steps;
}

int64_t model_epochs(const model *m)
{
    return m->epochs;
}

void model_set_epochs(model *m, int64_t epochs)
{
    m->epochs = epochs;
}

static void summary_row(buf *out, const layer_spec *l, size_t units, size_t parameters)
{
    AUTO_BUF name = {0}, shape = {0};
    buf_fmt(&name, "%s (%s)", l->name, layer_kind_name(l->kind));
    if (units)
        buf_fmt(&shape, "(None, %zu)", units);
    else
        buf_str(&shape, "?");
    buf_fmt(out, " %-28s %-20s %10zu\n", buf_cstr(&name), buf_cstr(&shape), parameters);
}

void model_summary(const model *m, buf *out)
{
    size_t units = told_inputs(m), total = 0;
    buf_fmt(out, "Model: \"sequential\"\n %-28s %-20s %10s\n", "Layer (type)", "Output Shape",
        "Param #");
    for (size_t i = 0; i < m->n; i++) {
        const layer_spec *l = &m->layer[i];
        bool dense = l->kind == LAYER_DENSE;
        size_t parameters = dense && l->inputs ? (l->inputs + !l->no_bias) * l->units : 0;
        units = dense ? l->units : units;
        summary_row(out, l, units, parameters);
        total += parameters;
    }
    buf_fmt(out, "Total params: %zu\n", total);
}
