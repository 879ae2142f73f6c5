// SPDX-License-Identifier: MIT
#include "trainer/nn/train.h"

#include "base/clock.h"
#include "base/mem.h"
#include "trainer/nn/clip.h"
#include "trainer/nn/density.h"
#include "trainer/nn/exchange.h"
#include "trainer/nn/follow.h"
#include "trainer/nn/internal.h"
#include "trainer/nn/layer/layers.h"
#include "trainer/nn/plan/objective.h"
#include "trainer/nn/plan/step.h"
#include "trainer/tensor/memory.h"

#include <math.h>
#include <string.h>

enum { DENSITY_ROWS = 256 };

// The share of numbers that are not 0, sampled from rows all over x.
#define SHARE_LEAST 0.05
#define SHARE_MOST  0.95
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

// Are there so many zeros in x that skipping them is quicker?
static bool pays_sparse(model *m, const tensor *x)
{
    const plan_layer *first = &m->plan->layer[0];
    double share = density(x);
    bool bytes = x->type == TENSOR_U8;
    if (share >= SHARE_MOST || share < SHARE_LEAST) // whatever the processor
        return share < SHARE_LEAST;
    if (tensor_count(x) < DENSITY_FROM)
        return share < DENSITY_USUAL;
    double *from = &m->dense_from[bytes];
    size_t threads = (size_t)pool_threads(m->pool);
    if (!(*from > 0))
        *from = density_break_even(&(density_probe){.cpu = m->cpu,
            .bytes = bytes,
            .width = plan_width(first, 0),
            .panels = (first->panels + threads - 1) / threads});
    *from = *from > SHARE_LEAST ? *from : SHARE_LEAST; // so it is measured once
    return share < *from;
}

// The number of threads that have work: one for each panel of the widest layer.
static int useful_threads(const model *m)
{
    size_t parts = 1;
    int want = m->spec.threads ? m->spec.threads : pool_cores();
    for (size_t i = 0; m->plan && i < m->plan->n; i++) {
        const plan_layer *l = &m->plan->layer[i];
        size_t here = l->narrow ? l->slices : l->panels;
        parts = here > parts ? here : parts;
    }
    return m->flow || (size_t)want < parts ? want : (int)parts;
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

static int check_x(const tensor *x, err *e)
{
    AUTO_BUF shape = {0};
    tensor_shape_text(x, &shape);
    if (x->dims < 2 || !tensor_rows(x))
        return err_set(
            e, ERR_USAGE, "x must have rows of numbers, its shape is %s", buf_cstr(&shape));
    if (tensor_rows(x) > UINT32_MAX)
        return err_set(e, ERR_LIMIT, "x has %zu rows, more than 2^32", tensor_rows(x));
    return 0;
}

// Targets of output k.
static int check_y(const model *m, const tensor *x, const tensor *y, size_t k, err *e)
{
    compile_spec head = compile_head(&m->spec, k);
    row_shape out = model_output_shape(m, k);
    AUTO_BUF shape = {0};
    bool classes_of_rows = head.loss == LOSS_SPARSE_CATEGORICAL_CROSSENTROPY ||
                           head.loss == LOSS_CATEGORICAL_CROSSENTROPY;
    shape_text(out.dims, out.size, &shape);
    if (!head.own && classes_of_rows && op_last(&out) != shape_size(&out))
        return err_set(e, ERR_USAGE,
            "%s takes one class for each row, but rows of %s have shape %s: put Flatten, or a "
            "pooling layer, before its last layer",
            loss_name(head.loss), model_output_layer(m, k)->name, buf_cstr(&shape));
    if (tensor_rows(y) != tensor_rows(x))
        return err_set(
            e, ERR_USAGE, "x has %zu rows, but y has %zu", tensor_rows(x), tensor_rows(y));
    if (objective_check_targets(&head, shape_size(&out), y, e) < 0)
        return -1;
    bool classes = head.own && shape_size(&out) > 1;
    return classes ? 0 : objective_check_accuracy(&head, y, e);
}

// The node whose values this one's first input has, perhaps in another shape.
static size_t origin_of(const graph *g, const node *n)
{
    size_t from = n->input[0];
    while (g->node[from].inputs &&
           (g->node[from].op->kind == LAYER_FLATTEN || g->node[from].op->kind == LAYER_RESHAPE))
        from = g->node[from].input[0];
    return from;
}

int model_check_values(const model *m, size_t k, const tensor *x, err *e)
{
    size_t from = m->graph->input[k], width = tensor_row_size(x);
    for (size_t i = 0; i < m->graph->n; i++) {
        const node *n = &m->graph->node[i];
        if (n->op->kind != LAYER_EMBEDDING || origin_of(m->graph, n) != from)
            continue;
        size_t entries = ((const embedding_layer *)n->layer->own)->entries;
        for (size_t at = 0; at < tensor_count(x); at++) {
            double value = tensor_at(x, at);
            if (!(value >= 0 && value < (double)entries && value == floor(value)))
                return err_set(e, ERR_USAGE,
                    "%s expects indices from 0 to %zu, but row %zu of x holds %g", n->layer->name,
                    entries - 1, at / width, value);
        }
    }
    return 0;
}

static int check_inputs(const model *m, const tensor *const *xs, err *e)
{
    for (size_t k = 0; k < model_input_count(m); k++) {
        if (check_x(xs[k], e) < 0 || model_check_input(m, k, xs[k], e) < 0 ||
            model_check_values(m, k, xs[k], e) < 0)
            return k ? err_wrap(e, "input %zu", k + 1) : -1;
        if (tensor_rows(xs[k]) != tensor_rows(xs[0]))
            return err_set(e, ERR_USAGE, "input 1 has %zu rows, but input %zu has %zu",
                tensor_rows(xs[0]), k + 1, tensor_rows(xs[k]));
    }
    return 0;
}

int model_prepare_all(
    model *m, const tensor *const *xs, const tensor *const *ys, model_data *out, err *e)
{
    const tensor *x = xs[0];
    if (model_check_idle(m, e) < 0)
        return -1;
    if (!m->compiled && ys)
        return err_set(e, ERR_USAGE, "the model was not compiled: call compile first");
    if (!m->cpu && !(m->cpu = cpu_choose(NULL, e))) // a model that is not compiled predicts, too
        return -1;
    if (check_x(x, e) < 0 || (!m->graph && model_build(m, x->dims - 1, x->shape + 1, e) < 0) ||
        check_inputs(m, xs, e) < 0)
        return -1;
    for (size_t k = 0; ys && k < model_output_count(m); k++)
        if (check_y(m, x, ys[k], k, e) < 0)
            return k ? err_wrap(e, "output %zu", k + 1) : -1;
    bool values = x->type == TENSOR_U8 || x->type == TENSOR_F32;
    start_threads(m);
    bool sparse = m->spec.input == INPUT_BY_DENSITY ? values && m->plan && pays_sparse(m, x)
                                                    : values && m->spec.input == INPUT_SPARSE;
    *out = (model_data){.x = x, .y = ys ? ys[0] : NULL, .sparse = sparse, .xs = xs, .ys = ys};
    return 0;
}

int model_prepare(model *m, const tensor *x, const tensor *y, model_data *out, err *e)
{
    if (model_input_count(m) > 1 || (y && model_output_count(m) > 1))
        return err_set(e, ERR_USAGE, "the model has %zu inputs and %zu outputs: give it a list",
            model_input_count(m), model_output_count(m));
    int status = model_prepare_all(m, &x, y ? &y : NULL, out, e);
    out->xs = out->ys = NULL; // x and y are enough, and outlive this call
    return status;
}

int model_prepare_lists(model *m, const tensor *x, const tensor *y, const tensor *const *xs,
    const tensor *const *ys, model_data *out, err *e)
{
    int status = model_prepare_all(m, xs ? xs : &x, ys ? ys : &y, out, e);
    out->xs = xs;
    out->ys = ys;
    return status;
}

static int check_weights(const model_data *data, const tensor *w, err *e)
{
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

int model_check_weights(const model *m, const model_data *data, err *e)
{
    for (size_t k = 0; data->head_weights && k < model_output_count(m); k++)
        if (check_weights(data, data->head_weights[k], e) < 0)
            return err_wrap(e, "%s", model_output_layer(m, k)->name);
    return check_weights(data, data->weights, e);
}

static update_rule kind_of_rule(const optimizer_spec *o)
{
    switch (o->kind) {
    case OPTIMIZER_SGD:
        return !(o->momentum > 0) ? UPDATE_SGD : o->nesterov ? UPDATE_NESTEROV : UPDATE_MOMENTUM;
    case OPTIMIZER_RMSPROP:
        if (o->centered)
            return o->momentum > 0 ? UPDATE_RMSPROP_CENTERED_MOMENTUM : UPDATE_RMSPROP_CENTERED;
        return o->momentum > 0 ? UPDATE_RMSPROP_MOMENTUM : UPDATE_RMSPROP;
    case OPTIMIZER_ADAGRAD:
        return UPDATE_ADAGRAD;
    case OPTIMIZER_ADAM:
    case OPTIMIZER_ADAMW:
    case OPTIMIZER_LAZY_ADAM:
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

// There is one flow for training and one for prediction, since they join different nodes, and one
// more for predicting few rows, which keeps packed weights.
static flow *flow_for(model *m, bool train, size_t rows)
{
    if (m->plan || train)
        return m->flow;
    flow **f = &m->predicting[rows > FLOW_FEW_ROWS];
    if (!*f)
        *f = flow_new(m->graph, m->apart ? FUSE_NOTHING : FUSE_PREDICTING, m->dnn, &m->room);
    return *f;
}

static int run_batch(model *m, const model_data *data, const batch *b, step *s, err *e)
{
    int threads = pool_threads(m->pool);
    flow *f = flow_for(m, s->train, b->n);
    if (m->plan ? plan_reserve(m->plan, b->n, threads, e) < 0
                : flow_reserve(f, b->n, threads, s->train, e) < 0)
        return -1;
    s->plan = m->plan;
    s->cpu = m->cpu;
    s->pool = m->pool;
    s->values = model_params(m);
    s->touched = m->touched;
    s->spec = &m->spec;
    s->sparse = data->sparse && !(s->train && m->plan && m->plan->input_dropout > 0);
    s->x = data->x;
    s->y = data->y;
    s->xs = data->xs;
    s->ys = data->ys;
    s->weights = data->weights;
    s->head_weights = data->head_weights;
    s->outputs = b->outputs;
    s->rows = b->rows;
    s->n = b->n;
    s->next = b->next;
    s->alone = m->tempo.alone;
    m->written += s->train;
    s->written = m->written;
    if (s->train && m->plan && !s->sparse)
        model_forget_unseen(m); // dense kernels give every input moments
    int64_t began = clock_mono();
    if (m->plan)
        step_run(s);
    else if (flow_run(f, s, e) < 0)
        return -1;
    m->blamed = m->plan ? -1 : flow_blame(f);
    if (s->train && threads > 1)
        tempo_step(&m->tempo, clock_mono() - began);
    return 0;
}

static int run(model *m, const model_data *data, const batch *b, step *s, err *e)
{
    if (model_check_idle(m, e) < 0)
        return -1;
    m->running = true;
    int status = run_batch(m, data, b, s, e);
    m->running = false;
    return status;
}

// Where an update that ranks share takes them, if that is free.
static float *borrow_gradients(model *m)
{
    const share_ops *share = m->spec.share;
    float *g = share ? share->lend(m->spec.allreduce_ctx, m->graph->values) : NULL;
    m->lender = g ? share : NULL;
    m->lender_ctx = m->spec.allreduce_ctx;
    return g;
}

static int reserve_gradients(model *m, err *e)
{
    if (m->g)
        return 0;
    if (!(m->g = borrow_gradients(m)) && !(m->g = memory_array(m->graph->values, sizeof *m->g)))
        return err_set(e, ERR_LIMIT, "no memory for the gradients");
    m->handed = mem_array(m->graph->parameters, sizeof *m->handed);
    m->touched = mem_array(m->graph->parameters, sizeof *m->touched);
    for (size_t i = 0; i < m->graph->parameters; i++) {
        const parameter *p = &m->graph->parameter[i];
        bool regular =
            p->said && (p->said->l1 > 0 || p->said->l2 > 0); // then all rows have a gradient
        if (p->as.table && !p->as.fixed && !p->shared && !regular)
            m->touched[i] = mem_array(p->rows, sizeof **m->touched);
    }
    return 0;
}

// Computes gradients and keeps them instead of updating weights.
static int keep_gradients(model *m, const model_data *data, const batch *b, step *s, err *e)
{
    if (reserve_gradients(m, e) < 0)
        return -1;
    s->rule = (update){.rule = UPDATE_STORE};
    m->guessed = false;
    model_forget_handed(m);
    return run(m, data, b, s, e);
}

// Ranks share an update when each weight's follows from its own gradient alone, and all gradients
// travel whole.
void model_share_updates(model *m, bool on)
{
    const optimizer_spec *o = &m->spec.optimizer;
    m->shares = on && m->graph && m->spec.share && !optimizer_clips(o) &&
                o->kind != OPTIMIZER_LAZY_ADAM && !exchange_parts(m->graph);
}

int model_gather(model *m, err *e)
{
    for (size_t i = 0; m->scattered && i < m->slots; i++)
        if (m->spec.share->gather(
                m->spec.allreduce_ctx, m->slot + i * m->graph->values, m->graph->trained, e) < 0)
            return err_wrap(e, "the optimizer's state");
    m->scattered = false;
    return 0;
}

struct following {
    const model *m;
    update rule;
    double rate;
};

static void follow_share(void *ctx, size_t from, size_t to)
{
    const struct following *f = ctx;
    follow_part(f->m, f->rule, f->rate, from, to);
}

// 1: not in this step.
static int share_update(model *m, const struct following *f, err *e)
{
    enum { BLOCK = 4096 }; // for one thread: what its nearest cache holds
    bool alone = m->tempo.alone || pool_threads(m->pool) == 1;
    if (!m->shares)
        return 1;
    int status = m->spec.share->update(m->spec.allreduce_ctx, m->g, m->w, m->graph->trained,
        alone ? BLOCK : m->graph->trained, follow_share, (void *)f, e);
    m->scattered |= status == 0 && m->slots > 0;
    return status;
}

// One step by the gradients that were kept.
static int use_gradients(model *m, update rule, err *e)
{
    double rate = optimizer_at(&m->spec.optimizer, m->steps - 1).learning_rate;
    model_forget_handed(m); // what follows changes them
    int status = share_update(m, &(struct following){m, rule, rate}, e);
    if (status <= 0)
        return status;
    if (model_gather(m, e) < 0 || exchange_gradients(m, e) < 0)
        return -1;
    clip_gradients(m->graph, &m->spec.optimizer, m->g);
    follow_gradients(m, rule, rate);
    return 0;
}

// The fused kernels use a gradient while it is in registers; a graph has them one after the other,
// with several ranks it must be averaged first, and to be clipped it must be whole.
static int train_apart(model *m, const model_data *data, const batch *b, step *s, err *e)
{
    update rule = s->rule;
    exchange_along(m, s);
    return keep_gradients(m, data, b, s, e) < 0 ? -1 : use_gradients(m, rule, e);
}

static batch_result result_of(const step *s)
{
    batch_result r = {.loss_sum = s->loss_sum};
    memcpy(r.metric, s->metric[0], sizeof r.metric);
    memcpy(r.head_loss, s->head_loss, sizeof r.head_loss);
    memcpy(r.head_metric, s->metric, sizeof r.head_metric);
    return r;
}

// The seed of this step's Dropout. A loop that asks for gradients several times before a step gets
// another seed each time.
static uint64_t noise_of(const model *m)
{
    uint64_t again = m->asked * 0xd1342543de82ef95u;
    uint64_t rank = (uint64_t)m->spec.rank * 0x9e3779b97f4a7c15u;
    return (m->seed + (uint64_t)m->steps * 1000003 + again) ^ rank;
}

int model_train_batch(model *m, const model_data *data, const batch *b, batch_result *r, err *e)
{
    m->steps++;
    m->asked = 0;
    step s = {.train = true, .moves = true, .rule = rule_of(m), .noise = noise_of(m)};
    bool apart = m->flow || m->differ || m->spec.allreduce || optimizer_clips(&m->spec.optimizer);
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

int model_predict_all(model *m, const model_data *data, const batch *b, float *const *outs, err *e)
{
    return run(m, data, b, &(step){.out = outs[0], .outs = m->flow ? outs : NULL}, e);
}

int model_loop_gradient(model *m, const model_data *data, const batch *b, batch_result *r, err *e)
{
    m->steps++; // with the number of the step whose first half this is
    step s = {.train = true, .moves = true, .noise = noise_of(m)};
    int status = keep_gradients(m, data, b, &s, e);
    m->steps--;
    m->asked++;
    *r = result_of(&s);
    return status;
}

int model_apply(model *m, const tensor *const *gradients, size_t n, err *e)
{
    size_t at = 0, trained = 0;
    if (model_check_idle(m, e) < 0)
        return -1;
    if (!m->compiled || !m->graph)
        return err_set(e, ERR_USAGE,
            m->compiled ? "the model has no weights yet: build it first"
                        : "the model was not compiled: call compile first");
    for (size_t i = 0; i < m->graph->parameters; i++)
        trained += model_weight_is_trained(m, i);
    if (n != trained)
        return err_set(
            e, ERR_USAGE, "the model trains %zu weights, but got %zu gradients", trained, n);
    if (reserve_gradients(m, e) < 0)
        return -1;
    for (size_t i = 0; i < m->graph->parameters; i++)
        if (model_weight_is_trained(m, i) && model_check_weight(m, i, gradients[at++], e) < 0)
            return err_wrap(e, "the gradient of a weight");
    for (size_t i = at = 0; i < m->graph->parameters; i++)
        if (model_weight_is_trained(m, i) && model_put_gradient(m, i, gradients[at++], e) < 0)
            return -1;
    start_threads(m);
    model_forget_unseen(m); // any weight may have a gradient now
    m->steps++;
    m->asked = 0;
    return use_gradients(m, rule_of(m), e);
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
