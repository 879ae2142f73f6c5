// SPDX-License-Identifier: MIT
#include "trainer/serve/batch.h"

#include "base/clock.h"
#include "base/mem.h"

#include <pthread.h>
#include <time.h>

struct waiting {
    size_t number;
    model *m;
    infer_request *q;
    int status;
    err e;
    bool taken, done;
    struct waiting *next;
};

struct batcher {
    struct batch_options options;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    atomic_bool stop;
    bool taken, reading; // the turn: one prediction at a time has all processors
    struct waiting *first, **end;
};

batcher *batch_new(const struct batch_options *o)
{
    batcher *b = mem_alloc(sizeof *b);
    pthread_condattr_t how;
    *b = (batcher){.options = *o, .lock = PTHREAD_MUTEX_INITIALIZER, .end = &b->first};
    pthread_condattr_init(&how);
    pthread_condattr_setclock(&how, CLOCK_MONOTONIC);
    pthread_cond_init(&b->changed, &how);
    pthread_condattr_destroy(&how);
    return b;
}

void batch_free(batcher *b)
{
    if (!b)
        return;
    pthread_cond_destroy(&b->changed);
    pthread_mutex_destroy(&b->lock);
    free(b);
}

void batch_stop(batcher *b)
{
    pthread_mutex_lock(&b->lock);
    atomic_store(&b->stop, true);
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
}

const atomic_bool *batch_stopped(const batcher *b)
{
    return &b->stop;
}

// Waits until nobody has it, then takes it; false: stopped.
static bool take(batcher *b, bool *what)
{
    pthread_mutex_lock(&b->lock);
    while (*what && !atomic_load(&b->stop))
        pthread_cond_wait(&b->changed, &b->lock);
    bool mine = !atomic_load(&b->stop);
    *what = *what || mine;
    pthread_mutex_unlock(&b->lock);
    return mine;
}

static void give(batcher *b, bool *what)
{
    pthread_mutex_lock(&b->lock);
    *what = false;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
}

bool batch_take_turn(batcher *b)
{
    return take(b, &b->taken);
}

void batch_give_turn(batcher *b)
{
    give(b, &b->taken);
}

bool batch_begin_reading(batcher *b)
{
    return take(b, &b->reading);
}

void batch_end_reading(batcher *b)
{
    give(b, &b->reading);
}

// What follows is called with the lock.

static void unlink_at(batcher *b, struct waiting **at)
{
    struct waiting *w = *at;
    *at = w->next;
    if (!*at)
        b->end = at;
    w->next = NULL;
}

static void leave_queue(batcher *b, const struct waiting *w)
{
    struct waiting **at = &b->first;
    while (*at != w)
        at = &(*at)->next;
    unlink_at(b, at);
}

static bool is_full(const batcher *b)
{
    size_t rows = 0;
    for (const struct waiting *w = b->first; w; w = w->next)
        if (infer_fits(b->first->q, w->q))
            rows += infer_rows(w->q);
    return rows >= b->options.rows;
}

// So long the first one waits for others.
static void wait_for_more(batcher *b)
{
    int64_t until = clock_mono() + b->options.latency_ns;
    struct timespec at = {.tv_sec = until / CLOCK_SEC, .tv_nsec = until % CLOCK_SEC};
    while (b->options.latency_ns && b->first && !is_full(b) && !atomic_load(&b->stop))
        if (pthread_cond_timedwait(&b->changed, &b->lock, &at) != 0)
            return;
}

// Takes the first one out of the queue, and those that fit it.
static struct waiting *take_batch(batcher *b, size_t *n, size_t *rows)
{
    struct waiting *batch = NULL, **end = &batch;
    *n = *rows = 0;
    for (struct waiting **at = &b->first; *at;) {
        struct waiting *w = *at;
        size_t more = infer_rows(w->q);
        if (batch && (*rows + more > b->options.rows || !infer_fits(batch->q, w->q))) {
            at = &w->next;
            continue;
        }
        unlink_at(b, at);
        w->taken = true;
        *end = w;
        end = &w->next;
        *rows += more;
        ++*n;
    }
    return batch;
}

// Where they fail together, each is predicted alone: only the one that is to blame fails.
static void run(const batcher *b, struct waiting *batch, size_t n)
{
    err e = {0};
    size_t i = 0;
    AUTO_FREE infer_request **all = mem_array(n, sizeof *all);
    for (const struct waiting *w = batch; w; w = w->next)
        all[i++] = w->q;
    int status = infer_run(batch->m, all, n, &b->stop, &e);
    bool again = status < 0 && n > 1 && !atomic_load(&b->stop);
    for (struct waiting *w = batch; w; w = w->next) {
        w->status = again ? infer_run(w->m, &w->q, 1, &b->stop, &w->e) : status;
        w->e = again ? w->e : e;
    }
}

// The turn is free: predicts for those that wait. They go as soon as theirs is done.
static void lead(batcher *b)
{
    size_t n = 0, rows = 0;
    b->taken = true;
    wait_for_more(b);
    struct waiting *batch = take_batch(b, &n, &rows);
    if (batch) {
        pthread_mutex_unlock(&b->lock);
        counts_batch(b->options.counts, batch->number, n, rows);
        run(b, batch, n);
        pthread_mutex_lock(&b->lock);
    }
    for (struct waiting *w = batch, *next; w; w = next) {
        next = w->next;
        w->done = true;
    }
    b->taken = false;
    pthread_cond_broadcast(&b->changed);
}

int batch_predict(batcher *b, size_t i, model *m, infer_request *q, err *e)
{
    struct waiting w = {.number = i, .m = m, .q = q};
    pthread_mutex_lock(&b->lock);
    *b->end = &w;
    b->end = &w.next;
    pthread_cond_broadcast(&b->changed);
    while (!w.done) {
        if (!w.taken && atomic_load(&b->stop)) {
            leave_queue(b, &w);
            w.done = true;
            w.status = err_set(&w.e, ERR_CANCELLED, "it is closing");
        } else if (!b->taken) {
            lead(b);
        } else {
            pthread_cond_wait(&b->changed, &b->lock);
        }
    }
    pthread_mutex_unlock(&b->lock);
    if (w.status < 0)
        err_give(e, &w.e);
    return w.status;
}
