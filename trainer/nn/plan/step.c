// SPDX-License-Identifier: MIT
#include "trainer/nn/plan/step.h"

#include "trainer/nn/layer/noise.h"
#include "trainer/nn/plan/objective.h"

#include <string.h>

// What one thread knows about the step.
struct worker {
    step *s;
    plan *plan;
    const cpu_ops *cpu;
    plan_thread *own;
    int thread;
    sparse_rows input; // with s->sparse
    upcoming ahead;    // the next batch
};

static const float no_bias[PANEL] __attribute__((aligned(64)));

// The panels of this thread are first_of, and from there every stride_of. Thread 0 measures, too:
// the first panel, and so the odd one and a narrow layer's bias, is the last thread's.
static size_t first_of(const struct worker *w)
{
    return w->s->alone ? 0 : (size_t)(w->plan->threads - 1 - w->thread);
}

static size_t stride_of(const struct worker *w)
{
    return w->s->alone ? 1 : (size_t)w->plan->threads;
}

static bool is_mine(const struct worker *w, size_t part)
{
    return part % stride_of(w) == first_of(w);
}

static size_t copy_of(const struct worker *w, const plan_layer *l)
{
    return l->own ? (size_t)w->thread * w->plan->rows * l->ld : 0;
}

// Shuffled rows lie anywhere in memory: the next batch's rows and targets are fetched while this
// one is computed, but not before the way back has reached the first layer: what passes through the
// cache until then would push them out again. The rows are fetched bit by bit with that layer's
// gradients, if it is wide and trained; what is left at the end of the step at once.
static void begin_to_fetch(struct worker *w)
{
    const step *s = w->s;
    size_t size = tensor_type_size(s->x->type);
    w->ahead = (upcoming){.data = s->x->data,
        .stride = s->x->stride * size,
        .bytes = tensor_row_size(s->x) * size,
        .rows = s->rows + s->n,
        .n = s->next};
    for (size_t r = s->n; s->y && r < s->n + s->next; r++)
        __builtin_prefetch(tensor_row_data(s->y, s->rows[r]), 0, 2);
}

static void scale_bytes(plan_thread *own, float scale)
{
    if (own->scale == scale)
        return;
    own->scale = scale;
    for (int b = 0; b < 256; b++)
        own->value[b] = scale * (float)b;
}

// Prepares the batch for this thread: pointers to its rows, and the rows transposed for the
// gradient; or its values as floats. Each thread does this itself: that costs less than fetching
// the result from another core.
static void gather(struct worker *w)
{
    step *s = w->s;
    plan_thread *own = w->own;
    size_t inputs = w->plan->inputs;
    bool bytes = s->x->type == TENSOR_U8;
    for (size_t r = 0; r < s->n; r++)
        own->row[r] = tensor_row_data(s->x, s->rows[r]);
    if (s->sparse) {
        scale_bytes(own, s->x->scale);
        w->input = (sparse_rows){.row = own->row,
            .value = own->value,
            .bytes = bytes,
            .inputs = inputs,
            .turned = own->turned};
        if (s->train && bytes)
            w->cpu->turn_u8(own->turned, (const uint8_t *const *)own->row, s->n, inputs);
        else if (s->train)
            turn_f32(own->turned, (const float *const *)own->row, s->n, inputs);
        return;
    }
    for (size_t r = 0; r < s->n; r++) {
        float *x = own->x + r * w->plan->ldx;
        if (bytes)
            w->cpu->expand(x, own->row[r], inputs, s->x->scale);
        else if (s->x->type == TENSOR_F32)
            memcpy(x, own->row[r], inputs * sizeof *x);
        else
            tensor_integer_row(s->x->type, own->row[r], inputs, x);
    }
}

// The source of this layer's factors.
static noise noise_of(const step *s, size_t layer, float rate)
{
    return noise_new(random_from(s->noise, layer).at, rate);
}

// Row r's factors for columns [from, from + width).
static void make_mask(noise n, size_t r, float *mask, size_t from, size_t width)
{
    for (size_t c = 0; c < width; c++)
        mask[c] = noise_at(n, r, from + c);
}

static void apply_mask(
    float *out, const float *in, const float *mask, size_t ld, size_t rows, size_t width)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < width; c++)
            out[r * ld + c] = in[r * ld + c] * mask[r * ld + c];
}

static void drop_inputs(const struct worker *w)
{
    const plan *p = w->plan;
    if (!(p->input_dropout > 0) || !w->s->train)
        return;
    noise n = noise_of(w->s, p->n, p->input_dropout);
    float *mask = w->own->turned; // it is not in use now, and wide enough
    for (size_t r = 0; r < w->s->n; r++) {
        float *x = w->own->x + r * p->ldx;
        make_mask(n, r, mask, 0, p->inputs);
        apply_mask(x, x, mask, 0, 1, p->inputs);
    }
}

// Applies activation and Dropout to the columns [from, from + width), which lie at `at`.
static void finish(const struct worker *w, size_t i, size_t at, size_t from, size_t width)
{
    plan_layer *l = &w->plan->layer[i];
    size_t n = w->s->n;
    w->cpu->activate(l->f, l->y + at, l->ld, n, width);
    if (l->out == l->y)
        return;
    if (w->s->train) {
        noise factors = noise_of(w->s, i, l->dropout);
        for (size_t r = 0; r < n; r++)
            make_mask(factors, r, l->mask + at + r * l->ld, from, width);
        apply_mask(l->out + at, l->y + at, l->mask + at, l->ld, n, width);
    } else {
        for (size_t r = 0; r < n; r++)
            memcpy(l->out + at + r * l->ld, l->y + at + r * l->ld, width * sizeof *l->out);
    }
}

// The input of layer i as floats, from number `from` on, the first of a slice; not for the first
// layer if its input is sparse.
static const float *input_of(const struct worker *w, size_t i, size_t from, size_t *ld)
{
    if (i == 0) {
        *ld = w->plan->ldx;
        return w->own->x + from;
    }
    const plan_layer *before = &w->plan->layer[i - 1];
    *ld = before->ld;
    return before->out + copy_of(w, before) + from / PANEL * before->step;
}

// So many inputs of layer i lie side by side.
static size_t run_of_inputs(const plan_layer *l, size_t i)
{
    return i == 0 ? l->inputs : PANEL;
}

static void multiply(struct worker *w, size_t i, product *p, size_t from)
{
    if (i == 0 && w->s->sparse) {
        w->input.from = from;
        w->cpu->multiply_sparse(p, 1, &w->input);
        return;
    }
    p->x = input_of(w, i, from, &p->ldx);
    w->cpu->multiply(p);
}

// y of a panel, before the activation.
static float *place_of(const plan_layer *l, size_t panel)
{
    return (l->own ? l->partial : l->y) + panel * l->step;
}

// The product of a panel and the inputs from `from` on that lie side by side.
static product product_of(const struct worker *w, size_t i, size_t panel, size_t from)
{
    const plan_layer *l = &w->plan->layer[i];
    size_t width = plan_width(l, panel), run = run_of_inputs(l, i);
    const float *bias = l->bias ? w->s->values.w + l->biases + panel * PANEL : no_bias;
    return (product){.y = place_of(l, panel),
        .ldy = l->ld,
        .w = w->s->values.w + plan_panel(l, panel) + from * width,
        .bias = from ? NULL : bias,
        .rows = w->s->n,
        .inputs = l->inputs - from < run ? l->inputs - from : run,
        .width = width};
}

// How many panels of sparse input go together: this one and this thread's next, if it is as wide.
static size_t pair_of(const struct worker *w, size_t panel, size_t stride)
{
    const plan_layer *l = &w->plan->layer[0];
    size_t next = panel + stride;
    return next < l->panels && plan_width(l, next) == plan_width(l, panel) ? 2 : 1;
}

static void forward_panels(struct worker *w, size_t i, size_t panel, size_t stride, size_t n)
{
    size_t run = run_of_inputs(&w->plan->layer[i], i);
    if (i == 0 && w->s->sparse) {
        product both[2];
        for (size_t q = 0; q < n; q++)
            both[q] = product_of(w, 0, panel + q * stride, 0);
        w->input.from = 0;
        w->cpu->multiply_sparse(both, n, &w->input);
        return;
    }
    for (size_t from = 0; from < w->plan->layer[i].inputs; from += run) {
        product p = product_of(w, i, panel, from);
        multiply(w, i, &p, from);
    }
}

static void forward_wide(struct worker *w, size_t i)
{
    plan_layer *l = &w->plan->layer[i];
    size_t stride = stride_of(w), n = 1;
    for (size_t panel = first_of(w); panel < l->panels; panel += n * stride) {
        n = i == 0 && w->s->sparse ? pair_of(w, panel, stride) : 1;
        forward_panels(w, i, panel, stride, n);
        for (size_t q = 0; q < n && !l->own; q++) {
            size_t at = panel + q * stride;
            finish(w, i, at * l->step, at * PANEL, plan_width(l, at));
        }
    }
}

static void forward_narrow(struct worker *w, size_t i)
{
    plan_layer *l = &w->plan->layer[i];
    for (size_t slice = 0; slice < l->slices; slice++) {
        if (!is_mine(w, slice))
            continue;
        multiply(w, i,
            &(product){.y = l->partial + slice * w->plan->rows * NARROW,
                .ldy = NARROW,
                .w = w->s->values.w + l->weights + slice * PANEL * NARROW,
                .bias = slice == 0 && l->bias ? w->s->values.w + l->biases : no_bias,
                .rows = w->s->n,
                .inputs = plan_slice_inputs(l, slice),
                .width = NARROW},
            slice * PANEL);
    }
}

// Computes this thread's own complete x·W + b from the parts of all threads.
static void collect(const struct worker *w, size_t i)
{
    plan_layer *l = &w->plan->layer[i];
    float *y = l->y + copy_of(w, l);
    size_t n = w->s->n;
    memcpy(y, l->partial, n * l->ld * sizeof *y);
    for (size_t slice = 1; l->narrow && slice < l->slices; slice++) // ld is NARROW then
        w->cpu->channels[0]->add_up(y, l->partial + slice * w->plan->rows * NARROW, n * NARROW);
}

static void forward(struct worker *w, size_t i)
{
    plan_layer *l = &w->plan->layer[i];
    bool last = i + 1 == w->plan->n;
    if (i > 0 && !l->narrow && !w->plan->layer[i - 1].own)
        pool_barrier(w->s->pool); // this layer reads every panel of the one before
    if (l->narrow)
        forward_narrow(w, i);
    else
        forward_wide(w, i);
    if (!l->own)
        return;
    pool_barrier(w->s->pool);
    collect(w, i);
    if (!last)
        finish(w, i, copy_of(w, l), 0, plan_width(l, 0));
}

// The last layer's outputs are copied to the caller, or go into the loss.
static void conclude(struct worker *w)
{
    step *s = w->s;
    plan_layer *l = &w->plan->layer[w->plan->n - 1];
    float *z = l->y + copy_of(w, l);
    if (s->out) {
        if (w->thread > 0)
            return;
        if (l->f == ACTIVATION_SOFTMAX)
            w->cpu->softmax(z, l->ld, s->n, l->units, NULL);
        else
            w->cpu->activate(l->f, z, l->ld, s->n, (l->units + 15) / 16 * 16);
        for (size_t r = 0; r < s->n; r++)
            memcpy(s->out + r * l->units, z + r * l->ld, l->units * sizeof *z);
        return;
    }
    if (!s->train && w->thread > 0)
        return;
    objective o = {.cpu = w->cpu,
        .spec = s->spec,
        .f = l->f,
        .z = z,
        .d = l->d + copy_of(w, l),
        .ld = l->ld,
        .rows = s->n,
        .units = l->units,
        .y = s->y,
        .row = s->rows,
        .weights = s->head_weights ? s->head_weights[0] : s->weights,
        .outputs = w->thread == 0 ? s->outputs[0] : NULL,
        .log_sum = w->own->log_sum};
    objective_run(&o, w->thread == 0);
    if (w->thread == 0) {
        s->loss_sum = o.loss_sum;
        s->head_loss[0] = o.loss_sum;
        memcpy(s->metric[0], o.metric, sizeof o.metric);
    }
}

// dLoss/d(output of the layer before) for one slice of 64 of its units, then through its Dropout
// and activation: d = Σ over panels of d[i]·Wᵀ. The weights are transposed block by block, so that
// the kernel of the forward direction does it.
static void backward_slice(const struct worker *w, size_t i, const float *d, size_t slice)
{
    plan_layer *l = &w->plan->layer[i], *before = l - 1;
    size_t place = slice * before->step, n = plan_slice_inputs(l, slice);
    size_t width = plan_width(before, slice);
    float *to = before->d + place, *flipped = w->own->flipped;
    for (size_t panel = 0; panel < l->panels; panel++) {
        size_t columns = l->units - panel * PANEL < PANEL ? l->units - panel * PANEL : PANEL;
        const float *weights = w->s->values.w + plan_weight(l, slice * PANEL, panel * PANEL);
        if (n < width)
            memset(flipped, 0, columns * width * sizeof *flipped);
        transpose_f32(flipped, width, weights, plan_width(l, panel), n, columns);
        // The first panel starts from 0; the others add to it.
        if (panel == 0)
            for (size_t r = 0; r < w->s->n; r++)
                memset(to + r * before->ld, 0, width * sizeof *to);
        w->cpu->multiply(&(product){.y = to,
            .ldy = before->ld,
            .x = d + panel * l->step,
            .ldx = l->ld,
            .w = flipped,
            .rows = w->s->n,
            .inputs = columns,
            .width = width});
    }
    size_t at = copy_of(w, before) + place;
    if (before->mask)
        apply_mask(to, to, before->mask + at, before->ld, w->s->n, width);
    w->cpu->derive(before->f, to, before->ld, before->y + at, before->ld, w->s->n, width);
}

static uint8_t *seen_of(const struct worker *w, size_t panel)
{
    return w->plan->seen + panel * w->plan->seen_step;
}

// Computes the gradient of one panel (or of a narrow layer's slice), from input `from` on.
static void train_part(struct worker *w, size_t i, gradient *g, size_t from)
{
    if (w->plan->layer[i].still_weights)
        return;
    if (i == 0 && w->s->sparse) {
        w->input.from = from;
        w->cpu->train_sparse(g, 1, &w->input);
        return;
    }
    g->x = input_of(w, i, from, &g->ldx);
    w->cpu->train(g);
}

static void train_bias(const struct worker *w, const plan_layer *l, const float *d, size_t panel)
{
    if (!l->still_bias)
        w->cpu->train_bias(&w->s->rule, params_at(&w->s->values, l->biases + panel * PANEL),
            d + panel * l->step, l->ld, w->s->n, plan_width(l, panel));
}

static void backward_narrow(struct worker *w, size_t i, const float *d)
{
    plan_layer *l = &w->plan->layer[i];
    for (size_t slice = 0; slice < l->slices; slice++) {
        if (!is_mine(w, slice))
            continue;
        if (i > w->plan->lowest)
            backward_slice(w, i, d, slice);
        train_part(w, i,
            &(gradient){.to = params_at(&w->s->values, l->weights + slice * PANEL * NARROW),
                .d = d,
                .ldd = l->ld,
                .rows = w->s->n,
                .inputs = plan_slice_inputs(l, slice),
                .width = NARROW,
                .rule = &w->s->rule,
                .seen = seen_of(w, 0)},
            slice * PANEL);
    }
    if (is_mine(w, 0))
        train_bias(w, l, d, 0);
}

static gradient gradient_of(struct worker *w, size_t i, const float *d, size_t panel, size_t from)
{
    const plan_layer *l = &w->plan->layer[i];
    size_t width = plan_width(l, panel), run = run_of_inputs(l, i);
    return (gradient){.to = params_at(&w->s->values, plan_panel(l, panel) + from * width),
        .d = d + panel * l->step,
        .ldd = l->ld,
        .rows = w->s->n,
        .inputs = l->inputs - from < run ? l->inputs - from : run,
        .width = width,
        .rule = &w->s->rule,
        .seen = i == 0 ? seen_of(w, panel) : NULL,
        .ahead = i == 0 ? &w->ahead : NULL};
}

static void train_panels(
    struct worker *w, size_t i, const float *d, size_t panel, size_t stride, size_t n)
{
    const plan_layer *l = &w->plan->layer[i];
    if (i == 0 && w->s->sparse && !l->still_weights) {
        gradient both[2];
        for (size_t q = 0; q < n; q++)
            both[q] = gradient_of(w, 0, d, panel + q * stride, 0);
        w->input.from = 0;
        w->cpu->train_sparse(both, n, &w->input);
        return;
    }
    for (size_t from = 0; from < l->inputs; from += run_of_inputs(l, i)) {
        gradient g = gradient_of(w, i, d, panel, from);
        train_part(w, i, &g, from);
    }
}

static void backward_wide(struct worker *w, size_t i, const float *d)
{
    plan_layer *l = &w->plan->layer[i];
    if (i > 0) {
        for (size_t slice = 0; i > w->plan->lowest && slice < l->slices; slice++)
            if (is_mine(w, slice))
                backward_slice(w, i, d, slice);
        pool_barrier(w->s->pool); // after this the weights change
    }
    size_t stride = stride_of(w), n = 1;
    for (size_t panel = first_of(w); panel < l->panels; panel += n * stride) {
        n = i == 0 && w->s->sparse ? pair_of(w, panel, stride) : 1;
        train_panels(w, i, d, panel, stride, n);
        for (size_t q = 0; q < n; q++)
            train_bias(w, l, d, panel + q * stride);
    }
}

static void backward(struct worker *w, size_t i)
{
    plan_layer *l = &w->plan->layer[i];
    bool last = i + 1 == w->plan->n;
    const float *d = l->d + (last ? copy_of(w, l) : 0);
    // The owners of the panels have computed d; a thread that needs all panels waits. The first
    // layer, if it is wide, needs only its own panels.
    bool all = !last && (l->narrow || i > 0);
    if (all)
        pool_barrier(w->s->pool);
    if (w->s->ready && w->thread == 0 && !last && (all || stride_of(w) == 1))
        w->s->ready(w->s->ready_ctx, l[1].weights); // nobody is at a later layer
    if (l->narrow)
        backward_narrow(w, i, d);
    else
        backward_wide(w, i, d);
}

static void work(void *ctx, int thread)
{
    step *s = ctx;
    struct worker w = {
        .s = s, .plan = s->plan, .cpu = s->cpu, .own = &s->plan->thread[thread], .thread = thread};
    gather(&w);
    drop_inputs(&w);
    for (size_t i = 0; i < s->plan->n; i++)
        forward(&w, i);
    conclude(&w);
    size_t lowest = s->plan->lowest;
    for (size_t i = s->plan->n; s->train && i-- > (lowest ? lowest : 1);)
        backward(&w, i);
    begin_to_fetch(&w);
    if (s->train && lowest == 0)
        backward(&w, 0);
    upcoming_fetch(&w.ahead, SIZE_MAX);
}

void step_run(step *s)
{
    s->loss_sum = 0;
    memset(s->metric, 0, sizeof s->metric);
    pool_run(s->pool, s->alone, work, s);
}
