// SPDX-License-Identifier: MIT
//
//   gradients   [kernel │ bias │ frozen │ kernel │ table │ bias …]
//                └─── allreduce ┘        └ allreduce ┘  │     └ allreduce …
//                                        counts ──► allgather of (row number, row) of all tables
//
// Which tables travel by rows follows from all ranks' counts, so all agree: when the rows of all
// ranks together are fewer numbers than the table has.
#include "trainer/nn/exchange.h"

#include "base/mem.h"
#include "trainer/tensor/memory.h"

#include <string.h>

// A table that is smaller always travels whole, and a frozen weight that is smaller travels along:
// an operation more costs more than they do.
enum { WORTH_IT = 1 << 14 };

struct table {
    size_t parameter;
    bool sparse;
};

struct exchange {
    model *m;
    size_t ranks, n;
    struct table *table;
    uint32_t *count; // [ranks][n] rows of each
};

static uint32_t count_rows(const model *m, size_t i)
{
    uint32_t n = 0;
    for (size_t row = 0; row < m->graph->parameter[i].rows; row++)
        n += m->touched[i][row];
    return n;
}

// Finds the tables, and how many rows of each every rank has.
static int count_all(struct exchange *x, err *e)
{
    const model *m = x->m;
    const graph *g = m->graph;
    for (size_t i = 0; m->spec.allgather && i < g->parameters; i++)
        if (m->touched[i] && !g->parameter[i].frozen && g->parameter[i].size >= WORTH_IT)
            x->table[x->n++] = (struct table){.parameter = i};
    if (!x->n)
        return 0;
    uint32_t *mine = mem_array(x->n, sizeof *mine);
    size_t *bytes = mem_array(x->ranks, sizeof *bytes);
    x->count = mem_array(x->ranks * x->n, sizeof *x->count);
    for (size_t t = 0; t < x->n; t++)
        mine[t] = count_rows(m, x->table[t].parameter);
    for (size_t r = 0; r < x->ranks; r++)
        bytes[r] = x->n * sizeof *mine;
    int status =
        m->spec.allgather(m->spec.allreduce_ctx, mine, x->count, bytes, "rows of tables", e);
    free(mine);
    free(bytes);
    if (status > 0) // not now
        return x->n = 0, 0;
    for (size_t t = 0; status == 0 && t < x->n; t++) {
        const parameter *p = &g->parameter[x->table[t].parameter];
        size_t all = 0;
        for (size_t r = 0; r < x->ranks; r++)
            all += x->count[r * x->n + t];
        x->table[t].sparse = all * (p->columns + 1) < p->rows * p->columns;
    }
    return status;
}

static bool is_sparse(const struct exchange *x, size_t i)
{
    for (size_t t = 0; t < x->n; t++)
        if (x->table[t].parameter == i)
            return x->table[t].sparse;
    return false;
}

// The bytes of a rank's rows: a number and the columns of each.
static size_t size_of_rows(const struct exchange *x, size_t rank)
{
    size_t all = 0;
    for (size_t t = 0; t < x->n; t++)
        if (x->table[t].sparse)
            all += x->count[rank * x->n + t] *
                   (sizeof(uint32_t) +
                       x->m->graph->parameter[x->table[t].parameter].columns * sizeof(float));
    return all;
}

// Takes this rank's rows out of the gradients, which are 0 there then.
static void take_rows(const struct exchange *x, char *out)
{
    model *m = x->m;
    for (size_t t = 0; t < x->n; t++) {
        size_t i = x->table[t].parameter;
        const parameter *p = &m->graph->parameter[i];
        for (size_t row = 0; x->table[t].sparse && row < p->rows; row++) {
            if (!m->touched[i][row])
                continue;
            uint32_t number = (uint32_t)row;
            float *g = m->g + p->at + row * p->columns;
            memcpy(out, &number, sizeof number);
            memcpy(out + sizeof number, g, p->columns * sizeof *g);
            out += sizeof number + p->columns * sizeof *g;
            memset(g, 0, p->columns * sizeof *g);
        }
    }
}

// Adds 1/ranks of the rows of one rank; returns where those of the next begin.
static const char *add_rows(const struct exchange *x, size_t rank, const char *in)
{
    model *m = x->m;
    float share = 1 / (float)x->ranks;
    for (size_t t = 0; t < x->n; t++) {
        size_t i = x->table[t].parameter;
        const parameter *p = &m->graph->parameter[i];
        for (size_t k = 0; x->table[t].sparse && k < x->count[rank * x->n + t]; k++) {
            uint32_t row;
            memcpy(&row, in, sizeof row);
            const char *from = in + sizeof row;
            float *g = m->g + p->at + row * p->columns, value;
            m->touched[i][row] = 1;
            for (size_t c = 0; c < p->columns; c++) {
                memcpy(&value, from + c * sizeof value, sizeof value);
                g[c] += share * value;
            }
            in = from + p->columns * sizeof value;
        }
    }
    return in;
}

static int gather_rows(const struct exchange *x, int rank, err *e)
{
    size_t *bytes = mem_array(x->ranks, sizeof *bytes), all = 0;
    for (size_t r = 0; r < x->ranks; r++)
        all += bytes[r] = size_of_rows(x, r);
    char *mine = memory_array(bytes[rank] + 1, 1), *theirs = memory_array(all + 1, 1);
    int status = mine && theirs ? 0 : err_set(e, ERR_LIMIT, "no memory for rows of gradients");
    if (status == 0) {
        take_rows(x, mine);
        status = x->m->spec.allgather(
            x->m->spec.allreduce_ctx, mine, theirs, bytes, "gradients of rows", e);
    }
    const char *at = theirs;
    for (size_t r = 0; status == 0 && r < x->ranks; r++)
        at = add_rows(x, r, at);
    free(bytes);
    free(mine);
    free(theirs);
    return status;
}

bool exchange_parts(const graph *g)
{
    for (size_t i = 0; i < g->parameters; i++) {
        const parameter *p = &g->parameter[i];
        if (!p->as.fixed && (p->as.table || (p->frozen && p->size >= WORTH_IT)))
            return true;
    }
    return false;
}

// Averages what lies between the weights that stay behind, as few runs as there are.
static int average_rest(const struct exchange *x, err *e)
{
    const model *m = x->m;
    const graph *g = m->graph;
    size_t from = 0;
    for (size_t i = 0; i <= g->parameters; i++) {
        const parameter *p = i < g->parameters ? &g->parameter[i] : NULL;
        bool end = !p, apart;
        if (!end && p->as.fixed) // behind all others
            continue;
        apart = !end && (is_sparse(x, i) || (p->frozen && p->size >= WORTH_IT));
        if (!end && !apart)
            continue;
        size_t to = end ? g->trained : p->at;
        if (to > from &&
            m->spec.allreduce(m->spec.allreduce_ctx, m->g + from, to - from, "gradients", e) < 0)
            return -1;
        if (end)
            break;
        from = p->at + p->size;
    }
    for (size_t i = 0; i < g->parameters; i++)
        if (!is_sparse(x, i))
            model_touch(x->m, i); // other ranks have touched other rows
    return 0;
}

// Begins with all that is final and has not begun.
static void begin_from(model *m, size_t from)
{
    size_t n = m->overlap.left - from;
    if (n)
        m->overlap.status =
            m->spec.overlap->begin(m->spec.allreduce_ctx, m->g + from, n, &m->overlap.error);
    m->overlap.left = from;
}

// step.ready
static void ready(void *ctx, size_t from)
{
    model *m = ctx;
    if (m->overlap.status)
        return;
    if (from < m->overlap.left && m->overlap.left - from >= m->spec.bucket)
        begin_from(m, from);
    else if (m->overlap.left < m->graph->trained)
        m->overlap.status = m->spec.overlap->progress(m->spec.allreduce_ctx, &m->overlap.error);
}

void exchange_along(model *m, step *s)
{
    m->overlap.on = m->spec.overlap && !m->shares && !exchange_parts(m->graph);
    m->overlap.left = m->graph->trained;
    m->overlap.status = 0;
    s->ready = m->overlap.on ? ready : NULL;
    s->ready_ctx = m;
}

bool exchange_goes_on(const model *m)
{
    return m->overlap.on && m->overlap.left < m->graph->trained;
}

// What has not begun yet begins, and all is waited for. 1: nothing has begun.
static int finish_overlap(model *m, err *e)
{
    if (!m->overlap.on)
        return 1;
    m->overlap.on = false;
    if (m->overlap.status == 0)
        begin_from(m, 0);
    if (m->overlap.status == 0)
        m->overlap.status = m->spec.overlap->finish(m->spec.allreduce_ctx, &m->overlap.error);
    if (m->overlap.status < 0)
        err_give(e, &m->overlap.error);
    return m->overlap.status;
}

int exchange_gradients(model *m, err *e)
{
    if (!m->spec.allreduce)
        return 0;
    int along = finish_overlap(m, e);
    if (along <= 0) // no weight is a table
        return along;
    struct exchange x = {.m = m, .ranks = m->spec.ranks > 1 ? (size_t)m->spec.ranks : 1};
    AUTO_FREE struct table *table = mem_array(m->graph->parameters, sizeof *table);
    x.table = table;
    bool any = false;
    int status = count_all(&x, e);
    for (size_t t = 0; t < x.n; t++)
        any |= x.table[t].sparse;
    if (status == 0 && any)
        status = gather_rows(&x, m->spec.rank, e);
    if (status == 0)
        status = average_rest(&x, e);
    free(x.count);
    return status;
}
