// SPDX-License-Identifier: MIT
// A thread that does jobs one after another, and reports the end of each on the loop's thread. It
// starts with the first job. The jobs belong to those who give them.
#pragma once
#include "base/err.h"
#include "base/loop/loop.h"

typedef struct hand hand;

// Calls work(job) on the thread, then done(job) on the loop's thread.
hand *hand_new(loop *l, void (*work)(void *job), void (*done)(void *job));
int hand_give(hand *h, void *job, err *e);
// Waits for the job under way; jobs that have not begun are left alone. NULL is fine.
void hand_free(hand *h);
