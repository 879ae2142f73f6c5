// SPDX-License-Identifier: MIT
// When each buffer of a flow is in use, and where it lies.
#include "base/mem.h"
#include "trainer/nn/flow/flow_inside.h"
#include "trainer/tensor/memory.h"

#include <string.h>

void flow_free_buffers(flow *f)
{
    for (int t = 0; t < f->threads; t++)
        free(f->scratch[t]);
    for (size_t k = 0; k < f->g->outputs; k++) {
        free(f->head[k].log_sum);
        f->head[k].log_sum = NULL;
    }
    free(f->scratch);
    free(f->begun);
    free(f->again);
    f->begun = NULL;
    f->again = NULL;
    f->scratch = NULL;
    f->arena = NULL;
    f->scratch_size = 0;
    f->threads = 0;
    f->rows = 0;
}

// What the operation needs for a batch of so many rows.
void flow_ask(flow *f, size_t i, size_t rows)
{
    static float somewhere; // a gradient that is wanted is not NULL, wherever it will be
    struct running *r = &f->node[i];
    const node *n = &f->g->node[i];
    r->work.rows = rows;
    r->need = (op_need){0};
    for (size_t k = 0; k < n->inputs && !f->arena; k++)
        r->dx[k] = flow_goes_back(f, n->input[k]) ? &somewhere : NULL;
    if (!f->arena)
        r->work.by_dnn = r->op->by_dnn && r->op->by_dnn(&r->work);
    if (r->op->reserve)
        r->op->reserve(&r->work, &r->need);
    if (r->input >= 0 && r->work.half) // a row as floats, before it is bf16
        r->need.scratch = flow_later(r->need.scratch, r->work.ldy);
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

static struct phases phases_forward(struct running *r, bool *by_rows, size_t *phase)
{
    const op_pass gathering[OP_PASSES] = {op_by_rows(&r->work)};
    *by_rows &= !r->waits;
    return phases_of(r->input >= 0 ? gathering : r->need.forward, by_rows, phase);
}

static void find_phases(flow *f)
{
    size_t phase = 0;
    bool by_rows = true;
    for (size_t i = 0; i < f->g->n; i++) {
        struct running *r = &f->node[i];
        r->waits = (!f->trains || f->forgets) && r->work.rows * r->work.ldy >= LARGE;
        r->forward = phases_forward(r, &by_rows, &phase);
    }
    f->loss = ++phase;
    by_rows = false;
    for (size_t i = f->g->n; i-- > 0;) {
        for (size_t j = 0; f->forgets && j <= i; j++)
            if (f->node[j].anew == i)
                f->node[j].again = phases_forward(&f->node[j], &by_rows, &phase);
        if (flow_goes_back(f, i))
            f->node[i].backward = phases_of(f->node[i].need.backward, &by_rows, &phase);
    }
}

// When the last of its readers reads the output of node i, in forward and then; 0: none does.
static struct phases last_reads(const flow *f, size_t i)
{
    const graph *g = f->g;
    const struct running *r = &f->node[i];
    struct phases read = {flow_later(r->forward.last, flow_is_output(g, i) ? f->loss : 0),
        r->need.reads_y && flow_goes_back(f, i) ? r->backward.last : 0};
    for (size_t j = i + 1; j < g->n; j++)
        for (size_t k = 0; k < g->node[j].inputs; k++) {
            const struct running *reader = &f->node[j];
            if (g->node[j].input[k] != i)
                continue;
            read.first = flow_later(read.first, reader->forward.last);
            if (reader->anew != (size_t)NONE)
                read.last = flow_later(read.last, reader->again.last);
            if (reader->need.reads_x && flow_goes_back(f, j))
                read.last = flow_later(read.last, reader->backward.last);
        }
    return read;
}

// When the gradient of its output is first written.
static size_t first_given(const flow *f, size_t i)
{
    const graph *g = f->g;
    for (size_t j = g->n; !flow_is_output(g, i) && --j > i;) // the last reader's comes first
        for (size_t k = 0; k < g->node[j].inputs; k++)
            if (g->node[j].input[k] == i && flow_goes_back(f, j))
                return f->node[j].backward.first;
    return f->loss;
}

// The buffers of node i that live twice if it is computed anew.
static void list_results(flow *f, size_t i, size_t rows, size_t width)
{
    struct running *r = &f->node[i];
    struct phases read = last_reads(f, i), *again = &r->again;
    size_t end = flow_goes_back(f, i) ? r->backward.last : r->forward.last;
    bool anew = r->anew != (size_t)NONE;
    r->y_item = new_item(
        f, r->forward.first, anew ? read.first : flow_later(read.first, read.last), rows, width);
    r->kept_item = some_item(f, r->forward.first, anew ? r->forward.last : end, r->need.kept);
    bool stays = f->keeps_packed && r->need.packs;
    r->forward_item = some_item(
        f, stays ? 0 : r->forward.first, stays ? f->loss : r->forward.last, r->need.forward_only);
    r->y_anew = r->y_item;
    r->kept_anew = r->kept_item;
    r->forward_anew = r->forward_item;
    if (!anew)
        return;
    r->y_anew = new_item(f, again->first, flow_later(read.last, again->last), rows, width);
    r->kept_anew = some_item(f, again->first, end, r->need.kept);
    r->forward_anew = some_item(f, again->first, again->last, r->need.forward_only);
}

// Lists all buffers with their times.
static void list_items(flow *f, size_t rows)
{
    const graph *g = f->g;
    f->items = f->floats = 0;
    for (size_t i = 0; i < g->n; i++) {
        struct running *r = &f->node[i];
        bool back = flow_goes_back(f, i);
        size_t end = back ? r->backward.last : r->forward.last, given = first_given(f, i);
        size_t width = g->node[i].half ? r->work.ldy / 2 : r->work.ldy;
        list_results(f, i, rows, width);
        r->d_item = back || flow_is_output(g, i)
                        ? new_item(f, given, flow_later(given, end), rows, width)
                        : (size_t)NONE;
        r->backward_item =
            some_item(f, r->backward.first, r->backward.last, back ? r->need.backward_only : 0);
    }
    for (size_t k = 0; k < g->outputs; k++)
        f->head[k].z_item = new_item(f, f->loss, f->loss, rows, f->node[f->head[k].node].work.ldy);
}

bool flow_place(flow *f, size_t rows)
{
    find_phases(f);
    list_items(f, rows);
    return arena_place(f->item, f->items, &f->arena_size);
}

static float *place_of(const flow *f, size_t item)
{
    return item == (size_t)NONE ? NULL : f->arena + f->item[item].at;
}

void flow_wire(flow *f, bool back)
{
    const graph *g = f->g;
    AUTO_FREE bool *written = mem_array(g->n, sizeof *written);
    for (size_t i = 0; i < g->n; i++) {
        struct running *r = &f->node[i];
        r->work.y = place_of(f, back ? r->y_anew : r->y_item);
        r->work.kept = place_of(f, back ? r->kept_anew : r->kept_item);
        r->work.forward_only = place_of(f, back ? r->forward_anew : r->forward_item);
        r->work.backward_only = place_of(f, r->backward_item);
        r->d = r->work.dy = place_of(f, r->d_item);
        written[i] = flow_is_output(g, i); // by the loss
    }
    for (size_t i = g->n; i-- > 0;) {
        struct running *r = &f->node[i];
        for (size_t k = 0; k < g->node[i].inputs; k++) {
            size_t from = g->node[i].input[k];
            r->x[k] = f->node[from].work.y;
            r->dx[k] = flow_goes_back(f, from) ? f->node[from].d : NULL;
            r->add[k] = written[from];
            written[from] |= r->wants;
        }
    }
    for (size_t k = 0; k < g->outputs; k++)
        f->head[k].z = place_of(f, f->head[k].z_item);
}

static bool find_room(flow_room *room, size_t size)
{
    if (room->size >= size)
        return true;
    free(room->at);
    room->at = memory_array(size, sizeof *room->at);
    room->user = NULL;
    room->size = room->at ? size : 0;
    return room->at;
}

bool flow_find_scratch(flow *f)
{
    size_t need = 16;
    bool fits = true;
    for (size_t i = 0; i < f->g->n; i++)
        need = flow_later(need, f->node[i].need.scratch);
    if (need <= f->scratch_size)
        return true;
    for (int t = 0; t < f->threads; t++) {
        free(f->scratch[t]);
        fits &= (f->scratch[t] = memory_array(need, sizeof(float))) != NULL;
    }
    f->scratch_size = fits ? need : 0;
    return fits;
}

static bool allocate(flow *f, size_t rows, int threads)
{
    if (!flow_choose_anew(f, rows) || !find_room(f->room, f->arena_size))
        return false;
    f->arena = f->room->at;
    f->scratch = mem_array((size_t)threads, sizeof *f->scratch);
    f->threads = threads;
    bool fits = true, calls = false;
    for (size_t i = 0; i < f->g->n && f->trains; i++)
        calls |= f->node[i].apart;
    if (calls)
        fits = (f->again = memory_array(f->g->trained, sizeof *f->again)) != NULL;
    fits &= flow_find_scratch(f);
    fits &= (f->begun = memory_array(2 * (size_t)threads, sizeof *f->begun)) != NULL;
    for (size_t k = 0; k < f->g->outputs; k++)
        fits &= (f->head[k].log_sum = memory_array(rows, sizeof(float))) != NULL;
    return fits;
}

int flow_reserve(flow *f, size_t rows, int threads, bool train, err *e)
{
    if (rows <= f->rows && threads == f->threads && (f->trains || !train) &&
        f->arena == f->room->at)
        return 0;
    if (f->trains || !train) // a large batch that was predicted says nothing about training
        rows = flow_later(rows, f->rows);
    flow_free_buffers(f);
    f->trains |= train;
    f->keeps_packed = !f->trains && rows <= FLOW_FEW_ROWS;
    f->is_packed = false;
    for (size_t i = 0; i < f->g->n; i++)
        flow_ask(f, i, rows);
    if (!allocate(f, rows, threads)) {
        flow_free_buffers(f);
        return err_set(
            e, ERR_LIMIT, "no memory for batches of %zu rows; try a smaller batch size", rows);
    }
    f->rows = rows;
    flow_wire(f, false);
    return 0;
}
