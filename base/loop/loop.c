// SPDX-License-Identifier: MIT
#include "base/loop/internal.h"

#include "base/clock.h"
#include "base/mem.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

//  any thread ──loop_post──> queue (mutex) ──uv_async_send──> loop thread: takes the whole queue,
//  runs it
struct posted {
    struct posted *next;
    void (*fn)(void *arg);
    void *arg;
};

// libuv runs its timers until none is due. A timer that its own callback starts again without delay
// would always be due, and nothing else would ever have its turn. So a timer started in a timer's
// callback waits for the end of that round:
//    each turn: timers ──> prepare: starts those that wait ──> poll: descriptors, posts, signals
// Much work frees much memory, which the allocator keeps: a second after the work we trim it.
enum { MUCH = 5, QUIET_MS = 1000 }; // ms of processor time, and of time
struct loop {
    uv_loop_t uv;
    uv_async_t wake;
    uv_prepare_t prepare;
    uv_timer_t quiet;
    int64_t noted; // ns of processor time at the last trim, or when much work was last seen
    bool in_timers;
    loop_timer *waiting; // started from a timer's callback
    pthread_mutex_t lock;
    struct posted *first, **last; // under lock
    _Atomic(pthread_t) thread;    // the thread in loop_run
    _Atomic bool runs;
};

struct loop_timer {
    uv_timer_t uv; // first: freed by loop_close_handle
    void (*fn)(void *arg);
    void *arg;
    bool waits; // until this round of timers has ended
    loop_timer *next;
    uint64_t delay_ms, repeat_ms;
};

static void timer_fired(uv_timer_t *uv)
{
    loop_timer *t = (loop_timer *)uv;
    loop *l = uv->loop->data;
    l->in_timers = true;
    t->fn(t->arg); // t may be gone after this
    l->in_timers = false;
}

static void start_waiting(loop *l)
{
    if (l->waiting)
        uv_update_time(&l->uv);
    for (loop_timer *t; (t = l->waiting);) {
        l->waiting = t->next;
        t->waits = false;
        uv_timer_start(&t->uv, timer_fired, t->delay_ms, t->repeat_ms);
    }
}

static void trim(uv_timer_t *quiet)
{
    mem_trim();
    ((loop *)quiet->data)->noted = clock_thread();
}

static void note_work(loop *l)
{
    int64_t now = clock_thread();
    if (now < l->noted + MUCH * CLOCK_MS)
        return;
    l->noted = now;
    uv_timer_start(&l->quiet, trim, QUIET_MS, 0);
}

static void end_turn(uv_prepare_t *prepare)
{
    start_waiting(prepare->data);
    note_work(prepare->data);
}

static void run_posted(uv_async_t *wake)
{
    loop *l = wake->data;
    pthread_mutex_lock(&l->lock);
    struct posted *p = l->first;
    l->first = NULL;
    l->last = &l->first;
    pthread_mutex_unlock(&l->lock);
    while (p) {
        struct posted *next = p->next;
        p->fn(p->arg);
        free(p);
        p = next;
    }
}

uv_loop_t *loop_uv(loop *l)
{
    return &l->uv;
}

loop *loop_new(err *e)
{
    AUTO_FREE loop *l = mem_alloc(sizeof *l);
    int code = uv_loop_init(&l->uv);
    if (code == 0)
        code = uv_async_init(&l->uv, &l->wake, run_posted);
    if (code < 0) {
        err_errno(e, -code, "cannot make an event loop");
        return NULL;
    }
    uv_prepare_init(&l->uv, &l->prepare);
    uv_prepare_start(&l->prepare, end_turn);
    uv_timer_init(&l->uv, &l->quiet);
    l->wake.data = l->prepare.data = l->quiet.data = l->uv.data = l;
    l->last = &l->first;
    pthread_mutex_init(&l->lock, NULL);
    l->thread = pthread_self();
    return STEAL(l);
}

void loop_free(loop *l)
{
    if (!l)
        return;
    run_posted(&l->wake);
    uv_close((uv_handle_t *)&l->wake, NULL);
    uv_close((uv_handle_t *)&l->prepare, NULL);
    uv_close((uv_handle_t *)&l->quiet, NULL);
    uv_run(&l->uv, UV_RUN_DEFAULT);
    uv_loop_close(&l->uv);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

void loop_run(loop *l)
{
    l->thread = pthread_self();
    l->runs = true;
    uv_run(&l->uv, UV_RUN_DEFAULT);
    l->runs = false;
}

void loop_stop(loop *l)
{
    uv_stop(&l->uv);
}

bool loop_is_current(const loop *l)
{
    return pthread_equal(l->thread, pthread_self()) != 0;
}

void loop_post(loop *l, void (*fn)(void *arg), void *arg)
{
    struct posted *p = mem_alloc(sizeof *p);
    p->fn = fn;
    p->arg = arg;
    pthread_mutex_lock(&l->lock);
    *l->last = p;
    l->last = &p->next;
    pthread_mutex_unlock(&l->lock);
    uv_async_send(&l->wake);
}

// libuv's handles are freed in their close callback, after the owner has given them up.
void loop_close_handle(void *handle)
{
    uv_handle_t *h = handle;
    if (!uv_is_closing(h))
        uv_close(h, (uv_close_cb)(void (*)(void))free);
}

loop_timer *loop_timer_new(loop *l, void (*fn)(void *arg), void *arg)
{
    loop_timer *t = mem_alloc(sizeof *t);
    uv_timer_init(&l->uv, &t->uv);
    t->fn = fn;
    t->arg = arg;
    return t;
}

void loop_timer_start(loop_timer *t, uint64_t delay_ms, uint64_t repeat_ms)
{
    loop *l = t->uv.loop->data;
    loop_timer_stop(t);
    if (!l->in_timers) {
        uv_update_time(&l->uv);
        uv_timer_start(&t->uv, timer_fired, delay_ms, repeat_ms);
        return;
    }
    t->delay_ms = delay_ms;
    t->repeat_ms = repeat_ms;
    t->waits = true;
    t->next = l->waiting;
    l->waiting = t;
}

void loop_timer_stop(loop_timer *t)
{
    loop_timer **at = &((loop *)t->uv.loop->data)->waiting;
    uv_timer_stop(&t->uv);
    for (; t->waits && *at != t; at = &(*at)->next)
        continue;
    if (t->waits)
        *at = t->next;
    t->waits = false;
}

void loop_timer_free(loop_timer *t)
{
    if (!t)
        return;
    loop_timer_stop(t);
    loop_close_handle(t);
}

struct loop_poll {
    uv_poll_t uv; // first
    void (*fn)(void *arg, int events);
    void *arg;
};

static void poll_ready(uv_poll_t *uv, int status, int events)
{
    loop_poll *p = (loop_poll *)uv;
    int seen = (events & UV_READABLE ? LOOP_READ : 0) | (events & UV_WRITABLE ? LOOP_WRITE : 0) |
               (status < 0 ? LOOP_ERROR : 0);
    p->fn(p->arg, seen);
}

loop_poll *loop_poll_new(loop *l, int fd, void (*fn)(void *arg, int events), void *arg, err *e)
{
    loop_poll *p = mem_alloc(sizeof *p);
    int code = uv_poll_init(&l->uv, &p->uv, fd);
    if (code < 0) {
        free(p);
        err_errno(e, -code, "cannot wait for descriptor %d", fd);
        return NULL;
    }
    p->fn = fn;
    p->arg = arg;
    return p;
}

void loop_poll_set(loop_poll *p, int events)
{
    if (!events) {
        uv_poll_stop(&p->uv);
        return;
    }
    int wanted = (events & LOOP_READ ? UV_READABLE : 0) | (events & LOOP_WRITE ? UV_WRITABLE : 0);
    uv_poll_start(&p->uv, wanted, poll_ready);
}

void loop_poll_free(loop_poll *p)
{
    if (!p)
        return;
    uv_poll_stop(&p->uv);
    loop_close_handle(p);
}

struct loop_signal {
    uv_signal_t uv; // first
    void (*fn)(void *arg, int signum);
    void *arg;
};

static void signal_came(uv_signal_t *uv, int signum)
{
    loop_signal *s = (loop_signal *)uv;
    s->fn(s->arg, signum);
}

loop_signal *loop_signal_new(
    loop *l, int signum, void (*fn)(void *arg, int signum), void *arg, err *e)
{
    loop_signal *s = mem_alloc(sizeof *s);
    uv_signal_init(&l->uv, &s->uv);
    s->fn = fn;
    s->arg = arg;
    int code = uv_signal_start(&s->uv, signal_came, signum);
    if (code < 0) {
        loop_signal_free(s);
        err_errno(e, -code, "cannot catch signal %d", signum);
        return NULL;
    }
    return s;
}

void loop_signal_free(loop_signal *s)
{
    if (s)
        loop_close_handle(s);
}
