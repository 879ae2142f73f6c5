// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "base/loop/loop.h"
#include "base/mem.h"

#include <pthread.h>
#include <stdlib.h>

// A call is on its caller's stack until it is finished:
//
//   POSTED ──start runs──> STARTED ──loop_call_finish──> FINISHED (the caller wakes)
//      └── cancelled before it started ──> FINISHED
//
// A canceller knows the one call that waits on it. It wakes that call's caller, who then posts the
// cancel.
struct canceller {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_cancelled;
};

struct loop_pending {
    const struct loop_call_ops *ops;
    void *arg;
    pthread_mutex_t *lock; // the canceller's, or own_lock
    pthread_cond_t *changed;
    bool is_started, is_finished, is_cancelled;
};

static void init_wait(pthread_mutex_t *lock, pthread_cond_t *changed)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(changed, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_init(lock, NULL);
}

canceller *canceller_new(void)
{
    canceller *c = mem_alloc(sizeof *c);
    init_wait(&c->lock, &c->changed);
    return c;
}

void canceller_free(canceller *c)
{
    if (!c)
        return;
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

void canceller_cancel(canceller *c)
{
    pthread_mutex_lock(&c->lock);
    c->is_cancelled = true;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

void canceller_reset(canceller *c)
{
    pthread_mutex_lock(&c->lock);
    c->is_cancelled = false;
    pthread_mutex_unlock(&c->lock);
}

bool canceller_is_cancelled(const canceller *c)
{
    canceller *mutable = (canceller *)c; // locking does not change its value
    pthread_mutex_lock(&mutable->lock);
    bool is = c->is_cancelled;
    pthread_mutex_unlock(&mutable->lock);
    return is;
}

// Waits for a change, at most until the deadline (0: none). Returns false when it has passed.
static bool wait_change(pthread_cond_t *changed, pthread_mutex_t *lock, int64_t deadline)
{
    if (!deadline) {
        pthread_cond_wait(changed, lock);
        return true;
    }
    struct timespec at = {deadline / CLOCK_SEC, deadline % CLOCK_SEC};
    pthread_cond_timedwait(changed, lock, &at);
    return clock_mono() < deadline;
}

int canceller_sleep(canceller *c, int64_t ns, err *e)
{
    int64_t deadline = clock_add(clock_mono(), ns);
    pthread_mutex_lock(&c->lock);
    while (!c->is_cancelled && wait_change(&c->changed, &c->lock, deadline))
        continue;
    bool is_cancelled = c->is_cancelled;
    pthread_mutex_unlock(&c->lock);
    return is_cancelled ? err_set(e, ERR_CANCELLED, "interrupted") : 0;
}

static void start_call(void *arg)
{
    loop_pending *call = arg;
    pthread_mutex_lock(call->lock);
    call->is_started = true;
    bool is_dead = call->is_cancelled;
    pthread_mutex_unlock(call->lock);
    if (is_dead)
        loop_call_finish(call);
    else
        call->ops->start(call, call->arg);
}

// This was posted after start_call, so the call has started. The call may have finished meanwhile;
// even then its caller waits until this has run.
struct cancel_post {
    loop_pending *call;
    bool is_done;
};

static void cancel_call(void *arg)
{
    struct cancel_post *post = arg;
    loop_pending *call = post->call;
    pthread_mutex_lock(call->lock);
    bool runs = !call->is_finished;
    pthread_mutex_unlock(call->lock);
    if (runs)
        call->ops->cancel(call, call->arg);
    pthread_mutex_lock(call->lock);
    post->is_done = true;
    pthread_cond_broadcast(call->changed);
    pthread_mutex_unlock(call->lock);
}

void loop_call_finish(loop_pending *call)
{
    pthread_mutex_t *lock = call->lock;
    pthread_mutex_lock(lock);
    call->is_finished = true;
    pthread_cond_broadcast(call->changed);
    pthread_mutex_unlock(lock);
}

static int64_t earlier(int64_t a, int64_t b)
{
    return !a ? b : !b || a < b ? a : b;
}

// With the lock held: waits until the call has finished (0), or returns the reason for giving up
// earlier.
static err_code wait_for_call(loop_pending *call, const canceller *c, int64_t deadline)
{
    const struct loop_call_ops *ops = call->ops;
    int64_t turn = ops->meanwhile ? clock_add(clock_mono(), ops->every) : 0;
    while (!call->is_finished) {
        if (c && c->is_cancelled)
            return ERR_CANCELLED;
        if (wait_change(call->changed, call->lock, earlier(deadline, turn)) || call->is_finished)
            continue;
        if (deadline && clock_mono() >= deadline)
            return ERR_TIMEOUT;
        pthread_mutex_unlock(call->lock);
        ops->meanwhile(call->arg);
        pthread_mutex_lock(call->lock);
        turn = clock_add(clock_mono(), ops->every);
    }
    return ERR_NONE;
}

int loop_call(
    loop *l, canceller *c, const struct loop_call_ops *ops, void *arg, int64_t deadline, err *e)
{
    pthread_mutex_t own_lock;
    pthread_cond_t own_changed;
    init_wait(&own_lock, &own_changed);
    loop_pending call = {.ops = ops,
        .arg = arg,
        .lock = c ? &c->lock : &own_lock,
        .changed = c ? &c->changed : &own_changed};
    loop_post(l, start_call, &call);
    pthread_mutex_lock(call.lock);
    err_code why = wait_for_call(&call, c, deadline);
    if (why != ERR_NONE) {
        struct cancel_post post = {.call = &call};
        if (!call.is_started)
            call.is_cancelled = true;
        pthread_mutex_unlock(call.lock);
        loop_post(l, cancel_call, &post);
        pthread_mutex_lock(call.lock);
        while (!call.is_finished || !post.is_done)
            pthread_cond_wait(call.changed, call.lock);
    }
    pthread_mutex_unlock(call.lock);
    pthread_cond_destroy(&own_changed);
    pthread_mutex_destroy(&own_lock);
    if (why == ERR_NONE)
        return 0;
    return err_set(e, why, why == ERR_TIMEOUT ? "the time-out has passed" : "interrupted");
}
