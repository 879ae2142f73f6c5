// SPDX-License-Identifier: MIT
// Threads that run one function together, step after step, with barriers in between. Waiting spins
// for some microseconds and then sleeps, so that an idle or oversubscribed pool costs nothing.
#pragma once
#include <stdbool.h>
#include <stddef.h>

typedef struct pool pool;

// Cores that this process may use (sched_getaffinity); at least 1.
int pool_cores(void);
// threads - 1 helpers; the caller of pool_run is thread 0. Fewer when the system has no more.
pool *pool_new(int threads);
void pool_free(pool *p);
int pool_threads(const pool *p);
// Runs fn(ctx, 0 … threads-1) at once and returns when all are done; `alone` only fn(ctx, 0), for
// which barriers are then open. Denormal floats count as 0 meanwhile. Not from within fn.
void pool_run(pool *p, bool alone, void (*fn)(void *ctx, int thread), void *ctx);
// Within fn: goes on when every thread got here, and everything written before is seen by all.
void pool_barrier(pool *p);
