// SPDX-License-Identifier: MIT
// Threads that share a list of tasks while their owner does something else and then helps. Unlike a
// pool's threads (cpu/pool.h) they do not change how floats are handled, and need not run at the
// same time. One thread at a time uses a crew.
#pragma once
#include <stddef.h>

typedef struct crew crew;

// Starts so many helpers, or as many as the system allows. 0: the owner does everything.
crew *crew_new(int helpers);
void crew_free(crew *c); // not between begin and end
// Hands out tasks 0 … n-1, each to one thread, in any order; returns at once.
void crew_begin(crew *c, size_t n, void (*task)(void *ctx, size_t i), void *ctx);
// Helps with tasks that no helper has begun; returns when all are done.
void crew_end(crew *c);
