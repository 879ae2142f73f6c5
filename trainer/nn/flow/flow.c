// SPDX-License-Identifier: MIT
#include "trainer/nn/flow/flow.h"

#include "base/mem.h"
#include "trainer/data/order.h"
#include "trainer/nn/flow/flow_inside.h"

#include <string.h>

// The node's activation if the loss applies it.
static activation of_loss(const node *n)
{
    activation f = n->layer ? layer_activation(n->layer) : ACTIVATION_LINEAR;
    return activation_is_of_output(f) ? f : ACTIVATION_LINEAR;
}
static bool is_trained(const graph *g, const node *n)
{
    for (size_t i = 0; i < n->parameters; i++)
        if (!g->parameter[n->first + i].frozen)
            return true;
    return false;
}

// Backward comes first to the last call, which writes the gradients. A call without weights has
// none: an activation called again may lie where what it was joined to does.
static bool is_called_later(const graph *g, size_t i)
{
    for (size_t j = i + 1; j < g->n; j++)
        if (g->node[j].parameters && g->node[j].owner == g->node[i].owner)
            return true;
    return false;
}

static void set_up(flow *f, size_t i)
{
    const graph *g = f->g;
    const node *n = &g->node[i];
    struct running *r = &f->node[i];
    size_t many = n->inputs ? n->inputs : 1;
    r->op = n->op;
    r->in = mem_array(many, sizeof *r->in);
    r->x = mem_array(many, sizeof *r->x);
    r->dx = mem_array(many, sizeof *r->dx);
    r->ldx = mem_array(many, sizeof *r->ldx);
    r->add = mem_array(many, sizeof *r->add);
    r->wants = is_trained(g, n);
    r->apart = r->wants && is_called_later(g, i);
    r->input = NONE;
    r->anew = NONE;
    for (size_t k = 0; k < g->inputs; k++)
        if (g->input[k] == i)
            r->input = (long)k;
    for (size_t k = 0; k < n->inputs; k++) {
        r->in[k] = g->node[n->input[k]].out;
        r->ldx[k] = op_round(shape_size(&r->in[k]), 16);
        r->wants |= f->node[n->input[k]].wants;
    }
    activation own = n->layer ? layer_activation(n->layer) : ACTIVATION_LINEAR;
    r->work = (op_work){.layer = n->layer,
        .inputs = n->inputs,
        .in = r->in,
        .out = n->out,
        .x = r->x,
        .ldx = r->ldx,
        .dx = r->dx,
        .add = r->add,
        .ldy = op_round(shape_size(&n->out), 16),
        .f = flow_is_output(g, i) && of_loss(n) == own ? ACTIVATION_LINEAR : own,
        .clip = n->clip,
        .most = n->most,
        .half = n->half,
        .norm = n->norm,
        .dnn = f->dnn};
    r->work.failed = &r->failed;
    for (size_t k = 0; k < n->parameters; k++) {
        r->work.at[k] = g->parameter[n->first + k].at;
        r->work.fixed[k] = g->parameter[n->first + k].frozen;
    }
    for (size_t k = 0; n->norm && k < OP_PARAMETERS && n->norm_first + k < g->parameters; k++)
        r->work.norm_at[k] = g->parameter[n->norm_first + k].at;
}

// Weights of several nodes are those of the first: backward comes to it last.
static void find_behind(flow *f)
{
    size_t end = 0;
    for (size_t i = 0; i < f->g->n; i++) {
        const node *n = &f->g->node[i];
        for (size_t k = n->first; k < n->first + n->parameters; k++)
            if (!f->g->parameter[k].as.fixed)
                end = flow_later(end, f->g->parameter[k].at + f->g->parameter[k].size);
        f->node[i].behind = end;
    }
}

flow *flow_new(const graph *whole, fuse_for what, const struct dnn_ops *dnn, flow_room *room)
{
    flow *f = mem_alloc(sizeof *f);
    const graph *g = f->g = graph_fuse(whole, what, dnn);
    f->room = room;
    f->dnn = dnn;
    f->blamed = NONE;
    f->node = mem_array(g->n, sizeof *f->node);
    f->head = mem_array(g->outputs, sizeof *f->head);
    f->item = mem_array(8 * g->n + g->outputs, sizeof *f->item);
    size_t largest = 0;
    for (size_t i = 0; i < g->n; i++)
        largest = flow_later(largest, shape_size(&g->node[i].out));
    for (size_t i = 0; i < g->n; i++) {
        set_up(f, i);
        f->node[i].work.chunk_rows = op_rows(largest);
    }
    find_behind(f);
    for (size_t k = 0; k < g->outputs; k++)
        f->head[k] = (struct head){.node = g->output[k], .f = of_loss(&g->node[g->output[k]])};
    return f;
}
void flow_free(flow *f)
{
    if (!f)
        return;
    flow_free_buffers(f);
    for (size_t i = 0; i < f->g->n; i++) {
        struct running *r = &f->node[i];
        free(r->in), free(r->x), free(r->dx), free(r->ldx), free(r->add);
    }
    free(f->node);
    free(f->head);
    free(f->item);
    graph_fuse_free(f->g);
    free(f);
}
size_t flow_floats(const flow *f, size_t *arena)
{
    *arena = f->arena_size;
    return f->floats;
}

long flow_blame(const flow *f)
{
    return f->blamed;
}
static int check_run(const flow *f, err *e)
{
    if (f->s->failed || f->ranks.failed)
        return err_give(e, f->s->failed ? &f->s->error : &f->ranks.error);
    for (size_t i = 0; i < f->g->n; i++)
        if (atomic_load(&f->node[i].failed))
            return err_set(e, ERR_FAILED,
                "%s: oneDNN failed, as it does without memory; try a smaller batch size, or own "
                "kernels (FIRESTEEL_DNN=0)",
                f->g->node[i].layer->name);
    return 0;
}

int flow_run(flow *f, step *s, err *e)
{
    f->s = s;
    f->ranks = (op_ranks){.sum = s->spec->allsum, .ctx = s->spec->allreduce_ctx};
    f->sloped = f->g->values;
    s->loss_sum = 0;
    memset(s->metric, 0, sizeof s->metric);
    for (size_t i = 0; i < f->g->n; i++) {
        op_work *w = &f->node[i].work;
        atomic_store(&f->node[i].failed, false);
        flow_ask(f, i, s->n);
        w->cpu = s->cpu;
        w->w = s->values.w;
        w->g = f->node[i].apart ? f->again : s->values.g;
        w->touched =
            s->touched && f->g->node[i].parameters ? s->touched[f->g->node[i].first] : NULL;
        w->train = s->train;
        w->moves = s->train && s->moves;
        w->frozen = f->g->node[i].frozen;
        w->ranks = s->train && s->spec->allsum ? &f->ranks : NULL;
        w->noise = random_from(s->noise, f->g->node[i].id).at;
    }
    if (f->forgets)
        flow_wire(f, false);
    if (!flow_find_scratch(f))
        return err_set(
            e, ERR_LIMIT, "no memory for batches of %zu rows; try a smaller batch size", s->n);
    f->is_packed &= f->keeps_packed && f->room->user == f && f->packed == s->written;
    f->room->user = f;
    f->packed = s->written;
    for (int i = 0; i < 2 * f->threads; i++)
        atomic_store_explicit(&f->begun[i].chunks, 0, memory_order_relaxed);
    pool_run(s->pool, s->alone, flow_walk, f);
    f->is_packed = check_run(f, e) == 0;
    return f->is_packed ? 0 : -1;
}
