// SPDX-License-Identifier: MIT
#include "trainer/nn/internal.h"

#include "base/mem.h"
#include "base/os/available.h"
#include "trainer/dnn/dnn.h"
#include "trainer/nn/exchange.h"
#include "trainer/nn/layer/layers.h"
#include "trainer/nn/plan/objective.h"
#include "trainer/tensor/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// More than any real model has. This keeps all products of sizes below far from overflow.
enum { LAYERS_MAX = 1000 };

static int layer_error(const layer_spec *l, err *e, const char *why)
{
    AUTO_BUF text = {0};
    layer_text(l, &text);
    return err_set(e, ERR_USAGE, "%s %s", buf_cstr(&text), why);
}

static int check_shape(const layer_spec *l, const row_shape *s, err *e)
{
    if (s->dims < 0 || s->dims > TENSOR_MAX_DIMS)
        return layer_error(l, e, "has too many dimensions");
    for (int d = 0; d < s->dims; d++)
        if (s->size[d] < 1 || s->size[d] > OP_UNITS_MAX)
            return layer_error(l, e, "must have sizes between 1 and 16777216");
    return 0;
}

static int check_layer(const layer_spec *l, err *e)
{
    if (memchr(l->name, 0, sizeof l->name) == NULL)
        return err_set(e, ERR_USAGE, "a layer's name is too long");
    const op *what = op_of(l->kind);
    err why = {0};
    if (what->check && what->check(l, &why) < 0)
        return layer_error(l, e, why.text);
    return check_shape(l, &l->in, e);
}

// The second call of dense is dense:2.
static void name_call(layer_spec *l, size_t i)
{
    char name[LAYER_NAME_SIZE]; // gcc sees that both names are in l, and not that they are others
    size_t calls = 2;
    if (l[i].name[0] || !l[i].shares || l[i].shares > i)
        return;
    for (size_t j = 0; j < i; j++)
        calls += l[j].shares == l[i].shares;
    snprintf(name, sizeof name, "%.*s:%zu", LAYER_NAME_SIZE - 6, l[l[i].shares - 1].name, calls);
    memcpy(l[i].name, name, sizeof name);
}

// Gives unnamed layers Keras's names: dense, dense_1, …
static int name_layers(layer_spec *l, size_t n, err *e)
{
    size_t made[LAYER_KIND_COUNT] = {0}; // number of names so far, by kind
    for (size_t i = 0; i < n; i++) {
        name_call(l, i);
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

// Layers that are to be computed anew in backward, by name.
static int mark_named(layer_spec *l, size_t n, const graph_spec *spec, err *e)
{
    for (size_t k = 0; k < spec->remats; k++) {
        size_t i = 0;
        while (i < n && strcmp(l[i].name, spec->remat[k]) != 0)
            i++;
        if (i == n)
            return err_set(e, ERR_USAGE,
                "remat: no layer is called \"%s\"; the first is \"%s\", the last \"%s\"",
                spec->remat[k], l[0].name, l[n - 1].name);
        l[i].remat = 1;
    }
    return 0;
}

static row_shape shape_from(int dims, const size_t *size)
{
    row_shape s = {.dims = dims};
    memcpy(s.size, size, (size_t)dims * sizeof *size);
    return s;
}

// The shape of a row of the input, as far as a row of layers tells it; no dims when only data can.
static row_shape told_shape(const model *m)
{
    for (size_t i = 0; i < m->n; i++) {
        const layer_spec *l = &m->layer[i];
        if (l->in.dims)
            return l->in;
        const shape_layer *shape = l->own;
        const dense_layer *dense = l->own;
        if ((l->kind == LAYER_FLATTEN || l->kind == LAYER_INPUT) && shape->dims)
            return *shape;
        if (l->kind == LAYER_DENSE && dense->inputs)
            return shape_from(1, &dense->inputs);
        if (l->kind != LAYER_FLATTEN && l->kind != LAYER_DROPOUT)
            break;
    }
    return (row_shape){0};
}

static void free_flows(model *m)
{
    flow_free(m->flow);
    for (size_t i = 0; i < ARRAY_LEN(m->predicting); i++) {
        flow_free(m->predicting[i]);
        m->predicting[i] = NULL;
    }
    free(m->room.at);
    m->room = (flow_room){0};
    m->flow = NULL;
}

void model_plan_flow(model *m, bool apart)
{
    free_flows(m);
    m->apart = apart;
    m->flow = flow_new(m->graph, apart ? FUSE_NOTHING : FUSE_TRAINING, m->dnn, &m->room);
}

static int forget_layout(model *m)
{
    plan_free(m->plan);
    free_flows(m);
    graph_free(m->graph);
    free(m->w);
    m->plan = NULL;
    m->graph = NULL;
    m->w = NULL;
    return -1;
}

bool model_has_own_loss(const model *m)
{
    bool own = false;
    for (size_t k = 0; m->compiled && k < model_output_count(m); k++)
        own |= compile_head(&m->spec, k).own != NULL;
    return own;
}

// The fused chain has only the built-in losses, without a loss weight. A custom loss, or a weight
// other than 1, needs the flow.
static bool loss_wants_flow(const model *m)
{
    double weight = m->compiled ? m->spec.loss_weight : 0;
    return model_has_own_loss(m) || (weight > 0 && weight != 1);
}

// The chain computes in floats, which costs less than bf16 where weights fit in a cache.
static bool wants_half(const model *m)
{
    enum { LARGE = 1 << 18 };
    bool large = false;
    for (size_t i = 0; i < m->graph->n; i++) {
        const node *n = &m->graph->node[i];
        large |= n->op->kind == LAYER_DENSE && n->layer->half &&
                 m->graph->parameter[n->first].size >= LARGE;
    }
    return large && m->dnn && m->dnn->has_half();
}

static bool is_still(const graph *g, size_t at)
{
    for (size_t i = 0; i < g->parameters; i++)
        if (g->parameter[i].at == at)
            return g->parameter[i].frozen;
    return false;
}

// The chain leaves out gradients that nobody wants, too.
static void still_plan(plan *p, const graph *g)
{
    p->lowest = p->n;
    for (size_t i = p->n; i-- > 0;) {
        plan_layer *l = &p->layer[i];
        l->still_weights = is_still(g, l->weights);
        l->still_bias = !l->bias || is_still(g, l->biases);
        if (!l->still_weights || !l->still_bias)
            p->lowest = i;
    }
}

// Chooses what runs the graph. The fused chain has the same weights at the same places.
static void plan_graph(model *m)
{
    const graph *g = m->graph;
    bool fused = graph_is_chain(g) && !loss_wants_flow(m) && !wants_half(m);
    plan_free(m->plan);
    m->plan = fused ? plan_new(m->layer, m->n, shape_size(&g->node[0].out)) : NULL;
    if (fused) {
        free_flows(m);
        still_plan(m->plan, g);
    } else
        model_plan_flow(m, m->apart);
}

// Sets how each weight follows the optimizer, and what runs the graph accordingly.
static int model_set_groups(model *m, err *e)
{
    if (param_groups_apply(m->graph, m->groups, m->compiled ? m->spec.group_count : 0, e) < 0)
        return -1;
    m->differ = param_groups_differ(m->graph);
    if (m->flow) // it leaves out gradients that nobody wants
        model_plan_flow(m, m->apart);
    if (m->plan)
        still_plan(m->plan, m->graph);
    return 0;
}

const layer_spec *model_output_layer(const model *m, size_t k)
{
    size_t last = m->n - 1;
    if (m->output_count)
        return &m->layer[m->outputs[k]];
    bool chain = m->graph ? graph_is_chain(m->graph) : layers_are_chain(m->layer, m->n);
    while (chain && m->layer[last].kind != LAYER_DENSE)
        last--;
    return &m->layer[last];
}

static int check_heads(const model *m, const compile_spec *spec, err *e)
{
    for (size_t k = 0; k < model_output_count(m); k++) {
        activation f = layer_activation(model_output_layer(m, k));
        compile_spec head = compile_head(spec, k);
        if (objective_check(&head, activation_is_of_output(f) ? f : ACTIVATION_LINEAR, e) < 0)
            return k ? err_wrap(e, "%s", model_output_layer(m, k)->name) : -1;
    }
    return 0;
}

static int lay_out(model *m, const row_shape *in, err *e)
{
    ERR_GUARD(e);
    m->graph =
        graph_new(m->layer, m->n, m->inputs, m->input_count, m->outputs, m->output_count, in, e);
    if (m->most && (m->graph ? m->graph->numbers > m->most : e->code == ERR_LIMIT)) {
        err_set(e, ERR_CORRUPT, "the layers need more weights than the file has");
        return forget_layout(m);
    }
    if (!m->graph)
        return -1;
    if (!m->graph->trained) {
        err_set(e, ERR_USAGE, "a model needs a layer with weights, such as Dense");
        return forget_layout(m);
    }
    size_t values = m->graph->values, slots = m->compiled ? optimizer_slots(&m->spec.optimizer) : 0;
    plan_graph(m);
    if (m->compiled && check_heads(m, &m->spec, e) < 0) // only now it is known what comes last
        return forget_layout(m);
    if (memory_check((1 + slots) * values * sizeof *m->w,
            slots ? "the weights and the optimizer's state" : "the weights", e) < 0)
        return forget_layout(m);
    m->w = memory_array(values, sizeof *m->w);
    if (!m->w) {
        err_set(e, ERR_LIMIT, "no memory for %zu weights", values);
        return forget_layout(m);
    }
    if (model_set_groups(m, e) < 0)
        return forget_layout(m);
    if (!m->input_count && m->flow && m->layer[0].kind != LAYER_INPUT)
        m->layer[0].in = *in; // a checkpoint has to tell it
    if (model_init_weights(m, e) < 0)
        return forget_layout(m);
    return m->compiled ? model_init_slots(m, e) : 0;
}

// What the layer is told, new.
static void *copy_own(const layer_spec *l)
{
    const declaration *d = &op_of(l->kind)->is;
    if (!d->size)
        return NULL;
    void *own = mem_alloc(d->size);
    if (l->own)
        memcpy(own, l->own, d->size);
    else
        declaration_defaults(d, own);
    declaration_copy(d, own);
    return own;
}

static void copy_layers(model *m, const graph_spec *spec)
{
    m->n = spec->n;
    m->layer = mem_dup(spec->layers, spec->n * sizeof *spec->layers);
    for (size_t i = 0; i < m->n; i++) {
        layer_spec *l = &m->layer[i];
        l->own = copy_own(l);
        l->from =
            spec->input_count && l->froms ? mem_dup(l->from, l->froms * sizeof *l->from) : NULL;
        l->froms = l->from ? l->froms : 0;
    }
    m->input_count = spec->input_count;
    m->output_count = spec->input_count ? spec->output_count : 0;
    if (spec->input_count)
        m->inputs = mem_dup(spec->inputs, spec->input_count * sizeof *spec->inputs);
    if (m->output_count)
        m->outputs = mem_dup(spec->outputs, spec->output_count * sizeof *spec->outputs);
}

static int check_layers(const graph_spec *spec, err *e)
{
    if (spec->n < 1 || spec->n > LAYERS_MAX)
        return err_set(e, ERR_USAGE, "a model needs a layer, and at most %d", LAYERS_MAX);
    if (spec->output_count > HEADS_MAX)
        return err_set(e, ERR_USAGE, "a model has at most %d outputs", HEADS_MAX);
    return 0;
}

model *model_new_graph(const graph_spec *spec, err *e)
{
    if (check_layers(spec, e) < 0)
        return NULL;
    model *m = mem_alloc(sizeof *m);
    m->seed = spec->seed;
    snprintf(m->name, sizeof m->name, "%s", spec->name ? spec->name : "");
    m->most = spec->most;
    copy_layers(m, spec);
    for (size_t i = 0; i < m->n; i++)
        if (check_layer(&m->layer[i], e) < 0) {
            model_free(m);
            return NULL;
        }
    row_shape in = m->input_count ? (row_shape){0} : told_shape(m);
    bool known = m->input_count || in.dims;
    if (name_layers(m->layer, m->n, e) < 0 || mark_named(m->layer, m->n, spec, e) < 0 ||
        (known && lay_out(m, &in, e) < 0)) {
        model_free(m);
        return NULL;
    }
    return m;
}

model *model_new(const layer_spec *layers, size_t n, uint64_t seed, err *e)
{
    return model_new_graph(&(graph_spec){.layers = layers, .n = n, .seed = seed}, e);
}

static void free_own(layer_spec *l)
{
    void *own = (void *)(uintptr_t)l->own;
    if (own)
        declaration_done(&op_of(l->kind)->is, own);
    free(own);
}

void model_free(model *m)
{
    if (!m)
        return;
    bool gradients_stay = exchange_goes_on(m); // who averages still writes there
    pool_free(m->pool);
    for (size_t i = 0; m->touched && i < m->graph->parameters; i++)
        free(m->touched[i]);
    free(m->touched);
    model_forget_handed(m);
    free(m->handed);
    forget_layout(m);
    param_groups_free(m->groups, m->spec.group_count);
    free(m->slot);
    if (m->lender)
        m->lender->take_back(m->lender_ctx);
    else if (!gradients_stay)
        free(m->g);
    for (size_t i = 0; i < m->n; i++) {
        free((void *)m->layer[i].from);
        free_own(&m->layer[i]);
    }
    free(m->layer);
    free(m->inputs);
    free(m->outputs);
    free(m);
}

// The layer that sees input k first, for errors.
static const layer_spec *first_layer(const model *m, size_t k)
{
    if (m->input_count)
        return &m->layer[m->inputs[k]];
    const row_shape in = model_input_shape(m, k);
    for (size_t i = 0; in.dims < 2 && i < m->n; i++)
        if (m->layer[i].kind == LAYER_DENSE)
            return &m->layer[i];
    return &m->layer[0];
}

// Does the first layer that cares take rows of any shape?
static bool starts_flat(const model *m)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->layer[i].kind == LAYER_FLATTEN)
            return true;
        else if (m->layer[i].kind != LAYER_DROPOUT && m->layer[i].kind != LAYER_INPUT)
            return false;
    return false;
}

static int check_rows(const model *m, size_t k, const row_shape *given, err *e)
{
    AUTO_BUF have = {0}, want = {0};
    shape_text(given->dims, given->size, &have);
    const char *name = first_layer(m, k)->name;
    row_shape in = model_input_shape(m, k);
    size_t got = shape_size(given), expected = shape_size(&in);
    shape_text(in.dims, in.size, &want);
    if (m->graph && in.dims > 1 && got != expected)
        return err_set(e, ERR_USAGE, "%s expects rows of shape %s, got %s", name, buf_cstr(&want),
            buf_cstr(&have));
    if (m->graph && got != expected)
        return err_set(e, ERR_USAGE, "%s expects %zu inputs, got %zu (rows of shape %s)", name,
            expected, got, buf_cstr(&have));
    if (m->graph && in.dims == 1 && given->dims > 1 && !starts_flat(m))
        return err_set(e, ERR_USAGE, "%s expects rows of one dimension, got %s: put Flatten before",
            name, buf_cstr(&have));
    if (got < 1 || got > OP_UNITS_MAX)
        return err_set(e, ERR_USAGE, "rows of shape %s cannot be trained on", buf_cstr(&have));
    return 0;
}

int model_build(model *m, int dims, const size_t *row_shape_, err *e)
{
    row_shape given = shape_from(dims, row_shape_);
    return check_rows(m, 0, &given, e) < 0 ? -1 : m->graph ? 0 : lay_out(m, &given, e);
}

int model_check_input(const model *m, size_t k, const tensor *x, err *e)
{
    row_shape given = shape_from(x->dims - 1, x->shape + 1);
    return check_rows(m, k, &given, e);
}

bool model_is_built(const model *m)
{
    return m->graph != NULL;
}

static void put_head(compile_spec *spec, const head_spec *h)
{
    spec->loss = h->loss;
    spec->own = h->own;
    spec->from_logits = h->from_logits;
    spec->label_smoothing = h->label_smoothing;
    spec->delta = h->delta;
    spec->metrics = h->metrics;
    spec->loss_weight = h->loss_weight;
}

compile_spec compile_head(const compile_spec *spec, size_t k)
{
    compile_spec s = *spec;
    if (!k)
        return s;
    put_head(&s, &spec->more[k - 1]);
    return s;
}

static void take_spec(model *m, const compile_spec *spec)
{
    param_group *copy = param_groups_copy(spec->groups, spec->group_count);
    param_groups_free(m->groups, m->spec.group_count);
    m->spec = *spec;
    m->spec.groups = m->groups = copy;
}

int model_check_idle(const model *m, err *e)
{
    return !m->running ? 0
                       : err_set(e, ERR_USAGE,
                             "the model is in the middle of a batch: its loss cannot use it");
}

int model_set_trainable(model *m, size_t i, bool trainable, err *e)
{
    if (model_check_idle(m, e) < 0)
        return -1;
    for (size_t k = 0; k < m->n; k++)
        if (k == i || m->layer[k].shares == i + 1)
            m->layer[k].frozen = !trainable;
    return 0;
}

int model_compile(model *m, const compile_spec *spec, err *e)
{
    if (model_check_idle(m, e) < 0 || optimizer_check(&spec->optimizer, e) < 0 ||
        check_heads(m, spec, e) < 0 || param_groups_check(spec->groups, spec->group_count, e) < 0)
        return -1;
    const cpu_ops *cpu = cpu_choose(spec->cpu, e);
    if (!cpu)
        return -1;
    if (spec->threads < 0)
        return err_set(
            e, ERR_USAGE, "threads must be 0 (all cores) or more, not %d", spec->threads);
    if (m->graph && param_groups_apply(m->graph, spec->groups, spec->group_count, e) < 0)
        return -1;
    take_spec(m, spec);
    m->spec.cpu = cpu->name;
    m->cpu = cpu;
    memset(m->dense_from, 0, sizeof m->dense_from);
    m->compiled = true;
    m->steps = 0;
    if (m->graph && graph_is_chain(m->graph) && (m->flow != NULL) != loss_wants_flow(m))
        plan_graph(m);
    return m->graph && (model_set_groups(m, e) < 0 || model_init_slots(m, e) < 0) ? -1 : 0;
}

int model_set_heads(model *m, const head_spec *heads, err *e)
{
    compile_spec changed = m->spec;
    if (model_check_idle(m, e) < 0)
        return -1;
    if (!m->compiled)
        return err_set(e, ERR_USAGE, "the model was not compiled: call compile first");
    put_head(&changed, &heads[0]);
    for (size_t k = 1; k < model_output_count(m); k++)
        changed.more[k - 1] = heads[k];
    if (check_heads(m, &changed, e) < 0)
        return -1;
    m->spec = changed;
    if (m->plan && loss_wants_flow(m))
        plan_graph(m);
    return 0;
}

const compile_spec *model_compiled(const model *m)
{
    return m->compiled ? &m->spec : NULL;
}

void model_set_threads(model *m, int threads)
{
    m->spec.threads = threads;
}

static bool of_all_ranks(const layer_spec *l)
{
    const op *what = op_of(l->kind);
    return what->of_all_ranks && what->of_all_ranks(l);
}

bool model_needs_all_ranks(const model *m)
{
    bool needs = m->compiled && m->spec.allreduce;
    for (size_t i = 0; m->compiled && m->spec.allsum && i < m->n; i++)
        needs |= of_all_ranks(&m->layer[i]);
    return needs;
}

bool model_wants_dnn(const model *m)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->layer[i].kind == LAYER_CONV2D || m->layer[i].kind == LAYER_DEPTHWISE_CONV2D ||
            m->layer[i].kind == LAYER_SEPARABLE_CONV2D || m->layer[i].kind == LAYER_CONV1D ||
            (m->layer[i].kind == LAYER_DENSE && m->layer[i].half))
            return true;
    return false;
}

void model_set_dnn(model *m, const struct dnn_ops *dnn)
{
    if (m->dnn == dnn || m->running)
        return;
    m->dnn = dnn;
    if (m->graph)
        plan_graph(m);
}

size_t model_layer_count(const model *m)
{
    return m->n;
}

const layer_spec *model_layer(const model *m, size_t i)
{
    return &m->layer[i];
}

size_t model_input_count(const model *m)
{
    return m->input_count ? m->input_count : 1;
}

size_t model_output_count(const model *m)
{
    return m->output_count ? m->output_count : 1;
}

row_shape model_input_shape(const model *m, size_t i)
{
    return m->graph ? m->graph->node[m->graph->input[i]].out : (row_shape){0};
}

row_shape model_output_shape(const model *m, size_t i)
{
    return m->graph ? m->graph->node[m->graph->output[i]].out : (row_shape){0};
}

static size_t told_units(const layer_spec *l)
{
    return l->kind == LAYER_DENSE ? ((const dense_layer *)l->own)->units : 0;
}

size_t model_outputs(const model *m)
{
    row_shape out = model_output_shape(m, 0);
    return m->graph ? shape_size(&out) : told_units(model_output_layer(m, 0));
}

const size_t *model_input_layers(const model *m, size_t *n)
{
    *n = m->input_count;
    return m->inputs;
}

const size_t *model_output_layers(const model *m, size_t *n)
{
    *n = m->output_count;
    return m->outputs;
}

const char *model_name(const model *m)
{
    return *m->name ? m->name : m->input_count ? "functional" : "sequential";
}

bool model_is_named(const model *m)
{
    return *m->name;
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
