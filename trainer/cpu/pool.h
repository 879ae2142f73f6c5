// SPDX-License-Identifier: MIT
// Threads that run one function together, step after step, with barriers in between. A waiting
// thread spins for some microseconds and then sleeps, so an idle or oversubscribed pool costs
// nothing. While there is a core for each thread, helpers keep off the caller's core and each
// other's.
#pragma once
#include <stdbool.h>
#include <stddef.h>

typedef struct pool pool;

// The number of cores that this process may use (sched_getaffinity); at least 1.
int pool_cores(void);
// Starts threads - 1 helpers; the caller of pool_run is thread 0. Starts fewer when the system
// allows no more.
pool *pool_new(int threads);
void pool_free(pool *p);
int pool_threads(const pool *p);
// Runs fn(ctx, 0 … threads-1) at once and returns when all are done. `alone`: runs only fn(ctx, 0),
// which no barrier stops. Denormal floats count as 0 meanwhile. Do not call it from within fn.
void pool_run(pool *p, bool alone, void (*fn)(void *ctx, int thread), void *ctx);
// Within fn: waits until every thread has got here; then all of them see everything written before.
void pool_barrier(pool *p);
