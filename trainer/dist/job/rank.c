// SPDX-License-Identifier: MIT
#include "trainer/dist/job/rank.h"

#include "base/clock.h"
#include "base/mem.h"
#include "trainer/dist/job/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static const int64_t PATIENCE = 60 * CLOCK_SEC;

struct rank_link {
    int fd;
    shared *shared; // NULL: none, or it cannot be mapped
    buf in, commit;
    pthread_mutex_t sending;
    // The driver's answers to commits, from the watching thread.
    pthread_mutex_t hearing;
    pthread_cond_t heard;
    unsigned answers;
    bool newcomers;
};

static void link_free(rank_link *l)
{
    if (l->fd >= 0)
        close(l->fd);
    shared_close(l->shared);
    buf_done(&l->in);
    buf_done(&l->commit);
    pthread_mutex_destroy(&l->sending);
    pthread_mutex_destroy(&l->hearing);
    pthread_cond_destroy(&l->heard);
    free(l);
}

static pid_t starter;

// Our starter is gone (PR_SET_PDEATHSIG): our own children must not outlive it either.
static void on_term(int number)
{
    if (getppid() != starter)
        kill(0, SIGKILL);
    signal(number, SIG_DFL);
    raise(number);
}

static int watch_starter(err *e)
{
    struct sigaction action = {.sa_handler = on_term};
    starter = getppid();
    return sigaction(SIGTERM, &action, NULL) ? err_start(e, errno, "cannot watch the driver") : 0;
}

// Ranks of one machine get shared memory, and report if they cannot map it: then all use MPI.
static int say_ready(rank_link *l, err *e)
{
    enum { REASON = 200 };
    err why = {0};
    if (fcntl(LAUNCH_SHARED_FD, F_SETFD, FD_CLOEXEC) == 0) {
        l->shared = shared_open(LAUNCH_SHARED_FD, &why);
        close(LAUNCH_SHARED_FD);
    }
    return rank_send(l, MESSAGE_READY, why.text, strnlen(why.text, REASON), e);
}

rank_link *rank_open(int fd, err *e)
{
    rank_link *l = mem_alloc(sizeof *l);
    pthread_mutex_init(&l->sending, NULL);
    pthread_mutex_init(&l->hearing, NULL);
    pthread_cond_init(&l->heard, NULL);
    l->fd = fd;
    // Children of the rank inherit neither its link nor its PMI channel.
    fcntl(LAUNCH_PMI_FD, F_SETFD, FD_CLOEXEC);
    if (fcntl(fd, F_SETFD, FD_CLOEXEC)) {
        err_set(e, ERR_USAGE, "--rank is for ranks that a driver starts");
        l->fd = -1;
    } else if (watch_starter(e) == 0 && say_ready(l, e) == 0) {
        return l;
    }
    link_free(l);
    return NULL;
}

shared *rank_shared(const rank_link *l)
{
    return l->shared;
}

int rank_job(rank_link *l, struct place *place, const void **function, size_t *n, err *e)
{
    message m;
    if (message_receive(l->fd, &l->in, &m, clock_mono() + PATIENCE, e))
        return -1;
    if (m.kind == MESSAGE_COMMIT) {
        buf_add(&l->commit, m.body, m.n);
        if (message_receive(l->fd, &l->in, &m, clock_mono() + PATIENCE, e))
            return -1;
    }
    if (m.kind != MESSAGE_JOB)
        return err_set(e, ERR_INVALID, "the driver sent %s instead of a job", message_name(m.kind));
    if (place_get(place, m.body, m.n, e))
        return -1;
    if (place->shares && !l->shared)
        return err_set(e, ERR_INVALID, "the driver wants memory shared that this rank has not");
    *function = m.body + PLACE_SIZE;
    *n = m.n - PLACE_SIZE;
    return 0;
}

static void hear_answer(rank_link *l, bool newcomers)
{
    pthread_mutex_lock(&l->hearing);
    l->answers++;
    l->newcomers = newcomers;
    pthread_cond_signal(&l->heard);
    pthread_mutex_unlock(&l->hearing);
}

// After the job the driver answers commits, and sends STOP: the job is done, or has failed. If the
// link ends without it, the driver or the executor is gone; then everything that this rank started
// ends, too.
static void *watch(void *arg)
{
    rank_link *l = arg;
    buf in = {0};
    message m;
    int got;
    while ((got = message_receive(l->fd, &in, &m, 0, NULL)) == 0 && m.kind == MESSAGE_COMMITTED)
        hear_answer(l, m.n == 1 && m.body[0]);
    if (got)
        kill(0, SIGKILL);
    _exit(0);
}

void rank_last_commit(const rank_link *l, const void **bytes, size_t *n)
{
    *bytes = l->commit.data;
    *n = l->commit.len;
}

int rank_commit(rank_link *l, const void *bytes, size_t n, bool *newcomers, err *e)
{
    pthread_mutex_lock(&l->hearing);
    unsigned before = l->answers;
    pthread_mutex_unlock(&l->hearing);
    if (rank_send(l, MESSAGE_COMMIT, bytes, n, e))
        return -1;
    pthread_mutex_lock(&l->hearing);
    while (l->answers == before)
        pthread_cond_wait(&l->heard, &l->hearing);
    *newcomers = l->newcomers;
    pthread_mutex_unlock(&l->hearing);
    return 0;
}

int rank_watch(rank_link *l, err *e)
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all); // signals go to the main thread
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int number = pthread_create(&thread, NULL, watch, l);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (number)
        return err_start(e, number, "cannot watch the driver");
    pthread_detach(thread);
    return 0;
}

int rank_send(rank_link *l, message_kind kind, const void *body, size_t n, err *e)
{
    pthread_mutex_lock(&l->sending);
    int result = message_send(l->fd, kind, body, n, e);
    pthread_mutex_unlock(&l->sending);
    return result;
}

void rank_wait_for_end(rank_link *l)
{
    for (;;)
        pause();
}
