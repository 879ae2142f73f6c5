// SPDX-License-Identifier: MIT
#include "script/api/engines/follow.h"

#include "base/clock.h"
#include "base/mem.h"

static const int64_t LOOK = CLOCK_SEC / 4;

static loop *loop_of(const struct follow *f)
{
    return call_loop(f->gang->call);
}

// ---- on the loop's thread

void follow_finish(struct follow *f)
{
    if (f->waiting)
        loop_call_finish(STEAL(f->waiting));
}

static void on_line(void *arg, enum log_kind kind, const char *text, size_t n)
{
    struct follow *f = arg;
    f->gang->began = true;
    f->ops->line(f->arg, kind, text, n);
}

static void on_done(void *arg, const err *e)
{
    struct follow *f = arg;
    f->tail = NULL;
    if (e->code && !f->failure.code)
        f->failure = *e;
    follow_finish(f);
}

static void begin(loop_pending *pending, void *arg)
{
    static const struct tail_ops callbacks = {.line = on_line, .done = on_done};
    struct follow *f = arg;
    err e = {0};
    f->waiting = pending;
    f->tail = tail_open(f->gang->pods.client,
        &(struct tail_spec){
            .ns = f->gang->ns, .labels = f->gang->main_pod, .follow = true, .tail = -1},
        &callbacks, f, &e);
    if (!f->tail)
        on_done(f, &e);
}

static void stop(void *arg)
{
    struct follow *f = arg;
    tail_close(STEAL(f->tail));
    follow_finish(f);
}

static void cancel(loop_pending *pending, void *arg)
{
    stop(arg);
}

static void drain(void *arg)
{
    struct follow *f = arg;
    if (f->tail)
        tail_finish(f->tail);
}

static void leave(loop_pending *pending, void *arg)
{
    struct follow *f = arg;
    tail_close(STEAL(f->tail));
    if (f->ops->leave)
        f->ops->leave(f->arg);
    loop_call_finish(pending);
}

static void cannot_cancel(loop_pending *pending, void *arg)
{
}

// ---- on the call's thread

static void look(void *arg)
{
    struct follow *f = arg;
    f->ops->look(f->arg);
}

int follow_run(struct follow *f, err *e)
{
    static const struct loop_call_ops ops = {
        .start = begin, .cancel = cancel, .meanwhile = look, .every = LOOK};
    return loop_call(loop_of(f), call_canceller(f->gang->call), &ops, f, 0, e);
}

void follow_fail(struct follow *f, const err *why)
{
    if (!f->failure.code)
        f->failure = *why;
    loop_post(loop_of(f), stop, f);
}

void follow_drain(struct follow *f, int64_t linger)
{
    if (!f->ended) {
        f->ended = clock_mono();
        loop_post(loop_of(f), drain, f);
    } else if (clock_mono() - f->ended > linger) {
        loop_post(loop_of(f), stop, f);
    }
}

void follow_leave(struct follow *f)
{
    static const struct loop_call_ops ops = {.start = leave, .cancel = cannot_cancel};
    loop_call(loop_of(f), NULL, &ops, f, 0, NULL);
}
