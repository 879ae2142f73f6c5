// SPDX-License-Identifier: MIT
#include "script/kernel/effects/jobthread.h"

#include "base/mem.h"

#include <pthread.h>
#include <signal.h>

struct task {
    jobthread *thread;
    void *job;
    struct task *next;
};

struct jobthread {
    loop *loop;
    void (*work)(void *job);
    void (*done)(void *job);
    bool has_thread;
    pthread_t thread;
    pthread_mutex_t lock; // for the next three
    pthread_cond_t wake;
    struct task *tasks;
    bool quit;
};

jobthread *jobthread_new(loop *l, void (*work)(void *job), void (*done)(void *job))
{
    jobthread *h = mem_alloc(sizeof *h);
    *h = (jobthread){.loop = l, .work = work, .done = done};
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->wake, NULL);
    return h;
}

void jobthread_free(jobthread *h)
{
    if (!h)
        return;
    pthread_mutex_lock(&h->lock);
    h->quit = true;
    pthread_cond_signal(&h->wake);
    pthread_mutex_unlock(&h->lock);
    if (h->has_thread)
        pthread_join(h->thread, NULL);
    while (h->tasks) {
        struct task *t = h->tasks;
        h->tasks = t->next;
        free(t);
    }
    pthread_cond_destroy(&h->wake);
    pthread_mutex_destroy(&h->lock);
    free(h);
}

static void on_done(void *arg)
{
    struct task *t = arg;
    void (*done)(void *job) = t->thread->done;
    void *job = t->job;
    free(t);
    done(job);
}

static struct task *next_task(jobthread *h)
{
    pthread_mutex_lock(&h->lock);
    while (!h->quit && !h->tasks)
        pthread_cond_wait(&h->wake, &h->lock);
    struct task *t = h->quit ? NULL : h->tasks;
    if (t)
        h->tasks = t->next;
    pthread_mutex_unlock(&h->lock);
    return t;
}

static void *thread_main(void *arg)
{
    jobthread *h = arg;
    struct task *t;
    while ((t = next_task(h))) {
        h->work(t->job);
        loop_post(h->loop, on_done, t);
    }
    return NULL;
}

static int start(jobthread *h, err *e)
{
    sigset_t all, before; // the loop's thread takes the signals
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&h->thread, NULL, thread_main, h);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    h->has_thread = failed == 0;
    return failed ? err_start(e, failed, "cannot start a thread") : 0;
}

int jobthread_add(jobthread *h, void *job, err *e)
{
    if (!h->has_thread && start(h, e) < 0)
        return -1;
    struct task *t = mem_alloc(sizeof *t);
    *t = (struct task){.thread = h, .job = job};
    pthread_mutex_lock(&h->lock);
    struct task **last = &h->tasks;
    while (*last)
        last = &(*last)->next;
    *last = t;
    pthread_cond_signal(&h->wake);
    pthread_mutex_unlock(&h->lock);
    return 0;
}
