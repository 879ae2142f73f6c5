// SPDX-License-Identifier: MIT
// Makes weights and optimizer state, and reads and writes them: one by one in the usual shape, or
// all.
#include "trainer/nn/internal.h"

#include "base/mem.h"
#include "base/os/available.h"
#include "trainer/data/order.h"
#include "trainer/tensor/memory.h"

#include <math.h>
#include <string.h>

// Glorot and Bengio 2010: uniform in ±√(6 / (inputs + units)). Numbers are drawn in the order of
// the kernel's shape (inputs, units), so they do not depend on the layout of weights in memory.
// Each parameter that starts with random numbers has a generator of its own.
static void init_by_default(model *m, const parameter *p, random_state r)
{
    float limit =
        p->as.start == START_GLOROT ? sqrtf(6.0f / (float)(p->as.fan_in + p->as.fan_out)) : 0.05f;
    bool ones = p->as.start == START_ONES;
    for (size_t k = 0; k < p->rows && p->as.start != START_ZEROS; k++)
        for (size_t u = 0; u < p->columns; u++)
            m->w[parameter_at(p, k, u)] = ones ? 1 : (2 * random_unit(&r) - 1) * limit;
}

// Copies between the layout of `run` and the plain layout of a tensor; `in`: writes the run.
static void copy(const parameter *p, float *run, float *plain, bool in)
{
    size_t piece = p->as.panels ? PANEL : p->columns; // so many numbers of a row lie in one piece
    for (size_t k = 0; k < p->rows; k++)
        for (size_t u = 0; u < p->columns; u += piece) {
            size_t left = p->columns - u, n = left < piece ? left : piece;
            float *at = run + parameter_at(p, k, u), *beside = plain + k * p->columns + u;
            memcpy(in ? at : beside, in ? beside : at, n * sizeof *at);
        }
}

static int init_as_said(model *m, const parameter *p, random_state r, err *e)
{
    const initializer *start = &p->said->start;
    float *plain = memory_array(p->rows * p->columns, sizeof *plain);
    if (!plain)
        return err_set(
            e, ERR_LIMIT, "no memory to initialise %s/%s", m->layer[p->layer].name, p->as.name);
    random_state seeded = random_from((uint64_t)start->seed, 0);
    int status =
        initializer_fill(start, p->as.dims, p->as.shape, start->seeded ? seeded : r, plain, e);
    if (status == 0)
        copy(p, m->w, plain, true);
    free(plain);
    return status;
}

// A weight that is not random unless somebody says so has a generator that no other one has.
int model_init_weights(model *m, err *e)
{
    enum { OTHERS = 1 << 20 };
    size_t drawn = 0;
    for (size_t i = 0; i < m->graph->parameters; i++) {
        const parameter *p = &m->graph->parameter[i];
        bool random = p->as.start == START_GLOROT || p->as.start == START_SMALL;
        random_state r = random_from(m->seed, random ? drawn++ : OTHERS + i);
        bool is_read = m->most != 0; // all weights come from a file: only they count
        if (is_read || !p->said || p->said->start.kind == INITIALIZER_DEFAULT)
            init_by_default(m, p, r);
        else if (init_as_said(m, p, r, e) < 0)
            return -1;
    }
    return 0;
}

int model_init_slots(model *m, err *e)
{
    free(m->slot);
    m->slot = NULL;
    m->scattered = false;
    m->slots = optimizer_slots(&m->spec.optimizer);
    if (memory_check(m->slots * m->graph->values * sizeof *m->slot, "the optimizer's state", e) < 0)
        return -1;
    m->slot = memory_array(m->slots * m->graph->values, sizeof *m->slot);
    if (!m->slot)
        return err_set(e, ERR_LIMIT, "no memory for the optimizer's state");
    const optimizer_spec *o = &m->spec.optimizer;
    for (size_t i = 0; o->kind == OPTIMIZER_ADAGRAD && i < m->graph->values; i++)
        m->slot[i] = (float)o->initial_accumulator_value;
    // With weight decay also the weights of an input that is always 0 change.
    if (m->plan)
        memset(m->plan->seen, o->weight_decay > 0, m->plan->seen_size);
    return 0;
}

void model_forget_unseen(model *m)
{
    m->written++;
    if (m->plan)
        memset(m->plan->seen, 1, m->plan->seen_size);
}

static const parameter *find(const model *m, size_t i)
{
    return m->graph && i < m->graph->parameters ? &m->graph->parameter[i] : NULL;
}

size_t model_weight_count(const model *m)
{
    return m->graph ? m->graph->parameters : 0;
}

void model_weight_name(const model *m, size_t i, buf *out)
{
    const parameter *p = find(m, i);
    if (p)
        buf_fmt(out, "%s/%s", m->layer[p->layer].name, p->as.name);
}

static tensor *read_run(const model *m, float *run, size_t i, err *e)
{
    const parameter *p = run ? find(m, i) : NULL;
    if (!p) {
        err_set(e, ERR_USAGE, "the model has no weight number %zu", i);
        return NULL;
    }
    tensor *t = tensor_new(TENSOR_F32, p->as.dims, p->as.shape, e);
    if (t)
        copy(p, run, t->data, false);
    return t;
}

// How many numbers at the beginning are finite, in whole pieces: of these the compiler makes
// vectors.
static size_t finite_pieces(const float *at, size_t n)
{
    enum { PIECE = 64 };
    const uint32_t exponent = 0x7f800000;
    size_t done = 0;
    for (; done + PIECE <= n; done += PIECE) {
        uint32_t bits[PIECE], worst = 0;
        memcpy(bits, at + done, sizeof bits);
        for (size_t k = 0; k < PIECE; k++)
            worst |= (bits[k] & exponent) == exponent;
        if (worst)
            break;
    }
    return done;
}

// A number that is not finite would ruin every output without a word.
static int check_finite(const model *m, size_t i, const tensor *value, err *e)
{
    bool plain = value->type == TENSOR_F32 && !tensor_has_gaps(value);
    size_t n = tensor_count(value), done = plain ? finite_pieces(value->data, n) : 0;
    for (size_t k = done; k < n; k++) {
        if (plain && isfinite(((const float *)value->data)[k]))
            continue;
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
    const parameter *p = find(m, i);
    if (!p)
        return err_set(e, ERR_USAGE, "the model has no weight number %zu", i);
    size_t bytes = (size_t)p->as.dims * sizeof *p->as.shape;
    if (value->dims == p->as.dims && memcmp(value->shape, p->as.shape, bytes) == 0)
        return check_finite(m, i, value, e);
    AUTO_BUF name = {0}, wanted = {0}, have = {0};
    model_weight_name(m, i, &name);
    shape_text(p->as.dims, p->as.shape, &wanted);
    tensor_shape_text(value, &have);
    return err_set(e, ERR_USAGE, "%s expects shape %s, got %s", buf_cstr(&name), buf_cstr(&wanted),
        buf_cstr(&have));
}

static int write_run(model *m, float *run, size_t i, const tensor *value, err *e)
{
    if (!run)
        return err_set(e, ERR_USAGE, "the model has no such weights");
    if (model_check_weight(m, i, value, e) < 0)
        return -1;
    bool ready = value->type == TENSOR_F32 && !tensor_has_gaps(value);
    tensor *plain = ready ? tensor_ref(value) : tensor_to_f32(value, e);
    if (!plain)
        return -1;
    copy(find(m, i), run, plain->data, true);
    tensor_free(plain);
    model_forget_unseen(m);
    return 0;
}

static bool keeps_order(const node *n)
{
    layer_kind kind = n->op->kind;
    return kind == LAYER_DROPOUT || kind == LAYER_ACTIVATION || kind == LAYER_RELU ||
           kind == LAYER_BATCH_NORMALIZATION || kind == LAYER_RESCALING;
}

bool model_weight_of_flattened(const model *m, size_t i, row_shape *picture)
{
    const graph *g = m->graph;
    const node *n = NULL;
    for (size_t k = 0; k < g->n && !n; k++)
        if (g->node[k].parameters && g->node[k].first <= i &&
            i < g->node[k].first + g->node[k].parameters)
            n = &g->node[k];
    if (!n || (n->op->kind != LAYER_DENSE && n->op->kind != LAYER_BATCH_NORMALIZATION))
        return false;
    do
        n = &g->node[n->input[0]];
    while (n->inputs == 1 && keeps_order(n));
    if (n->op->kind != LAYER_FLATTEN)
        return false;
    *picture = g->node[n->input[0]].out;
    return picture->dims == 3 && picture->size[0] * picture->size[1] > 1 && picture->size[2] > 1;
}

bool model_weight_is_trained(const model *m, size_t i)
{
    const parameter *p = find(m, i);
    return p && !p->frozen;
}

tensor *model_weight_gradient(model *m, size_t i, err *e)
{
    tensor *t = read_run(m, m->g, i, e);
    if (t) {
        tensor_free(m->handed[i]);
        m->handed[i] = tensor_ref(t);
    }
    return t;
}

void model_forget_handed(model *m)
{
    for (size_t i = 0; m->handed && i < m->graph->parameters; i++) {
        tensor_free(m->handed[i]);
        m->handed[i] = NULL;
    }
}

void model_touch(model *m, size_t i)
{
    if (!m->touched || !m->touched[i]) // no table
        return;
    m->guessed = true;
    memset(m->touched[i], 1, m->graph->parameter[i].rows);
}

// Is this the gradient of weight i as it was handed out, which g has still?
static bool model_has_gradient(const model *m, size_t i, const tensor *value)
{
    const tensor *t = m->handed ? m->handed[i] : NULL;
    bool same = t && t->data == value->data && t->dims == value->dims && t->stride == value->stride;
    for (int d = 0; same && d < t->dims; d++)
        same = t->shape[d] == value->shape[d];
    return same;
}

int model_put_gradient(model *m, size_t i, const tensor *value, err *e)
{
    if (model_has_gradient(m, i, value))
        return 0;
    model_touch(m, i);
    return write_run(m, m->g, i, value, e);
}

static float *slot_run(const model *m, size_t slot)
{
    return m->graph && m->slot && slot < m->slots ? m->slot + slot * m->graph->values : NULL;
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
    if (m->scattered) {
        err_set(e, ERR_USAGE,
            "each rank has a share of the optimizer's state until an epoch of fit ends: save after "
            "it, or with include_optimizer = false");
        return NULL;
    }
    return read_run(m, slot_run(m, slot), weight, e);
}

int model_set_slot(model *m, size_t slot, size_t weight, const tensor *value, err *e)
{
    return write_run(m, slot_run(m, slot), weight, value, e);
}

static size_t copy_layer(const model *m, size_t layer, float *to, const float *from)
{
    size_t n = 0;
    for (size_t i = 0; i < model_weight_count(m); i++) {
        const parameter *p = &m->graph->parameter[i];
        if (p->layer != layer)
            continue;
        if (to)
            memcpy(to + n, m->w + p->at, p->size * sizeof *to);
        if (from)
            memcpy(m->w + p->at, from + n, p->size * sizeof *from);
        n += p->size;
    }
    return n;
}

size_t model_layer_floats(const model *m, size_t layer)
{
    return copy_layer(m, layer, NULL, NULL);
}

void model_read_layer(const model *m, size_t layer, float *out)
{
    copy_layer(m, layer, out, NULL);
}

void model_write_layer(model *m, size_t layer, const float *in)
{
    copy_layer(m, layer, NULL, in);
}

size_t model_widest_row(const model *m)
{
    size_t widest = 0;
    for (size_t i = 0; i < m->graph->n; i++) {
        const node *n = &m->graph->node[i];
        size_t floats = shape_size(&n->out);
        for (size_t k = 0; k < n->inputs; k++)
            floats += shape_size(&m->graph->node[n->input[k]].out);
        widest = floats > widest ? floats : widest;
    }
    return widest;
}

void model_layer_shapes(const model *m, size_t layer, buf *out)
{
    for (size_t i = 0; i < model_weight_count(m); i++) {
        const parameter *p = &m->graph->parameter[i];
        if (p->layer != layer)
            continue;
        buf_fmt(out, "%s%s ", out->len ? ", " : "", p->as.name);
        shape_text(p->as.dims, p->as.shape, out);
    }
}

float *model_weight_values(model *m, size_t *n)
{
    *n = m->graph ? m->graph->values : 0;
    return m->w;
}

float *model_slot_values(model *m, size_t *n)
{
    *n = m->graph && m->slot ? m->slots * m->graph->values : 0;
    return *n ? m->slot : NULL;
}

void model_written(model *m)
{
    model_forget_unseen(m);
}
