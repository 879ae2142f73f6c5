// SPDX-License-Identifier: MIT
#include "script/journal/syncer.h"

#include "base/mem.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

struct syncer {
    int fd;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool wanted, quit;
};

static void *thread_main(void *arg)
{
    syncer *s = arg;
    pthread_mutex_lock(&s->lock);
    for (;;) {
        while (!s->wanted && !s->quit)
            pthread_cond_wait(&s->wake, &s->lock);
        if (!s->wanted)
            break;
        s->wanted = false;
        pthread_mutex_unlock(&s->lock);
        fdatasync(s->fd); // a disk that fails says so to the next write or synced record
        pthread_mutex_lock(&s->lock);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

syncer *syncer_open(int fd, err *e)
{
    syncer *s = mem_alloc(sizeof *s);
    s->fd = fd;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->wake, NULL);
    sigset_t all, before; // signals are for others
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&s->thread, NULL, thread_main, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!failed)
        return s;
    err_errno(e, failed, "cannot start a thread");
    free(s);
    return NULL;
}

void syncer_request(syncer *s)
{
    pthread_mutex_lock(&s->lock);
    s->wanted = true;
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
}

void syncer_close(syncer *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    s->quit = true;
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    pthread_cond_destroy(&s->wake);
    pthread_mutex_destroy(&s->lock);
    free(s);
}
