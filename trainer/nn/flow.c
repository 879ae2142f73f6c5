// SPDX-License-Identifier: MIT
#include "trainer/nn/flow.h"

#include "base/mem.h"
#include "trainer/data/order.h"
#include "trainer/nn/arena.h"
#include "trainer/nn/objective.h"
#include "trainer/tensor/memory.h"

#include <math.h>
#include <string.h>

// Between two barriers threads may be at different passes. This is a phase; a buffer is in use from
// the phase of its first pass to that of its last one.
struct phases {
    size_t first, last;
};

// A node as it runs: what its operation is given, and where.
struct running {
    const op *op;
    op_work work;
    op_need need;
    row_shape *in;
    float **x, **dx;
    size_t *ldx;
    bool *add;
    bool apart; // its gradients are added to those of another call
    bool wants; // there is something to train in it or before it
    bool waits; // forward begins a phase, so that buffers that were read are free
    float *d;   // its gradient's buffer
    size_t y_item, d_item, kept_item, forward_item, backward_item; // NONE: it has none
    long input; // which input of the model; -1: none
    atomic_bool failed;
    struct phases forward, backward;
};

// An output of the model: the loss works on a copy of its values.
struct head {
    size_t node, z_item;
    float *z, *log_sum;
    activation f; // the loss applies it
};

enum { NONE = -1, LARGE = 1 << 16 }; // floats of an output for which a barrier is worth it

struct flow {
    const graph *g;
    const struct dnn_ops *dnn;
    struct running *node;
    struct head *head;
    size_t loss; // its phase
    arena_item *item;
    size_t items, floats;
    float *arena;
    size_t rows, arena_size;
    bool trains;     // the buffers have room for backward, too
    float *again;    // [g->trained]: gradients of one of several calls; NULL: there is none
    float **scratch; // [threads]
    int threads;
    long blamed;

    step *s; // the one that runs
};

static size_t later(size_t a, size_t b)
{
    return a > b ? a : b;
}

// The node's activation if the loss applies it.
static activation of_loss(const node *n)
{
    activation f = n->layer ? n->layer->activation : ACTIVATION_LINEAR;
    return activation_is_of_output(f) ? f : ACTIVATION_LINEAR;
}

static bool is_output(const graph *g, size_t i)
{
    for (size_t k = 0; k < g->outputs; k++)
        if (g->output[k] == i)
            return true;
    return false;
}

static bool is_trained(const graph *g, const node *n)
{
    for (size_t i = 0; i < n->parameters; i++)
        if (!g->parameter[n->first + i].frozen)
            return true;
    return false;
}

// Backward comes first to the last call, which writes the gradients.
static bool is_called_later(const graph *g, size_t i)
{
    for (size_t j = i + 1; j < g->n; j++)
        if (g->node[j].owner == g->node[i].owner)
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
    for (size_t k = 0; k < g->inputs; k++)
        if (g->input[k] == i)
            r->input = (long)k;
    for (size_t k = 0; k < n->inputs; k++) {
        r->in[k] = g->node[n->input[k]].out;
        r->ldx[k] = op_round(shape_size(&r->in[k]), 16);
        r->wants |= f->node[n->input[k]].wants;
    }
    activation own = n->layer ? n->layer->activation : ACTIVATION_LINEAR;
    r->work = (op_work){.layer = n->layer,
        .inputs = n->inputs,
        .in = r->in,
        .out = n->out,
        .x = r->x,
        .ldx = r->ldx,
        .dx = r->dx,
        .add = r->add,
        .ldy = op_round(shape_size(&n->out), 16),
        .f = is_output(g, i) && of_loss(n) == own ? ACTIVATION_LINEAR : own,
        .dnn = f->dnn};
    r->work.failed = &r->failed;
    for (size_t k = 0; k < n->parameters; k++)
        r->work.at[k] = g->parameter[n->first + k].at;
}

flow *flow_new(const graph *g, const struct dnn_ops *dnn)
{
    flow *f = mem_alloc(sizeof *f);
    f->g = g;
    f->dnn = dnn;
    f->blamed = NONE;
    f->node = mem_array(g->n, sizeof *f->node);
    f->head = mem_array(g->outputs, sizeof *f->head);
    f->item = mem_array(5 * g->n + g->outputs, sizeof *f->item);
    size_t largest = 0;
    for (size_t i = 0; i < g->n; i++)
        largest = later(largest, shape_size(&g->node[i].out));
    for (size_t i = 0; i < g->n; i++) {
        set_up(f, i);
        f->node[i].work.chunk_rows = op_rows(largest);
    }
    for (size_t k = 0; k < g->outputs; k++)
        f->head[k] = (struct head){.node = g->output[k], .f = of_loss(&g->node[g->output[k]])};
    return f;
}

static bool goes_back(const flow *f, size_t i)
{
    return f->trains && f->node[i].wants;
}

static void free_buffers(flow *f)
{
    for (int t = 0; t < f->threads; t++)
        free(f->scratch[t]);
    for (size_t k = 0; k < f->g->outputs; k++) {
        free(f->head[k].log_sum);
        f->head[k].log_sum = NULL;
    }
    free(f->scratch);
    free(f->arena);
    free(f->again);
    f->again = NULL;
    f->scratch = NULL;
    f->arena = NULL;
    f->threads = 0;
    f->rows = 0;
}

void flow_free(flow *f)
{
    if (!f)
        return;
    free_buffers(f);
    for (size_t i = 0; i < f->g->n; i++) {
        struct running *r = &f->node[i];
        free(r->in), free(r->x), free(r->dx), free(r->ldx), free(r->add);
    }
    free(f->node);
    free(f->head);
    free(f->item);
    free(f);
}

// What the operation needs for a batch of so many rows.
static void ask(flow *f, size_t i, size_t rows)
{
    static float somewhere; // a gradient that is wanted is not NULL, wherever it will be
    struct running *r = &f->node[i];
    const node *n = &f->g->node[i];
    r->work.rows = rows;
    r->need = (op_need){0};
    for (size_t k = 0; k < n->inputs && !f->arena; k++)
        r->dx[k] = goes_back(f, n->input[k]) ? &somewhere : NULL;
    if (r->op->reserve)
        r->op->reserve(&r->work, &r->need);
}

static size_t new_item(flow *f, size_t from, size_t to, size_t rows, size_t width)
{
    size_t size;
    if (__builtin_mul_overflow(rows, width, &size) || size > SIZE_MAX / 64)
        size = SIZE_MAX / 64;
    f->item[f->items] = (arena_item){.from = from, .to = to, .size = op_round(size, 16)};
    f->floats += size;
    return f->items++;
}

static size_t some_item(flow *f, size_t from, size_t to, size_t floats)
{
    return floats ? new_item(f, from, to, 1, floats) : (size_t)NONE;
}

// The phases of a node's passes; the barriers are those of walk_pass.
static struct phases phases_of(const op_pass *passes, bool *by_rows, size_t *phase)
{
    struct phases p = {*phase, *phase};
    for (size_t i = 0; i < OP_PASSES && passes[i].chunks; i++) {
        *phase += !(*by_rows && passes[i].by_rows);
        *by_rows = passes[i].by_rows;
        p.first = i ? p.first : *phase;
        p.last = *phase;
    }
    return p;
}

static void find_phases(flow *f)
{
    size_t phase = 0;
    bool by_rows = true;
    for (size_t i = 0; i < f->g->n; i++) {
        struct running *r = &f->node[i];
        const op_pass gathering[OP_PASSES] = {op_by_rows(&r->work)};
        r->waits = !f->trains && r->work.rows * r->work.ldy >= LARGE;
        by_rows &= !r->waits;
        r->forward = phases_of(r->input >= 0 ? gathering : r->need.forward, &by_rows, &phase);
    }
    f->loss = ++phase;
    by_rows = false;
    for (size_t i = f->g->n; i-- > 0;)
        if (goes_back(f, i))
            f->node[i].backward = phases_of(f->node[i].need.backward, &by_rows, &phase);
}

// Lists all buffers with their times.
static void list_items(flow *f, size_t rows)
{
    const graph *g = f->g;
    f->items = f->floats = 0;
    for (size_t i = 0; i < g->n; i++) {
        struct running *r = &f->node[i];
        bool out = is_output(g, i), back = goes_back(f, i);
        size_t read = later(r->forward.last, out ? f->loss : 0), given = f->loss;
        for (size_t j = i + 1; j < g->n; j++)
            for (size_t k = 0; k < g->node[j].inputs; k++) {
                const struct running *reader = &f->node[j];
                if (g->node[j].input[k] != i)
                    continue;
                bool again = reader->need.reads_x && goes_back(f, j);
                read = later(read, again ? reader->backward.last : reader->forward.last);
                given = out ? given : reader->backward.first; // the last one's: it comes first
            }
        if (r->need.reads_y && back)
            read = later(read, r->backward.last);
        size_t end = back ? r->backward.last : r->forward.last;
        r->y_item = new_item(f, r->forward.first, read, rows, r->work.ldy);
        r->d_item =
            back || out ? new_item(f, given, later(given, end), rows, r->work.ldy) : (size_t)NONE;
        r->kept_item = some_item(f, r->forward.first, end, r->need.kept);
        r->forward_item = some_item(f, r->forward.first, r->forward.last, r->need.forward_only);
        r->backward_item =
            some_item(f, r->backward.first, r->backward.last, back ? r->need.backward_only : 0);
    }
    for (size_t k = 0; k < g->outputs; k++)
        f->head[k].z_item = new_item(f, f->loss, f->loss, rows, f->node[f->head[k].node].work.ldy);
}

static float *place_of(const flow *f, size_t item)
{
    return item == (size_t)NONE ? NULL : f->arena + f->item[item].at;
}

// Tells the operations where everything is.
static void wire(flow *f)
{
    const graph *g = f->g;
    AUTO_FREE bool *written = mem_array(g->n, sizeof *written);
    for (size_t i = 0; i < g->n; i++) {
        struct running *r = &f->node[i];
        r->work.y = place_of(f, r->y_item);
        r->work.kept = place_of(f, r->kept_item);
        r->work.forward_only = place_of(f, r->forward_item);
        r->work.backward_only = place_of(f, r->backward_item);
        r->d = r->work.dy = place_of(f, r->d_item);
        written[i] = is_output(g, i); // by the loss
    }
    for (size_t i = g->n; i-- > 0;) {
        struct running *r = &f->node[i];
        for (size_t k = 0; k < g->node[i].inputs; k++) {
            size_t from = g->node[i].input[k];
            r->x[k] = f->node[from].work.y;
            r->dx[k] = goes_back(f, from) ? f->node[from].d : NULL;
            r->add[k] = written[from];
            written[from] |= r->wants;
        }
    }
    for (size_t k = 0; k < g->outputs; k++)
        f->head[k].z = place_of(f, f->head[k].z_item);
}

static bool allocate(flow *f, size_t rows, int threads)
{
    size_t scratch = 16;
    for (size_t i = 0; i < f->g->n; i++)
        scratch = f->node[i].need.scratch > scratch ? f->node[i].need.scratch : scratch;
    if (!arena_place(f->item, f->items, &f->arena_size) ||
        !(f->arena = memory_array(f->arena_size, sizeof *f->arena)))
        return false;
    f->scratch = mem_array((size_t)threads, sizeof *f->scratch);
    f->threads = threads;
    bool fits = true, calls = false;
    for (size_t i = 0; i < f->g->n && f->trains; i++)
        calls |= f->node[i].apart;
    if (calls)
        fits = (f->again = memory_array(f->g->trained, sizeof *f->again)) != NULL;
    for (int t = 0; t < threads; t++)
        fits &= (f->scratch[t] = memory_array(scratch, sizeof(float))) != NULL;
    for (size_t k = 0; k < f->g->outputs; k++)
        fits &= (f->head[k].log_sum = memory_array(rows, sizeof(float))) != NULL;
    return fits;
}

int flow_reserve(flow *f, size_t rows, int threads, bool train, err *e)
{
    if (rows <= f->rows && threads == f->threads && (f->trains || !train))
        return 0;
    if (f->trains || !train) // a large batch that was predicted says nothing about training
        rows = later(rows, f->rows);
    free_buffers(f);
    f->trains |= train;
    for (size_t i = 0; i < f->g->n; i++)
        ask(f, i, rows);
    find_phases(f);
    list_items(f, rows);
    if (!allocate(f, rows, threads)) {
        free_buffers(f);
        return err_set(
            e, ERR_LIMIT, "no memory for batches of %zu rows; try a smaller batch size", rows);
    }
    f->rows = rows;
    wire(f);
    return 0;
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

static const tensor *input_of(const step *s, long k)
{
    return s->xs ? s->xs[k] : s->x;
}

// Rows of one input as floats.
static void gather(const flow *f, const struct running *r, size_t chunk)
{
    const step *s = f->s;
    const tensor *t = input_of(s, r->input);
    size_t n = shape_size(&r->work.out);
    for (size_t i = op_from(&r->work, chunk); i < op_to(&r->work, chunk); i++) {
        const void *row = tensor_row_data(t, s->rows[i]);
        float *x = r->work.y + i * r->work.ldy;
        if (t->type == TENSOR_U8)
            s->cpu->expand(x, row, n, t->scale);
        else if (t->type == TENSOR_F32)
            memcpy(x, row, n * sizeof *x);
        else if (t->type == TENSOR_I32)
            for (size_t c = 0; c < n; c++)
                x[c] = (float)((const int32_t *)row)[c];
        else
            for (size_t c = 0; c < n; c++)
                x[c] = (float)((const int64_t *)row)[c];
    }
}

// One thread on its way through the passes.
struct walk {
    flow *f;
    int thread, threads;
    bool by_rows; // the pass before was by rows
    bool again;   // nobody else runs
};

// Chunks belong to threads by their number, so that passes by rows need no barrier between them.
static void walk_pass(struct walk *w, struct running *r, op_pass pass, size_t number, bool back)
{
    if (!(w->by_rows && pass.by_rows) && !w->again)
        pool_barrier(w->f->s->pool);
    w->by_rows = pass.by_rows;
    for (size_t c = (size_t)w->thread; c < pass.chunks; c += (size_t)w->threads) {
        float *scratch = w->f->scratch[w->thread];
        if (r->input >= 0)
            gather(w->f, r, c);
        else
            (back ? r->op->backward : r->op->forward)(&r->work, number, c, scratch);
    }
}

static void walk_forward(struct walk *w, struct running *r)
{
    w->by_rows &= !r->waits;
    if (r->input >= 0)
        walk_pass(w, r, op_by_rows(&r->work), 0, false);
    for (size_t p = 0; p < OP_PASSES && r->need.forward[p].chunks; p++)
        walk_pass(w, r, r->need.forward[p], p, false);
}

static bool is_finite(const struct running *r)
{
    size_t n = shape_size(&r->work.out);
    for (size_t i = 0; i < r->work.rows; i++)
        for (size_t c = 0; c < n; c++)
            if (!isfinite(r->work.y[i * r->work.ldy + c]))
                return false;
    return true;
}

// Goes forward once more and looks at every output before its place is used again. Nothing has
// changed yet, so all buffers get the numbers that they have.
static void find_culprit(flow *f)
{
    f->blamed = NONE;
    for (size_t i = 0; i < f->g->n; i++)
        f->node[i].work.moves = false;
    struct walk alone = {.f = f, .threads = 1, .again = true};
    for (size_t i = 0; i < f->g->n && f->blamed == NONE; i++) {
        walk_forward(&alone, &f->node[i]);
        if (f->g->node[i].layer && !is_finite(&f->node[i]))
            f->blamed = (long)f->g->node[i].number;
    }
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

// Σ w², in 8 sums so that they are computed side by side.
static double squares_of(const float *w, size_t n)
{
    enum { SUMS = 8 };
    double sum[SUMS] = {0}, all = 0;
    for (size_t i = 0; i < n; i += SUMS) // n is a multiple of 16
        for (size_t k = 0; k < SUMS; k++)
            sum[k] += (double)w[i + k] * (double)w[i + k];
    for (size_t k = 0; k < SUMS; k++)
        all += sum[k];
    return all;
}

// What the regularizers add to each row's loss: Σ over layers of l2·Σ W². Padding is 0.
static double regularization(const flow *f)
{
    double sum = 0;
    for (size_t i = 0; i < f->g->n; i++) {
        const node *n = &f->g->node[i];
        const parameter *kernel = &f->g->parameter[n->first];
        if (n->layer && n->layer->l2 > 0 && !kernel->frozen)
            sum += n->layer->l2 * squares_of(f->s->values.w + kernel->at, kernel->size);
    }
    return sum;
}

// The outputs go to the caller, or into the loss; on one thread.
static void conclude(flow *f)
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
        if (p->as.fixed)
            continue;
        for (size_t c = (size_t)w->thread; c * CHUNK < p->size; c += (size_t)w->threads) {
            size_t end = p->at + ((c + 1) * CHUNK < p->size ? (c + 1) * CHUNK : p->size);
            for (size_t k = p->at + c * CHUNK; k < end; k++)
                g[k] += f->again[k];
        }
    }
}

static void work(void *ctx, int thread)
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
    for (size_t i = f->g->n; s->train && i-- > 0;) {
        struct running *r = &f->node[i];
        for (size_t p = 0; r->wants && p < OP_PASSES && r->need.backward[p].chunks; p++)
            walk_pass(&w, r, r->need.backward[p], p, true);
        if (r->apart)
            add_gradients(&w, &f->g->node[i]);
    }
}

static int check_run(const flow *f, err *e)
{
    if (f->s->failed) {
        *e = f->s->error;
        return -1;
    }
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
    s->loss_sum = 0;
    memset(s->metric, 0, sizeof s->metric);
    for (size_t i = 0; i < f->g->n; i++) {
        op_work *w = &f->node[i].work;
        atomic_store(&f->node[i].failed, false);
        ask(f, i, s->n);
        w->cpu = s->cpu;
        w->w = s->values.w;
        w->g = f->node[i].apart ? f->again : s->values.g;
        w->touched =
            s->touched && f->g->node[i].parameters ? s->touched[f->g->node[i].first] : NULL;
        w->train = s->train;
        w->moves = s->train && s->moves;
        w->frozen = f->g->node[i].frozen;
        w->noise = random_from(s->noise, i).at;
    }
    pool_run(s->pool, s->alone, work, f);
    return check_run(f, e);
}
