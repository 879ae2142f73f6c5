// SPDX-License-Identifier: MIT
#include "trainer/data/crew.h"

#include "base/mem.h"

#include <pthread.h>
#include <stdbool.h>

struct crew {
    pthread_mutex_t lock; // of all below
    pthread_cond_t begun, done;
    size_t n, next, left; // number of tasks; the next one; those that are not done
    void (*task)(void *ctx, size_t i);
    void *ctx;
    bool over;
    int helpers;
    pthread_t *thread;
};

// Does tasks as long as there are some; the lock is held before and after.
static void work(crew *c)
{
    while (c->next < c->n) {
        size_t i = c->next++;
        pthread_mutex_unlock(&c->lock);
        c->task(c->ctx, i);
        pthread_mutex_lock(&c->lock);
        if (--c->left == 0)
            pthread_cond_broadcast(&c->done);
    }
}

static void *help(void *ctx)
{
    crew *c = ctx;
    pthread_mutex_lock(&c->lock);
    while (!c->over) {
        work(c);
        if (!c->over)
            pthread_cond_wait(&c->begun, &c->lock);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

crew *crew_new(int helpers)
{
    crew *c = mem_alloc(sizeof *c);
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->begun, NULL);
    pthread_cond_init(&c->done, NULL);
    c->thread = mem_array((size_t)helpers + 1, sizeof *c->thread);
    while (c->helpers < helpers && pthread_create(&c->thread[c->helpers], NULL, help, c) == 0)
        c->helpers++;
    return c;
}

void crew_free(crew *c)
{
    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    c->over = true;
    pthread_cond_broadcast(&c->begun);
    pthread_mutex_unlock(&c->lock);
    for (int i = 0; i < c->helpers; i++)
        pthread_join(c->thread[i], NULL);
    pthread_mutex_destroy(&c->lock);
    pthread_cond_destroy(&c->begun);
    pthread_cond_destroy(&c->done);
    free(c->thread);
    free(c);
}

void crew_begin(crew *c, size_t n, void (*task)(void *ctx, size_t i), void *ctx)
{
    pthread_mutex_lock(&c->lock);
    c->n = c->left = n;
    c->next = 0;
    c->task = task;
    c->ctx = ctx;
    pthread_cond_broadcast(&c->begun);
    pthread_mutex_unlock(&c->lock);
}

void crew_end(crew *c)
{
    pthread_mutex_lock(&c->lock);
    work(c);
    while (c->left)
        pthread_cond_wait(&c->done, &c->lock);
    pthread_mutex_unlock(&c->lock);
}
