// SPDX-License-Identifier: MIT
#include "trainer/feed.h"

#include "base/mem.h"

#include <pthread.h>
#include <string.h>

enum { PLACES = 2 };

struct place {
    bool ready;
    size_t n;
    tensor **x, **y, *weights; // [inputs], [outputs]
    tensor *head_weights[HEADS_MAX];
    tensor **room; // [inputs]: of those whose rows are made, (size, …)
    err error;
    bool failed;
};

struct feed {
    const model_data *data;
    const tensor *const *xs, *const *ys;
    size_t inputs, outputs;
    const uint32_t *order;
    size_t n, size, steps, taken;
    pthread_t thread;
    bool started;
    pthread_mutex_t lock; // guards the fields below, and each place's `ready`
    pthread_cond_t changed;
    bool stop;
    struct place place[PLACES];
};

bool feed_is_needed(const model *m, const model_data *data)
{
    bool needed = data->x->later || data->x->mapped;
    for (size_t k = 0; data->xs && k < model_input_count(m); k++)
        needed |= data->xs[k]->later || data->xs[k]->mapped;
    return needed;
}

static void drop(tensor **list, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        tensor_free(list[k]);
        list[k] = NULL;
    }
}

static void empty(const feed *f, struct place *p)
{
    drop(p->x, f->inputs);
    drop(p->y, f->outputs);
    drop(&p->weights, 1);
    drop(p->head_weights, HEADS_MAX);
}

// Rows of one input.
static tensor *make_rows(const tensor *t, tensor *room, const uint32_t *rows, size_t n, err *e)
{
    if (!t->later)
        return tensor_gather(t, rows, n, e);
    if (t->later->fill(t->later->ctx, rows, n, room->data, e) < 0)
        return NULL;
    return tensor_slice(room, 0, (int64_t)n, e);
}

static int make(feed *f, struct place *p, size_t step, err *e)
{
    size_t from = step * f->size;
    const uint32_t *rows = f->order + from;
    p->n = f->n - from < f->size ? f->n - from : f->size;
    for (size_t k = 0; k < f->inputs; k++)
        if (!(p->x[k] = make_rows(f->xs[k], p->room[k], rows, p->n, e)))
            return -1;
    for (size_t k = 0; k < f->outputs; k++)
        if (!(p->y[k] = tensor_gather(f->ys[k], rows, p->n, e)))
            return -1;
    const tensor *const *heads = f->data->head_weights;
    for (size_t k = 0; heads && k < f->outputs; k++)
        if (heads[k] && !(p->head_weights[k] = tensor_gather(heads[k], rows, p->n, e)))
            return -1;
    if (f->data->weights && !(p->weights = tensor_gather(f->data->weights, rows, p->n, e)))
        return -1;
    return 0;
}

// Waits until the place is (not) ready; false when it is to stop.
static bool wait_for(feed *f, const struct place *p, bool ready)
{
    pthread_mutex_lock(&f->lock);
    while (p->ready != ready && !f->stop)
        pthread_cond_wait(&f->changed, &f->lock);
    bool go = !f->stop;
    pthread_mutex_unlock(&f->lock);
    return go;
}

static void set_ready(feed *f, struct place *p, bool ready)
{
    pthread_mutex_lock(&f->lock);
    p->ready = ready;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
}

static void *work(void *ctx)
{
    feed *f = ctx;
    bool failed = false;
    for (size_t step = 0; step < f->steps && !failed; step++) {
        struct place *p = &f->place[step % PLACES];
        if (!wait_for(f, p, false))
            break;
        empty(f, p);
        failed = p->failed = make(f, p, step, &p->error) < 0;
        set_ready(f, p, true);
    }
    return NULL;
}

static int make_room(feed *f, err *e)
{
    for (size_t i = 0; i < PLACES; i++) {
        struct place *p = &f->place[i];
        p->x = mem_array(f->inputs, sizeof *p->x);
        p->room = mem_array(f->inputs, sizeof *p->room);
        p->y = mem_array(f->outputs + 1, sizeof *p->y);
    }
    for (size_t i = 0; i < PLACES; i++)
        for (size_t k = 0; k < f->inputs; k++) {
            const tensor *t = f->xs[k];
            size_t shape[TENSOR_MAX_DIMS];
            memcpy(shape, t->shape, sizeof shape);
            shape[0] = f->size < f->n ? f->size : f->n;
            if (t->later && !(f->place[i].room[k] = tensor_new(TENSOR_F32, t->dims, shape, e)))
                return -1;
        }
    return 0;
}

feed *feed_open(const model *m, const model_data *data, const uint32_t *order, size_t n,
    size_t size, size_t steps, err *e)
{
    feed *f = mem_alloc(sizeof *f);
    *f = (feed){.data = data, .order = order, .n = n, .size = size, .steps = steps};
    f->xs = data->xs ? data->xs : &data->x;
    f->ys = data->ys ? data->ys : &data->y;
    f->inputs = data->xs ? model_input_count(m) : 1;
    f->outputs = data->ys ? model_output_count(m) : data->y != NULL;
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->changed, NULL);
    if (make_room(f, e) == 0) {
        f->started = pthread_create(&f->thread, NULL, work, f) == 0;
        if (f->started)
            return f;
        err_set(e, ERR_LIMIT, "no thread for the next batches");
    }
    feed_close(f);
    return NULL;
}

int feed_next(feed *f, model_data *out, size_t *n, err *e)
{
    if (f->taken)
        set_ready(f, &f->place[(f->taken - 1) % PLACES], false);
    struct place *p = &f->place[f->taken++ % PLACES];
    wait_for(f, p, true);
    if (p->failed)
        return err_give(e, &p->error);
    *out = (model_data){.x = p->x[0],
        .y = p->y[0],
        .sparse = f->data->sparse,
        .weights = p->weights,
        .head_weights = f->data->head_weights ? (const tensor *const *)p->head_weights : NULL,
        .xs = f->data->xs ? (const tensor *const *)p->x : NULL,
        .ys = f->data->ys ? (const tensor *const *)p->y : NULL};
    *n = p->n;
    return 0;
}

void feed_close(feed *f)
{
    if (!f)
        return;
    pthread_mutex_lock(&f->lock);
    f->stop = true;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
    if (f->started)
        pthread_join(f->thread, NULL);
    for (size_t i = 0; i < PLACES; i++) {
        struct place *p = &f->place[i];
        empty(f, p);
        drop(p->room, f->inputs);
        free(p->x);
        free(p->y);
        free(p->room);
    }
    pthread_cond_destroy(&f->changed);
    pthread_mutex_destroy(&f->lock);
    free(f);
}
