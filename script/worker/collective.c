// SPDX-License-Identifier: MIT
#include "script/worker/collective.h"

#include "base/clock.h"
#include "base/mem.h"

#include <string.h>

static const char *const plan_names[] = {
#define X(name, text) text,
    COLLECTIVES(X)
#undef X
};

struct collective collective_of(
    enum collective_kind what, const tensor *t, int op, int root, const char *name)
{
    struct plan p = {.what = what, .type = t ? (int64_t)t->type : -1, .op = op, .root = root};
    p.dims = t ? t->dims : 0;
    for (int i = 0; i < p.dims; i++)
        p.shape[i] = (int64_t)t->shape[i];
    int64_t now = clock_mono();
    return (struct collective){.plan = p, .name = name, .begin = now, .agreed = now};
}

struct collective collective_of_values(const char *name, size_t n)
{
    struct collective c = collective_of(COLLECTIVE_ALLREDUCE, NULL, 0, 0, name);
    c.plan.type = TENSOR_F32;
    c.plan.dims = 1;
    c.plan.shape[0] = (int64_t)n;
    return c;
}

static void plan_shape(const struct plan *p, buf *out)
{
    size_t shape[TENSOR_MAX_DIMS];
    for (int i = 0; i < p->dims; i++)
        shape[i] = (size_t)p->shape[i];
    shape_text((int)p->dims, shape, out);
}

static int compare(const struct plan *a, const struct plan *b, err *e)
{
    AUTO_BUF mine = {0}, theirs = {0};
    const char *type_a = a->type < 0 ? "number" : tensor_type_name((tensor_type)a->type);
    const char *type_b = b->type < 0 ? "number" : tensor_type_name((tensor_type)b->type);
    if (a->what != b->what)
        return err_set(e, ERR_USAGE,
            "Mismatched collective operations: One rank did an %s, but another rank did an %s.",
            plan_names[a->what], plan_names[b->what]);
    if (a->type != b->type)
        return err_set(e, ERR_USAGE,
            "Mismatched data types: One rank had type %s, but another rank had type %s.", type_a,
            type_b);
    if (a->root != b->root)
        return err_set(e, ERR_USAGE,
            "Mismatched %s root ranks: One rank specified root rank %d, but another rank specified "
            "root rank %d.",
            plan_names[a->what], (int)a->root, (int)b->root);
    if (a->op != b->op)
        return err_set(e, ERR_USAGE,
            "Mismatched reduction operations: One rank specified %d, but another rank specified "
            "%d.",
            (int)a->op, (int)b->op);
    int first = a->what == COLLECTIVE_ALLGATHER; // its first dimension may differ between ranks
    size_t rest = sizeof a->shape - (size_t)first * sizeof a->shape[0];
    if (a->dims == b->dims && memcmp(a->shape + first, b->shape + first, rest) == 0)
        return 0;
    plan_shape(a, &mine);
    plan_shape(b, &theirs);
    return err_set(e, ERR_USAGE,
        "Mismatched %s tensor shapes: One rank sent a tensor of shape %s, but another rank sent a "
        "tensor of shape %s.",
        plan_names[a->what], mine.data, theirs.data);
}

// Every rank compares all plans with rank 0's, so that all of them fail or none does. plans: room
// for `size` plans.
static int agree(const worker *w, const struct plan *mine, struct plan *plans, err *e)
{
    int size = w->place.size;
    size_t *counts = mem_array((size_t)size, sizeof *counts);
    for (int r = 0; r < size; r++)
        counts[r] = sizeof *mine;
    int result = w->comm->allgather(mine, plans, counts, e);
    free(counts);
    for (int r = 1; r < size && result == 0; r++)
        result = compare(&plans[0], &plans[r], e);
    return result;
}

int collective_begin(const worker *w, struct collective *c, struct plan *plans, err *e)
{
    struct plan *room = plans ? NULL : mem_array((size_t)w->place.size, sizeof *room);
    int result = agree(w, &c->plan, plans ? plans : room, e);
    c->agreed = clock_mono();
    free(room);
    return result;
}

void collective_end(const worker *w, const struct collective *c)
{
    if (!w->timeline)
        return;
    AUTO_BUF shape = {0};
    plan_shape(&c->plan, &shape);
    struct timeline_op op = {
        .kind = plan_names[c->plan.what],
        .name = c->name ? c->name : plan_names[c->plan.what],
        .dtype = c->plan.type < 0 ? "f64" : tensor_type_name((tensor_type)c->plan.type),
        .shape = buf_cstr(&shape),
        .size = w->place.size,
        .begin = c->begin,
        .agreed = c->agreed,
        .end = clock_mono(),
    };
    timeline_add(w->timeline, &op);
}
