// SPDX-License-Identifier: MIT
#include "trainer/serve/batch.h"

#include "base/clock.h"
#include "base/mem.h"

#include <pthread.h>
#include <time.h>

struct batcher {
    struct batch_options options;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread; // each prediction uses all processors, so one at a time
    atomic_bool stop;
    bool ending;
    struct batch_job *first, **end;
};

// The functions below are called with the lock held, except `run` and what it calls.

static bool fits(const struct batch_job *first, const struct batch_job *j)
{
    return first->q && j->q && infer_fits(first->q, j->q);
}

static bool is_full(const batcher *b)
{
    size_t rows = 0;
    for (const struct batch_job *j = b->first; j; j = j->next)
        if (fits(b->first, j))
            rows += infer_rows(j->q);
    return rows >= b->options.rows;
}

// So long the first one waits for others.
static void wait_for_more(batcher *b)
{
    int64_t until = clock_mono() + b->options.latency_ns;
    struct timespec at = {.tv_sec = until / CLOCK_SEC, .tv_nsec = until % CLOCK_SEC};
    while (b->options.latency_ns && b->first->q && !is_full(b) && !atomic_load(&b->stop))
        if (pthread_cond_timedwait(&b->changed, &b->lock, &at) != 0)
            return;
}

// Takes the first job out of the queue, and those that fit it.
static struct batch_job *take_batch(batcher *b, size_t *n, size_t *rows)
{
    struct batch_job *batch = NULL, **end = &batch;
    *n = *rows = 0;
    for (struct batch_job **at = &b->first; *at;) {
        struct batch_job *j = *at;
        size_t more = j->q ? infer_rows(j->q) : 1;
        if (batch && (*rows + more > b->options.rows || !fits(batch, j))) {
            at = &j->next;
            continue;
        }
        *at = j->next;
        j->next = NULL;
        *end = j;
        end = &j->next;
        *rows += more;
        ++*n;
    }
    for (b->end = &b->first; *b->end;)
        b->end = &(*b->end)->next;
    return batch;
}

static void predict_alone(const batcher *b, struct batch_job *j)
{
    j->status = j->q ? infer_run(j->m, &j->q, 1, &b->stop, &j->e) : j->run(j, &b->stop, &j->e);
}

// If a batch fails, each job is predicted alone, so that only the one at fault fails.
static void predict_together(const batcher *b, struct batch_job *batch, size_t n)
{
    err e = {0};
    size_t i = 0;
    AUTO_FREE infer_request **all = mem_array(n, sizeof *all);
    for (const struct batch_job *j = batch; j; j = j->next)
        all[i++] = j->q;
    bool failed = infer_run(batch->m, all, n, &b->stop, &e) < 0;
    for (struct batch_job *j = batch; failed && j; j = j->next)
        predict_alone(b, j);
}

static void run(const batcher *b, struct batch_job *batch, size_t n, size_t rows)
{
    bool stopped = atomic_load(&b->stop);
    if (!stopped)
        counts_batch(b->options.counts, batch->number, n, rows);
    if (stopped)
        for (struct batch_job *j = batch; j; j = j->next)
            j->status = err_set(&j->e, ERR_CANCELLED, "it is closing");
    else if (n > 1)
        predict_together(b, batch, n);
    else
        predict_alone(b, batch);
    for (struct batch_job *next; batch; batch = next) {
        next = batch->next;
        batch->done(batch);
    }
}

static void *predictor(void *arg)
{
    batcher *b = arg;
    pthread_mutex_lock(&b->lock);
    while (!b->ending || b->first) {
        size_t n, rows;
        if (!b->first) {
            pthread_cond_wait(&b->changed, &b->lock);
            continue;
        }
        wait_for_more(b);
        struct batch_job *batch = take_batch(b, &n, &rows);
        pthread_mutex_unlock(&b->lock);
        run(b, batch, n, rows);
        pthread_mutex_lock(&b->lock);
    }
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

static void free_parts(batcher *b)
{
    pthread_cond_destroy(&b->changed);
    pthread_mutex_destroy(&b->lock);
    free(b);
}

batcher *batch_new(const struct batch_options *o, err *e)
{
    batcher *b = mem_alloc(sizeof *b);
    pthread_condattr_t how;
    *b = (batcher){.options = *o, .lock = PTHREAD_MUTEX_INITIALIZER, .end = &b->first};
    pthread_condattr_init(&how);
    pthread_condattr_setclock(&how, CLOCK_MONOTONIC);
    pthread_cond_init(&b->changed, &how);
    pthread_condattr_destroy(&how);
    int failed = pthread_create(&b->thread, NULL, predictor, b);
    if (!failed)
        return b;
    err_start(e, failed, "cannot start a thread");
    free_parts(b);
    return NULL;
}

void batch_free(batcher *b)
{
    if (!b)
        return;
    pthread_mutex_lock(&b->lock);
    b->ending = true;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
    pthread_join(b->thread, NULL);
    free_parts(b);
}

void batch_add(batcher *b, struct batch_job *j)
{
    j->next = NULL;
    pthread_mutex_lock(&b->lock);
    *b->end = j;
    b->end = &j->next;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
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
