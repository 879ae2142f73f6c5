// SPDX-License-Identifier: MIT
// Threads for calls that block: each job has one of its own while it is under way. Threads are made
// when they are needed, and end when there has been nothing for them to do for a while.
#pragma once
#include "base/err.h"

#include <stddef.h>

typedef struct workers workers;

// At most `most` threads; further jobs wait for one that is free. work(job) is called on one of
// them.
workers *workers_new(size_t most, void (*work)(void *job));
// Waits for the jobs that are under way; there must be none that has not begun. NULL is fine.
void workers_free(workers *w);
// Errors: there is no thread, and none can be started.
int workers_give(workers *w, void *job, err *e);
