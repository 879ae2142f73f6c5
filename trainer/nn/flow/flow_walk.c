// SPDX-License-Identifier: MIT
// Threads on their way through the passes of a flow.
#include "trainer/cpu/bf16.h"
#include "trainer/nn/flow/flow_inside.h"
#include "trainer/nn/plan/objective.h"

#include <math.h>
#include <string.h>

static const tensor *input_of(const step *s, long k)
{
    return s->xs ? s->xs[k] : s->x;
}

// Rows of one input as floats.
static void gather(const flow *f, const struct running *r, size_t chunk, float *scratch)
{
    const step *s = f->s;
    const tensor *t = input_of(s, r->input);
    size_t n = shape_size(&r->work.out);
    for (size_t i = op_from(&r->work, chunk); i < op_to(&r->work, chunk); i++) {
        const void *row = tensor_row_data(t, s->rows[i]);
        float *x = r->work.half ? scratch : r->work.y + i * r->work.ldy;
        if (t->type == TENSOR_U8)
            s->cpu->expand(x, row, n, t->scale);
        else if (t->type == TENSOR_F32)
            memcpy(x, row, n * sizeof *x);
        else
            tensor_integer_row(t->type, row, n, x);
        if (r->work.half)
            s->cpu->halve(op_at(&r->work, r->work.y, r->work.ldy, i), x, n);
    }
}

// One thread on its way through the passes.
struct walk {
    flow *f;
    int thread, threads;
    bool by_rows;   // the pass before was by rows
    bool again;     // nobody else runs
    bool back;      // it goes backward
    size_t final;   // then: no node from here on has gradients from this number on
    unsigned phase; // how many barriers it has passed
};

static struct begun *begun_by(const struct walk *w, unsigned phase, int thread)
{
    return &w->f->begun[(phase % 2) * (unsigned)w->threads + (unsigned)thread];
}

// What regularizers add to gradients, 2·l2·W + l1·sign W, to those from `from` on, which are there:
// this thread's part. At 0 the slope of |W| is 0, as in PyTorch and TensorFlow (JAX has 1 there).
static void add_slopes(const flow *f, size_t from, size_t thread, size_t threads)
{
    enum { CHUNK = 4096 };
    for (size_t i = 0; i < f->g->parameters; i++) {
        const parameter *p = &f->g->parameter[i];
        if (!parameter_is_regular(p) || p->at < from || p->at >= f->sloped)
            continue;
        float *g = f->s->values.g + p->at;
        const float *v = f->s->values.w + p->at;
        for (size_t c = thread * CHUNK; c < p->size; c += threads * CHUNK) {
            size_t n = p->size - c < CHUNK ? p->size - c : CHUNK;
            f->s->cpu->add_slopes(g + c, v + c, n, (float)p->said->l1, (float)p->said->l2);
        }
    }
}

// All threads are past the nodes behind this one.
static void tell_final(const struct walk *w)
{
    flow *f = w->f;
    if (!w->back || w->thread > 0 || !f->s->ready || f->s->failed)
        return;
    if (w->final < f->sloped) {
        add_slopes(f, w->final, 0, 1);
        f->sloped = w->final;
    }
    f->s->ready(f->s->ready_ctx, w->final);
}

static void begin_phase(struct walk *w)
{
    if (w->again)
        return;
    pool_barrier(w->f->s->pool);
    tell_final(w);
    w->phase++;
    // All are past the phase before, and nobody is in the next one before this thread is.
    for (int i = 0; w->thread == 0 && i < w->threads; i++)
        atomic_store_explicit(&begun_by(w, w->phase + 1, i)->chunks, 0, memory_order_relaxed);
}

// The next chunk of those that belong to a thread; false: all have been begun.
static bool take(const struct walk *w, op_pass pass, int thread, size_t *chunk)
{
    atomic_size_t *begun = &begun_by(w, w->phase, thread)->chunks;
    size_t first = (size_t)thread, threads = (size_t)w->threads;
    if (first + atomic_load_explicit(begun, memory_order_relaxed) * threads >= pass.chunks)
        return false;
    *chunk = first + atomic_fetch_add_explicit(begun, 1, memory_order_relaxed) * threads;
    return *chunk < pass.chunks;
}

static void walk_chunk(struct walk *w, struct running *r, size_t number, bool back, size_t chunk)
{
    float *scratch = w->f->scratch[w->thread];
    if (r->input >= 0)
        gather(w->f, r, chunk, scratch);
    else
        (back ? r->op->backward : r->op->forward)(&r->work, number, chunk, scratch);
}

// Chunks belong to threads by their number, so that passes by rows need no barrier between them. In
// other passes who is ready takes chunks of those that are not: cores are seldom equally quick.
static void walk_pass(struct walk *w, struct running *r, op_pass pass, size_t number, bool back)
{
    if (!(w->by_rows && pass.by_rows))
        begin_phase(w);
    w->by_rows = pass.by_rows;
    if (pass.by_rows || w->again || pass.chunks <= (size_t)w->threads) {
        for (size_t c = (size_t)w->thread; c < pass.chunks; c += (size_t)w->threads)
            walk_chunk(w, r, number, back, c);
        return;
    }
    size_t chunk;
    for (int i = 0; i < w->threads; i++)
        while (take(w, pass, (w->thread + i) % w->threads, &chunk))
            walk_chunk(w, r, number, back, chunk);
}

static void walk_forward(struct walk *w, struct running *r)
{
    w->by_rows &= !r->waits;
    if (r->input >= 0)
        walk_pass(w, r, op_by_rows(&r->work), 0, false);
    for (size_t p = w->f->is_packed && r->need.packs; p < OP_PASSES && r->need.forward[p].chunks;
         p++)
        walk_pass(w, r, r->need.forward[p], p, false);
}

static bool is_finite(const struct running *r)
{
    size_t n = shape_size(&r->work.out);
    for (size_t i = 0; i < r->work.rows; i++)
        for (size_t c = 0; c < n; c++) {
            const void *row = op_at(&r->work, r->work.y, r->work.ldy, i);
            if (!isfinite(r->work.half ? bf16_value(((const uint16_t *)row)[c])
                                       : ((const float *)row)[c]))
                return false;
        }
    return true;
}

// Goes forward once more and looks at every output before its place is used again. Nothing has
// changed yet, so all buffers get the numbers that they have; but the other ranks do not come
// along, so layers that are synchronized have the statistics of this rank's rows.
static void find_culprit(flow *f)
{
    op_ranks *ranks = f->node[0].work.ranks;
    f->blamed = NONE;
    for (size_t i = 0; i < f->g->n; i++) {
        f->node[i].work.moves = false;
        f->node[i].work.ranks = NULL;
    }
    struct walk alone = {.f = f, .threads = 1, .again = true};
    for (size_t i = 0; i < f->g->n && f->blamed == NONE; i++) {
        walk_forward(&alone, &f->node[i]);
        if (f->g->node[i].layer && !is_finite(&f->node[i]))
            f->blamed = (long)f->g->node[i].number;
    }
    for (size_t i = 0; i < f->g->n; i++) // backward goes with them again
        f->node[i].work.ranks = ranks;
}

static void put_out(const flow *f, const struct head *h, float *out)
{
    const step *s = f->s;
    const struct running *r = &f->node[h->node];
    size_t n = shape_size(&r->work.out), ld = r->work.ldy;
    if (h->f == ACTIVATION_SOFTMAX)
        s->cpu->softmax(h->z, ld, s->n, n, NULL);
    else
        s->cpu->activate(h->f, h->z, ld, s->n, op_round(n, 16));
    for (size_t i = 0; i < s->n; i++)
        memcpy(out + i * n, h->z + i * ld, n * sizeof *out);
}

static void add_loss(const flow *f, const struct head *h, size_t k)
{
    step *s = f->s;
    const struct running *r = &f->node[h->node];
    compile_spec spec = compile_head(s->spec, k);
    double weight = spec.loss_weight > 0 ? spec.loss_weight : 1;
    objective o = {.cpu = s->cpu,
        .spec = &spec,
        .f = h->f,
        .z = h->z,
        .d = r->d,
        .ld = r->work.ldy,
        .rows = s->n,
        .units = shape_size(&r->work.out),
        .out = r->work.out,
        .y = s->ys ? s->ys[k] : s->y,
        .row = s->rows,
        .weights = s->head_weights ? s->head_weights[k] : s->weights,
        .outputs = s->outputs[k],
        .log_sum = h->log_sum};
    objective_run(&o, true);
    if (o.failed) {
        s->failed = true;
        s->error = o.error;
    }
    s->head_loss[k] = o.loss_sum;
    s->loss_sum += weight * o.loss_sum;
    memcpy(s->metric[k], o.metric, sizeof o.metric);
    for (size_t i = 0; weight != 1 && i < s->n; i++)
        for (size_t c = 0; c < o.units; c++)
            r->d[i * o.ld + c] *= (float)weight;
}

// What the regularizers add to each row's loss: Σ over weights of l1·Σ |W| + l2·Σ W². Padding is 0.
static double regularization(const flow *f)
{
    const cpu_ops *cpu = f->s->cpu;
    double sum = 0;
    for (size_t i = 0; i < f->g->parameters; i++) {
        const parameter *p = &f->g->parameter[i];
        const float *w = f->s->values.w + p->at;
        if (!parameter_is_regular(p))
            continue;
        if (p->said->l1 > 0)
            sum += p->said->l1 * cpu->penalty(w, p->size, false);
        if (p->said->l2 > 0)
            sum += p->said->l2 * cpu->penalty(w, p->size, true);
    }
    return sum;
}

static bool is_regular(const graph *g)
{
    for (size_t i = 0; i < g->parameters; i++)
        if (parameter_is_regular(&g->parameter[i]))
            return true;
    return false;
}

// The outputs go to the caller, or into the loss; on one thread.
static void take_loss(flow *f)
{
    step *s = f->s;
    for (size_t k = 0; k < f->g->outputs; k++) {
        struct head *h = &f->head[k];
        const struct running *r = &f->node[h->node];
        memcpy(h->z, r->work.y, s->n * r->work.ldy * sizeof *h->z);
        if (s->out || s->outs)
            put_out(f, h, s->outs ? s->outs[k] : s->out);
        else
            add_loss(f, h, k);
    }
    if (s->failed)
        return;
    s->loss_sum += s->out || s->outs ? 0 : regularization(f) * (double)s->n;
    if (isfinite(s->loss_sum))
        return;
    find_culprit(f);
    for (size_t k = 0; s->train && k < f->g->outputs; k++) { // it may have written where this lies
        const struct running *r = &f->node[f->head[k].node];
        for (size_t i = 0; i < s->n * r->work.ldy; i++)
            r->d[i] = NAN;
    }
}

// What comes then finds the places of backward. Statistics have moved: what is computed anew leaves
// them.
static void conclude(flow *f)
{
    take_loss(f);
    if (!f->s->train || !f->forgets)
        return;
    flow_wire(f, true);
    for (size_t i = 0; i < f->g->n; i++)
        f->node[i].work.moves = false;
}

// Those of one call to those of the calls behind it; no other call may begin before.
static void add_gradients(struct walk *w, const node *n)
{
    enum { CHUNK = 4096 };
    const flow *f = w->f;
    float *g = f->s->values.g;
    pool_barrier(f->s->pool);
    w->by_rows = false; // the next pass has a barrier
    for (size_t i = 0; i < n->parameters; i++) {
        const parameter *p = &f->g->parameter[n->first + i];
        if (p->frozen)
            continue;
        for (size_t c = (size_t)w->thread; c * CHUNK < p->size; c += (size_t)w->threads) {
            size_t end = p->at + ((c + 1) * CHUNK < p->size ? (c + 1) * CHUNK : p->size);
            for (size_t k = p->at + c * CHUNK; k < end; k++)
                g[k] += f->again[k];
        }
    }
}

static void walk_backward(struct walk *w, size_t i)
{
    struct running *r = &w->f->node[i];
    w->final = r->behind;
    for (size_t j = 0; w->f->forgets && j <= i; j++)
        if (w->f->node[j].anew == i)
            walk_forward(w, &w->f->node[j]);
    for (size_t p = 0; r->wants && p < OP_PASSES && r->need.backward[p].chunks; p++)
        walk_pass(w, r, r->need.backward[p], p, true);
    if (r->apart)
        add_gradients(w, &w->f->g->node[i]);
}

void flow_walk(void *ctx, int thread)
{
    flow *f = ctx;
    step *s = f->s;
    struct walk w = {
        .f = f, .thread = thread, .threads = s->alone ? 1 : f->threads, .by_rows = true};
    for (size_t i = 0; i < f->g->n; i++)
        walk_forward(&w, &f->node[i]);
    pool_barrier(s->pool);
    if (thread == 0)
        conclude(f);
    w.by_rows = false; // all wait for it
    w.back = true;
    for (size_t i = f->g->n; s->train && i-- > 0;)
        walk_backward(&w, i);
    if (s->train && is_regular(f->g)) {
        pool_barrier(s->pool);
        add_slopes(f, 0, (size_t)w.thread, (size_t)w.threads);
    }
}
