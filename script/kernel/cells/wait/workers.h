// SPDX-License-Identifier: MIT
// Threads for calls that block, one for each job in progress. Threads are made when needed, and end
// after some idle time.
#pragma once
#include "base/err.h"

#include <stddef.h>

typedef struct workers workers;

// At most `most` threads; further jobs wait for a free one. work(job) is called on one of them.
workers *workers_new(size_t most, void (*work)(void *job));
// Waits for the jobs in progress; no job may be waiting to begin. NULL is fine.
void workers_free(workers *w);
// Error: no thread is there, and none can be started.
int workers_give(workers *w, void *job, err *e);
