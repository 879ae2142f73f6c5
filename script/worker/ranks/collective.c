// SPDX-License-Identifier: MIT
#include "script/worker/ranks/collective.h"

#include "base/clock.h"
#include "base/mem.h"

#include <stdio.h>
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

struct collective collective_of_values(
    enum collective_kind what, const char *name, size_t n, int root)
{
    struct collective c = collective_of(what, NULL, OP_AVERAGE, root, name);
    c.plan.type = TENSOR_F32;
    c.plan.dims = 1;
    c.plan.shape[0] = (int64_t)n;
    return c;
}

struct collective collective_of_numbers(const char *name, size_t n, int op)
{
    struct collective c = collective_of(COLLECTIVE_ALLREDUCE, NULL, op, 0, name);
    c.plan.dims = 1;
    c.plan.shape[0] = (int64_t)n;
    return c;
}

void collective_of_list(struct collective *c, size_t tensors, uint64_t shapes)
{
    c->plan.shape[1] = (int64_t)tensors; // behind the one dimension of the run
    c->plan.shape[2] = (int64_t)shapes;
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
    if (a->what == COLLECTIVE_FIT) // collective_fit compares what it has there
        return 0;
    int first = a->what == COLLECTIVE_ALLGATHER; // its first dimension may differ between ranks
    size_t rest = sizeof a->shape - (size_t)first * sizeof a->shape[0];
    if (a->dims == b->dims && memcmp(a->shape + first, b->shape + first, rest) == 0)
        return 0;
    if (a->what == COLLECTIVE_ALLREDUCE && a->dims == 1 && b->dims == 1 && a->shape[1])
        return err_set(e, ERR_USAGE,
            "Mismatched ALLREDUCE lists: One rank sent %lld tensors of %lld numbers, but another "
            "rank sent %lld of %lld numbers, or in other shapes.",
            (long long)a->shape[1], (long long)a->shape[0], (long long)b->shape[1],
            (long long)b->shape[0]);
    plan_shape(a, &mine);
    plan_shape(b, &theirs);
    return err_set(e, ERR_USAGE,
        "Mismatched %s tensor shapes: One rank sent a tensor of shape %s, but another rank sent a "
        "tensor of shape %s.",
        plan_names[a->what], mine.data, theirs.data);
}

// While a rank has joined, the others may only reduce, by a sum or an average.
static int compare_joined(const struct plan *p, err *e)
{
    enum { AVERAGE = 0, SUM = 1 };
    if (p->what == COLLECTIVE_ALLREDUCE && (p->op == AVERAGE || p->op == SUM))
        return 0;
    return err_set(e, ERR_USAGE,
        "%s is not supported while another rank has joined (hvd.join): only sums and averages are",
        plan_names[p->what]);
}

// Every rank compares all plans with the first that is no JOIN, so that all of them fail or none
// does.
static int compare_all(const struct plan *plans, int size, err *e)
{
    const struct plan *first = NULL;
    bool joined = false;
    for (int r = 0; r < size; r++) {
        bool here = plans[r].what == COLLECTIVE_JOIN;
        if (!here && first && compare(first, &plans[r], e))
            return -1;
        joined |= here;
        first = here || first ? first : &plans[r];
    }
    return joined && first ? compare_joined(first, e) : 0;
}

// plans: room for `size` plans.
static int agree(const worker *w, const struct plan *mine, struct plan *plans, err *e)
{
    int size = w->place.size;
    size_t *counts = mem_array((size_t)size, sizeof *counts);
    for (int r = 0; r < size; r++)
        counts[r] = sizeof *mine;
    int result = w->comm->allgather(mine, plans, counts, e);
    free(counts);
    return result ? -1 : compare_all(plans, size, e);
}

static void tell(worker *w, int64_t waited, const char *operation)
{
    AUTO_BUF body = {0};
    enum stall_channel channel = w->doing.channel;
    stall_put(&body, channel, waited, w->doing.begun[channel], operation);
    rank_send(w->link, MESSAGE_WAITS, body.data, body.len, NULL);
}

void collective_enter(worker *w, enum stall_channel channel, const char *operation)
{
    if (w->doing.told)
        tell(w, 0, "");
    w->doing.told = false;
    w->doing.channel = channel;
    w->doing.begun[channel] += operation && *operation;
    snprintf(w->doing.operation, sizeof w->doing.operation, "%s", operation ? operation : "");
}

int collective_tell_counts(worker *w, err *e)
{
    char body[sizeof w->doing.begun];
    for (int c = 0; c < STALL_CHANNELS; c++)
        put_u32(body + 4 * c, w->doing.begun[c]);
    return rank_send(w->link, MESSAGE_COUNTS, body, sizeof body, e);
}

void collective_slow(void *ctx, int64_t waited)
{
    worker *w = ctx;
    if (!w->link || !w->doing.operation[0])
        return;
    tell(w, waited, w->doing.operation);
    w->doing.told = true;
}

static void enter(worker *w, const struct collective *c, enum stall_channel channel)
{
    AUTO_BUF text = {0};
    buf_fmt(&text, "%s%s%s", plan_names[c->plan.what], c->name ? " " : "", c->name ? c->name : "");
    collective_enter(w, channel, buf_cstr(&text));
}

void collective_begin_gradients(worker *w, const struct collective *c)
{
    enter(w, c, STALL_GRADIENTS);
}

int collective_begin(worker *w, struct collective *c, struct plan *plans, err *e)
{
    struct plan *room = plans ? NULL : mem_array((size_t)w->place.size, sizeof *room);
    enter(w, c, STALL_COMPARED);
    int result = agree(w, &c->plan, plans ? plans : room, e);
    c->agreed = clock_mono();
    if (result)
        collective_enter(w, STALL_COMPARED, NULL);
    free(room);
    return result;
}

void collective_end(worker *w, const struct collective *c)
{
    collective_enter(w, w->doing.channel, NULL);
    if (!w->timeline)
        return;
    AUTO_BUF shape = {0};
    plan_shape(&c->plan, &shape);
    struct timeline_op op = {
        .kind = plan_names[c->plan.what],
        .by = w->comm->name,
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

comm_op collective_reduction(int64_t op, comm_type type)
{
    static const comm_op ops[] = {[OP_AVERAGE] = COMM_AVERAGE,
        [OP_SUM] = COMM_SUM,
        [OP_MIN] = COMM_MIN,
        [OP_MAX] = COMM_MAX,
        [OP_PRODUCT] = COMM_PRODUCT};
    return type == COMM_F64 && op == OP_AVERAGE ? COMM_SUM : ops[op];
}

comm_type collective_number_type(const struct plan *plans, int size)
{
    for (int r = 0; r < size; r++)
        if (plans[r].what != COLLECTIVE_JOIN && (!plans[r].integer || plans[r].op == OP_AVERAGE))
            return COMM_F64;
    return COMM_I64;
}

// Takes part, with zeros, in the allreduce that the others make: p, where numbers have this type.
static int take_part(worker *w, const struct plan *p, comm_type number, err *e)
{
    static const comm_type types[] = {[TENSOR_F32] = COMM_F32, [TENSOR_I64] = COMM_I64};
    size_t n = 1;
    for (int i = 0; i < p->dims; i++)
        n *= (size_t)p->shape[i];
    comm_type type = p->type < 0 ? number : types[p->type];
    double *zeros = mem_array(n ? n : 1, sizeof *zeros);
    int result = w->comm->allreduce(zeros, n, type, collective_reduction(p->op, type), e);
    free(zeros);
    return result;
}

// The rank that joined last has taken part in the fewest operations since.
static int last_of(const struct plan *plans, int size)
{
    int last = 0;
    for (int r = 1; r < size; r++)
        last = plans[r].root <= plans[last].root ? r : last;
    return last;
}

int collective_join(worker *w, err *e)
{
    int size = w->place.size, result = 0, last = -1;
    struct plan *plans = mem_array((size_t)size, sizeof *plans);
    for (int taken = 0; result == 0 && last < 0; taken++) {
        struct collective c = collective_of(COLLECTIVE_JOIN, NULL, 0, taken, NULL);
        result = collective_begin(w, &c, plans, e);
        const struct plan *other = NULL;
        for (int r = 0; r < size && !other; r++)
            other = plans[r].what != COLLECTIVE_JOIN ? &plans[r] : NULL;
        if (result == 0 && other)
            result = take_part(w, other, collective_number_type(plans, size), e);
        else if (result == 0)
            last = last_of(plans, size);
        collective_end(w, &c);
    }
    free(plans);
    return result ? -1 : last;
}
