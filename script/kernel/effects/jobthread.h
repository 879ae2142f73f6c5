// SPDX-License-Identifier: MIT
// A thread that does jobs one after another, and reports the end of each on the loop's thread. It
// starts with the first job. Callers own their jobs.
#pragma once
#include "base/err.h"
#include "base/loop/loop.h"

typedef struct jobthread jobthread;

// Calls work(job) on the thread, then done(job) on the loop's thread.
jobthread *jobthread_new(loop *l, void (*work)(void *job), void (*done)(void *job));
int jobthread_add(jobthread *h, void *job, err *e);
// Waits for the job in progress; jobs that have not begun are dropped. NULL is fine.
void jobthread_free(jobthread *h);
