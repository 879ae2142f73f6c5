// SPDX-License-Identifier: MIT
#include "script/journal/file/syncer.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/os/path.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

// Rounds that nobody waits for begin at least this far apart, so that short cells share one.
#define APART (10 * CLOCK_MS)

struct syncer {
    int fd;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake, idle;
    bool wanted, quit;
    int waiting;          // callers that wait for a round
    int64_t began;        // the last round, mono ns
    uint64_t begun, done; // rounds
    int *given;           // descriptors to sync once and then close
    size_t given_n;
    int failed; // errno of the first failed sync; 0: none
};

static int sync_given(int fd)
{
    struct stat st;
    bool folder = fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
    int failed = (folder ? fd_sync_folder(fd) : fdatasync(fd)) < 0 ? errno : 0;
    close(fd);
    return failed;
}

// Call it without the lock: one round syncs the given descriptors, and then the file that refers to
// them.
static int sync_all(int fd, const int *given, size_t n)
{
    int failed = 0;
    for (size_t i = 0; i < n; i++) {
        int number = sync_given(given[i]);
        failed = failed ? failed : number;
    }
    if (fdatasync(fd) < 0 && !failed)
        failed = errno;
    return failed;
}

static void run_round(syncer *s)
{
    AUTO_FREE int *given = STEAL(s->given);
    size_t n = s->given_n;
    uint64_t round = ++s->begun;
    s->began = clock_mono();
    s->given_n = 0;
    s->wanted = false;
    pthread_mutex_unlock(&s->lock);
    int failed = sync_all(s->fd, given, n);
    pthread_mutex_lock(&s->lock);
    s->failed = s->failed ? s->failed : failed;
    s->done = round;
    pthread_cond_broadcast(&s->idle);
}

// With the lock.
static void wait_for_others(syncer *s)
{
    struct timespec until;
    int64_t at = s->began + APART;
    until.tv_sec = at / CLOCK_SEC;
    until.tv_nsec = at % CLOCK_SEC;
    while (s->begun && !s->waiting && !s->quit)
        if (pthread_cond_timedwait(&s->wake, &s->lock, &until) != 0)
            break;
}

static void *thread_main(void *arg)
{
    syncer *s = arg;
    pthread_mutex_lock(&s->lock);
    for (;;) {
        while (!s->wanted && !s->quit)
            pthread_cond_wait(&s->wake, &s->lock);
        if (s->wanted)
            wait_for_others(s);
        if (!s->wanted)
            break;
        run_round(s);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

syncer *syncer_open(int fd, err *e)
{
    syncer *s = mem_alloc(sizeof *s);
    s->fd = fd;
    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&s->wake, &clock);
    pthread_condattr_destroy(&clock);
    pthread_cond_init(&s->idle, NULL);
    sigset_t all, before; // this thread takes no signals
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&s->thread, NULL, thread_main, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!failed)
        return s;
    err_start(e, failed, "cannot start a thread");
    free(s);
    return NULL;
}

void syncer_give(syncer *s, int fd)
{
    pthread_mutex_lock(&s->lock);
    s->given = mem_resize(s->given, s->given_n + 1, sizeof *s->given);
    s->given[s->given_n++] = fd;
    pthread_mutex_unlock(&s->lock);
}

void syncer_request(syncer *s)
{
    pthread_mutex_lock(&s->lock);
    bool wake = !s->wanted; // otherwise it is awake, or waits for others
    s->wanted = true;
    pthread_mutex_unlock(&s->lock);
    if (wake)
        pthread_cond_signal(&s->wake);
}

static int tell(const syncer *s, err *e)
{
    return s->failed ? err_errno(e, s->failed, "cannot sync to the disk") : 0;
}

int syncer_wait(syncer *s, err *e)
{
    pthread_mutex_lock(&s->lock);
    uint64_t round = s->begun + 1; // a round under way may have begun before the last write
    s->wanted = true;
    s->waiting++;
    pthread_cond_signal(&s->wake);
    while (s->done < round)
        pthread_cond_wait(&s->idle, &s->lock);
    s->waiting--;
    int result = tell(s, e);
    pthread_mutex_unlock(&s->lock);
    return result;
}

int syncer_check(syncer *s, err *e)
{
    pthread_mutex_lock(&s->lock);
    int result = tell(s, e);
    pthread_mutex_unlock(&s->lock);
    return result;
}

void syncer_close(syncer *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    s->quit = true;
    s->wanted |= s->given_n > 0;
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    pthread_cond_destroy(&s->wake);
    pthread_cond_destroy(&s->idle);
    pthread_mutex_destroy(&s->lock);
    free(s->given);
    free(s);
}
