// SPDX-License-Identifier: MIT
#include "script/kernel/cells/wait/workers.h"

#include "base/clock.h"
#include "base/mem.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

enum {
    IDLE_SECONDS = 5,
    STACK = 1 << 20, // bindings parse nested JSON and YAML on it
};

struct task {
    void *job;
    struct task *next;
};

struct workers {
    void (*work)(void *job);
    size_t most;
    pthread_attr_t attr;  // detached
    pthread_mutex_t lock; // for the rest
    pthread_cond_t wake, ended;
    size_t threads, idle, queued;
    struct task *first, **last;
    bool quit;
};

workers *workers_new(size_t most, void (*work)(void *job))
{
    workers *w = mem_alloc(sizeof *w);
    pthread_condattr_t clock;
    *w = (workers){.work = work, .most = most, .last = &w->first};
    pthread_attr_init(&w->attr);
    pthread_attr_setdetachstate(&w->attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&w->attr, STACK);
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&w->wake, &clock);
    pthread_condattr_destroy(&clock);
    pthread_cond_init(&w->ended, NULL);
    return w;
}

void workers_free(workers *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    w->quit = true;
    pthread_cond_broadcast(&w->wake);
    while (w->threads > 0)
        pthread_cond_wait(&w->ended, &w->lock);
    pthread_mutex_unlock(&w->lock);
    pthread_cond_destroy(&w->wake);
    pthread_cond_destroy(&w->ended);
    pthread_mutex_destroy(&w->lock);
    pthread_attr_destroy(&w->attr);
    free(w);
}

// With the lock held: waits for the next task; NULL: the thread should end.
static struct task *next_task(workers *w)
{
    int64_t until = clock_mono() + IDLE_SECONDS * CLOCK_SEC;
    const struct timespec at = {until / CLOCK_SEC, until % CLOCK_SEC};
    w->idle++;
    while (!w->first && !w->quit && clock_mono() < until)
        pthread_cond_timedwait(&w->wake, &w->lock, &at);
    w->idle--;
    struct task *t = w->first;
    if (t) {
        w->first = t->next;
        w->queued--;
        if (!w->first)
            w->last = &w->first;
    }
    return t;
}

static void *thread_main(void *arg)
{
    workers *w = arg;
    pthread_mutex_lock(&w->lock);
    struct task *t;
    while ((t = next_task(w))) {
        pthread_mutex_unlock(&w->lock);
        void *job = t->job;
        free(t);
        w->work(job);
        pthread_mutex_lock(&w->lock);
    }
    w->threads--;
    pthread_cond_signal(&w->ended);
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

// With the lock held.
static int start(workers *w, err *e)
{
    pthread_t thread;
    sigset_t all, before; // the loop's thread takes the signals
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&thread, &w->attr, thread_main, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!failed)
        w->threads++;
    return failed && w->threads == 0 ? err_start(e, failed, "cannot start a thread") : 0;
}

int workers_give(workers *w, void *job, err *e)
{
    struct task *t = mem_alloc(sizeof *t);
    t->job = job;
    pthread_mutex_lock(&w->lock);
    bool needs_more = w->queued >= w->idle && w->threads < w->most;
    int started = needs_more ? start(w, e) : 0;
    if (started == 0) {
        *w->last = t;
        w->last = &t->next;
        w->queued++;
        pthread_cond_signal(&w->wake);
    }
    pthread_mutex_unlock(&w->lock);
    if (started < 0)
        free(t);
    return started;
}
