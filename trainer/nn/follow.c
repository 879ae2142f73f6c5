// SPDX-License-Identifier: MIT
#include "trainer/nn/follow.h"

#include <math.h>
#include <string.h>

params model_params(const model *m)
{
    size_t n = m->graph->values;
    bool centered = optimizer_is_centered(&m->spec.optimizer);
    return (params){.w = m->w,
        .m = m->slots > 0 ? m->slot : NULL,
        .v = m->slots > 1 + (size_t)centered ? m->slot + n : NULL,
        .g = m->g,
        .a = centered ? m->slot + (m->slots - 1) * n : NULL}; // the last one
}

struct follow {
    const model *m;
    update rule;
    double rate; // of the learning, for a group's weight decay
    size_t from, to;
};

// The rule as this weight follows it.
static update rule_for(const struct follow *f, const parameter *p)
{
    update u = f->rule;
    u.rate *= (float)p->rate;
    u.decay = isnan(p->decay) ? u.decay * (float)p->rate : (float)(f->rate * p->rate * p->decay);
    return u;
}

// Does nothing where the gradient is 0?
static bool passes_over_zeros(const update *u)
{
    return (u->rule == UPDATE_SGD || u->rule == UPDATE_ADAGRAD) && !(u->decay > 0);
}

static void update_all(
    const model *m, const update *rule, const params *values, size_t from, size_t to)
{
    if (from < to)
        m->cpu->update(rule, params_at(values, from), m->g + from, to - from);
}

// Of [from, to) only the lines of 16 floats in which rows that were touched lie.
static void update_table(const model *m, const update *rule, const params *values,
    const parameter *p, const uint8_t *touched, size_t from, size_t to)
{
    size_t done = from, row = (from - p->at) / p->columns;
    for (; done < to && row < p->rows; row++) {
        const uint8_t *next = memchr(touched + row, 1, p->rows - row);
        if (!next)
            break;
        row = (size_t)(next - touched);
        size_t first = p->at + row * p->columns / 16 * 16;
        size_t end = p->at + op_round((row + 1) * p->columns, 16);
        first = first > done ? first : done;
        end = end < to ? end : to;
        update_all(m, rule, values, first, end);
        done = end > done ? end : done;
    }
}

// LazyAdam: whole rows, those that begin in [from, to), and no other. A row that is known to be
// named is updated though its gradient is 0; of a table of which that is not known, one that has
// none is passed over.
static void update_lazily(const model *m, const update *rule, const params *values,
    const parameter *p, const uint8_t *touched, size_t from, size_t to)
{
    enum { WIDE = 256 };
    _Alignas(64) float room[4][WIDE];
    bool known = touched && !m->guessed;
    for (size_t row = (from - p->at + p->columns - 1) / p->columns; row < p->rows; row++) {
        size_t at = p->at + row * p->columns;
        if (at >= to)
            break;
        bool has = known && touched[row];
        for (size_t c = 0; !has && (!touched || touched[row]) && !known && c < p->columns; c++)
            has = m->g[at + c] != 0;
        for (size_t c = 0; has && c < p->columns; c += WIDE) {
            size_t n = p->columns - c < WIDE ? p->columns - c : WIDE, padded = op_round(n, 16);
            float *run[] = {
                values->w + at + c, values->m + at + c, values->v + at + c, m->g + at + c};
            for (int k = 0; k < 4; k++) {
                memcpy(room[k], run[k], n * sizeof(float));
                memset(room[k] + n, 0, (padded - n) * sizeof(float));
            }
            m->cpu->update(
                rule, (params){.w = room[0], .m = room[1], .v = room[2]}, room[3], padded);
            for (int k = 0; k < 3; k++)
                memcpy(run[k], room[k], n * sizeof(float));
        }
    }
}

static void follow(void *ctx, int thread)
{
    const struct follow *f = ctx;
    const graph *g = f->m->graph;
    size_t threads = f->m->tempo.alone ? 1 : (size_t)pool_threads(f->m->pool),
           lines = (f->to - f->from) / 16;
    size_t from = f->from + lines * (size_t)thread / threads * 16;
    size_t to = f->from + lines * ((size_t)thread + 1) / threads * 16;
    params values = model_params(f->m);
    for (size_t i = 0; i < g->parameters; i++) {
        const parameter *p = &g->parameter[i];
        size_t first = p->at > from ? p->at : from;
        size_t end = p->at + p->size < to ? p->at + p->size : to;
        update rule = rule_for(f, p);
        if (p->frozen || first >= end)
            continue;
        if (f->m->spec.optimizer.kind == OPTIMIZER_LAZY_ADAM && p->as.table)
            update_lazily(f->m, &rule, &values, p, f->m->touched[i], first, end);
        else if (f->m->touched[i] && passes_over_zeros(&rule))
            update_table(f->m, &rule, &values, p, f->m->touched[i], first, end);
        else
            update_all(f->m, &rule, &values, first, end);
    }
}

void follow_part(const model *m, update rule, double rate, size_t from, size_t to)
{
    pool_run(m->pool, m->tempo.alone, follow, &(struct follow){m, rule, rate, from, to});
}

void follow_gradients(const model *m, update rule, double rate)
{
    follow_part(m, rule, rate, 0, m->graph->trained);
}
