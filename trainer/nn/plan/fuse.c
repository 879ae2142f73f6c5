// SPDX-License-Identifier: MIT
#include "trainer/nn/plan/fuse.h"

#include "base/mem.h"
#include "trainer/dnn/dnn.h"
#include "trainer/nn/layer/layers.h"

#include <math.h>
#include <string.h>

static const size_t none = SIZE_MAX;

// The nodes while they are joined. A joined node stands at the place of its last part.
struct fusing {
    const graph *g;
    node *node;     // [g->n]
    bool *gone;     // [g->n]
    size_t *reader; // [g->n]: the one node that reads it; none: several do, or it is an output
};

static void find_readers(struct fusing *f)
{
    const graph *g = f->g;
    AUTO_FREE size_t *uses = mem_array(g->n, sizeof *uses);
    for (size_t i = 0; i < g->n; i++)
        for (size_t k = 0; k < g->node[i].inputs; k++) {
            uses[g->node[i].input[k]]++;
            f->reader[g->node[i].input[k]] = i;
        }
    for (size_t k = 0; k < g->outputs; k++)
        uses[g->output[k]]++;
    for (size_t i = 0; i < g->n; i++)
        if (uses[i] != 1)
            f->reader[i] = none;
    for (size_t k = 0; k < g->outputs; k++)
        f->reader[g->output[k]] = none;
}

static bool is_output(const graph *g, size_t i)
{
    for (size_t k = 0; k < g->outputs; k++)
        if (g->output[k] == i)
            return true;
    return false;
}

static bool wants_half(const node *n)
{
    return n->layer && n->layer->half;
}

// Its only reader, if that may be joined to it. A joined node has one type of numbers.
static const node *after(const struct fusing *f, size_t i)
{
    size_t j = f->reader[i];
    return j == none || f->gone[j] || f->node[j].clip ||
                   wants_half(&f->g->node[i]) != wants_half(&f->g->node[j]) ||
                   f->node[j].inputs != f->g->node[j].inputs || f->node[j].op != f->g->node[j].op ||
                   is_output(f->g, j)
               ? NULL
               : &f->g->node[j];
}

static bool clips(const node *n, float *most)
{
    const layer_spec *l = n->layer;
    *most = INFINITY;
    if (!l || n->echo)
        return false;
    if (l->kind == LAYER_ACTIVATION)
        return layer_activation(l) == ACTIVATION_RELU;
    if (l->kind != LAYER_RELU)
        return false;
    const relu_layer *relu = l->own;
    *most = (float)relu->most;
    return !(relu->slope > 0) && !(relu->threshold > 0) && relu->most > 0;
}

static bool is_shared(const graph *g, const node *n)
{
    for (size_t i = 0; i < n->parameters; i++)
        if (g->parameter[n->first + i].shared)
            return true;
    return false;
}

// Where the node is after it took in what follows it: i itself, or the place of the last part.
struct tail {
    size_t at, other; // other: what is added; none: nothing
    bool clip;
    float most;
};

static struct tail tail_of(const struct fusing *f, size_t i, bool add)
{
    struct tail t = {.at = i, .other = none, .most = INFINITY};
    const node *next = after(f, i);
    if (add && next && next->op->kind == LAYER_ADD && next->inputs == 2) {
        t.other = next->input[next->input[0] == i];
        t.at = f->reader[i];
        next = after(f, t.at);
    }
    if (next && clips(next, &t.most)) {
        t.clip = true;
        t.at = f->reader[t.at];
    }
    return t;
}

// Makes node i, with its tail, the node at t->at.
static void join(struct fusing *f, size_t i, const struct tail *t)
{
    node joined = f->node[i];
    for (size_t j = i; j != t->at; j = f->reader[j])
        f->gone[j] = true;
    joined.owner = t->at;
    joined.remat = f->node[t->at].remat;
    joined.clip = t->clip;
    joined.most = t->most;
    if (t->other != none) {
        size_t inputs[] = {joined.input[0], t->other};
        free(joined.input);
        joined.input = mem_dup(inputs, sizeof inputs);
        joined.inputs = 2;
        f->node[i].input = NULL;
    }
    if (t->at == i) {
        f->node[i] = joined;
        return;
    }
    if (t->other == none)
        f->node[i].input = NULL; // it went over
    free(f->node[t->at].input);
    f->node[t->at] = joined;
}

static void fuse_convolution(struct fusing *f, size_t i)
{
    const node *n = &f->g->node[i], *norm = after(f, i);
    bool whole = layer_activation(n->layer) == ACTIVATION_LINEAR && !is_shared(f->g, n);
    bool folds =
        whole && norm && norm->op->kind == LAYER_BATCH_NORMALIZATION && !is_shared(f->g, norm);
    if (!whole || is_output(f->g, i))
        return;
    struct tail t = tail_of(f, folds ? f->reader[i] : i, true);
    if (folds) {
        f->node[i].norm = norm->layer;
        f->node[i].norm_first = norm->first;
    }
    join(f, i, &t);
}

static void fuse_normalization(struct fusing *f, size_t i)
{
    struct tail t = tail_of(f, i, true);
    if (!is_shared(f->g, &f->g->node[i]) && !is_output(f->g, i))
        join(f, i, &t);
}

static bool is_convolution(const node *n)
{
    return n->op->kind == LAYER_CONV2D || n->op->kind == LAYER_DEPTHWISE_CONV2D;
}

// Goes from the last node to the first. An Add can be joined to either of its two inputs; it is
// joined to the later one, so that the earlier one's output is there when it is needed.
static void fuse_all(struct fusing *f, fuse_for what)
{
    for (size_t i = f->g->n; what == FUSE_PREDICTING && i-- > 0;)
        if (is_convolution(&f->g->node[i]))
            fuse_convolution(f, i);
    for (size_t i = f->g->n; what != FUSE_NOTHING && i-- > 0;)
        if (f->g->node[i].op->kind == LAYER_BATCH_NORMALIZATION && !f->gone[i] &&
            f->node[i].op->kind == LAYER_BATCH_NORMALIZATION)
            fuse_normalization(f, i);
}

// Can it have bf16, and does its layer want it?
static bool is_half(const graph *g, const node *n, const struct dnn_ops *dnn)
{
    if (!wants_half(n) || !n->op->halves || is_output(g, (size_t)(n - g->node)))
        return false;
    AUTO_FREE row_shape *in = mem_array(n->inputs + 1, sizeof *in);
    AUTO_FREE size_t *ld = mem_array(n->inputs + 1, sizeof *ld);
    for (size_t k = 0; k < n->inputs; k++) {
        in[k] = g->node[n->input[k]].out;
        ld[k] = op_round(shape_size(&in[k]), 16);
    }
    op_work w = {.layer = n->layer,
        .inputs = n->inputs,
        .in = in,
        .out = n->out,
        .rows = 1,
        .chunk_rows = 1,
        .ldx = ld,
        .ldy = op_round(shape_size(&n->out), 16),
        .f = layer_activation(n->layer),
        .clip = n->clip,
        .most = n->most,
        .half = true,
        .dnn = dnn};
    return n->op->halves(&w);
}

static bool all_readers_half(const graph *g, size_t i)
{
    bool any = false;
    for (size_t j = i + 1; j < g->n; j++)
        for (size_t k = 0; k < g->node[j].inputs; k++)
            if (g->node[j].input[k] == i) {
                any = true;
                if (!g->node[j].half)
                    return false;
            }
    return any;
}

static void choose_halves(graph *g, const struct dnn_ops *dnn)
{
    if (!dnn || !dnn->has_half())
        return;
    for (size_t i = 0; i < g->n; i++)
        g->node[i].half = is_half(g, &g->node[i], dnn);
    for (size_t i = 0; i < g->n; i++) // inputs are converted while their rows are gathered
        if (g->node[i].op->kind == LAYER_INPUT && !is_output(g, i))
            g->node[i].half = all_readers_half(g, i);
}

extern const op op_cast;

// Adds a node that converts the output of `from` into the other type of numbers.
static size_t add_cast(graph *g, size_t from)
{
    node *n = &g->node[g->n];
    *n = (node){.op = &op_cast,
        .number = g->node[from].number,
        .inputs = 1,
        .input = mem_dup(&from, sizeof from),
        .out = g->node[from].out,
        .owner = g->n,
        .half = !g->node[from].half,
        .remat = g->node[from].remat};
    return g->n++;
}

// Copies the nodes that are left, in their order; those before `i` are there, at at[].
static graph *lay_out(struct fusing *f, const struct dnn_ops *dnn)
{
    const graph *g = f->g;
    graph *out = mem_alloc(sizeof *out), bare = *g;
    AUTO_FREE size_t *at = mem_array(g->n, sizeof *at), *cast = mem_array(2 * g->n, sizeof *cast);
    AUTO_FREE node *left = mem_array(g->n, sizeof *left);
    size_t n = 0;
    for (size_t i = 0; i < g->n; i++) {
        at[i] = n;
        if (f->gone[i])
            continue;
        left[n] = f->node[i];
        for (size_t k = 0; k < left[n].inputs; k++)
            left[n].input[k] = at[left[n].input[k]];
        n++;
    }
    for (size_t i = 0; i < n; i++)
        left[i].owner = at[left[i].owner];
    AUTO_FREE size_t *ends = mem_array(g->outputs + 1, sizeof *ends);
    for (size_t k = 0; k < g->outputs; k++)
        ends[k] = at[g->output[k]];
    bare.node = left;
    bare.n = n;
    bare.output = ends;
    choose_halves(&bare, dnn);
    *out = *g;
    out->made = NULL;
    out->n = 0;
    out->node = mem_array(2 * n, sizeof *out->node);
    out->input = mem_array(g->inputs + 1, sizeof *out->input);
    out->output = mem_array(g->outputs + 1, sizeof *out->output);
    AUTO_FREE size_t *now = mem_array(n, sizeof *now);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < left[i].inputs; k++) {
            size_t from = left[i].input[k];
            if (left[from].half != left[i].half && !cast[from])
                cast[from] = add_cast(out, now[from]);
            left[i].input[k] = left[from].half != left[i].half ? cast[from] : now[from];
        }
        now[i] = out->n;
        out->node[out->n++] = left[i];
    }
    for (size_t i = 0; i < out->n; i++)
        if (out->node[i].op != &op_cast)
            out->node[i].owner = now[out->node[i].owner];
    for (size_t k = 0; k < g->inputs; k++)
        out->input[k] = now[at[g->input[k]]];
    for (size_t k = 0; k < g->outputs; k++)
        out->output[k] = now[at[g->output[k]]];
    return out;
}

graph *graph_fuse(const graph *g, fuse_for what, const struct dnn_ops *dnn)
{
    struct fusing f = {.g = g,
        .node = mem_dup(g->node, g->n * sizeof *g->node),
        .gone = mem_array(g->n, sizeof *f.gone),
        .reader = mem_array(g->n, sizeof *f.reader)};
    for (size_t i = 0; i < g->n; i++)
        f.node[i].input =
            mem_dup(g->node[i].input, (g->node[i].inputs ? g->node[i].inputs : 1) * sizeof(size_t));
    find_readers(&f);
    fuse_all(&f, what);
    graph *out = lay_out(&f, dnn);
    for (size_t i = 0; i < g->n; i++)
        if (f.gone[i])
            free(f.node[i].input);
    free(f.node);
    free(f.gone);
    free(f.reader);
    return out;
}

void graph_fuse_free(graph *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < g->n; i++)
        free(g->node[i].input);
    free(g->node);
    free(g->input);
    free(g->output);
    free(g);
}
