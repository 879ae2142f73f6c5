// SPDX-License-Identifier: MIT
// The event loop of a program: timers, descriptors, signals, and work posted from other threads.
// One thread runs it; everything but loop_post, loop_call and canceller_cancel belongs to that
// thread.
#pragma once
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct loop loop;

loop *loop_new(err *e);
// Call it after the run, when every handle on the loop is freed. It reaps the children that were
// freed before they ended.
void loop_free(loop *l);
// Runs until loop_stop. An idle loop runs on, too, since another thread may post.
void loop_run(loop *l);
void loop_stop(loop *l);
// Calls fn(arg) on the loop's thread, in order of posting. From any thread, at any time.
void loop_post(loop *l, void (*fn)(void *arg), void *arg);
bool loop_is_current(const loop *l); // is this thread the loop's?

// A timer. Times are in milliseconds; repeat 0 fires once. It may be freed at any time, also from
// its callback. A timer started in a timer's callback fires in a later turn, however short its
// delay. So endless work by timers leaves turns for descriptors, posts and signals.
typedef struct loop_timer loop_timer;
loop_timer *loop_timer_new(loop *l, void (*fn)(void *arg), void *arg);
void loop_timer_start(loop_timer *t, uint64_t delay_ms, uint64_t repeat_ms);
void loop_timer_stop(loop_timer *t);
void loop_timer_free(loop_timer *t); // NULL is fine

// Watches a descriptor for reading and writing; the caller still owns it (for curl and the like).
enum { LOOP_READ = 1, LOOP_WRITE = 2, LOOP_ERROR = 4 };
typedef struct loop_poll loop_poll;
loop_poll *loop_poll_new(loop *l, int fd, void (*fn)(void *arg, int events), void *arg, err *e);
void loop_poll_set(loop_poll *p, int events); // 0: nothing for now
void loop_poll_free(loop_poll *p);            // call it before the descriptor is closed

// Calls fn(arg, signum) on the loop's thread.
typedef struct loop_signal loop_signal;
loop_signal *loop_signal_new(
    loop *l, int signum, void (*fn)(void *arg, int signum), void *arg, err *e);
void loop_signal_free(loop_signal *s);

// Blocking calls into the loop, from another thread.
//
//   caller:  loop_call ──post──> start(call, arg) … loop_call_finish(call) ──wakes──> returns
//                 │ deadline, or canceller_cancel
//                 └──post──> cancel(call, arg) … must lead to loop_call_finish soon
//
// An interrupt uses a canceller: it ends the call that is under way, and all later ones until the
// canceller is reset.
typedef struct canceller canceller;
canceller *canceller_new(void);
void canceller_free(canceller *c);
void canceller_cancel(canceller *c); // any thread
void canceller_reset(canceller *c);
bool canceller_is_cancelled(const canceller *c);

typedef struct loop_pending loop_pending;
struct loop_call_ops {
    void (*start)(loop_pending *call, void *arg);  // on the loop's thread
    void (*cancel)(loop_pending *call, void *arg); // on the loop's thread, at most once
    // Called on the caller's own thread after each `every` ns while the call lasts; it may make
    // calls itself. May be NULL.
    void (*meanwhile)(void *arg);
    int64_t every;
};
// Returns 0 when the call finished by itself; else -1 with ERR_CANCELLED or ERR_TIMEOUT, after
// `cancel` has run and the call has finished. deadline: clock_mono() in ns, 0 for none. c may be
// NULL.
int loop_call(
    loop *l, canceller *c, const struct loop_call_ops *ops, void *arg, int64_t deadline, err *e);
// Call it on the loop's thread, exactly once for each started call; `call` is gone afterwards.
void loop_call_finish(loop_pending *call);
// Sleeps on a canceller: 0 after ns nanoseconds, else -1 with ERR_CANCELLED. Needs no loop.
int canceller_sleep(canceller *c, int64_t ns, err *e);
