// SPDX-License-Identifier: MIT
// A thread that does what it is given, one after another, and says on the loop's thread when each
// is done. It starts with the first; jobs stay their giver's.
#pragma once
#include "base/err.h"
#include "base/loop/loop.h"

typedef struct hand hand;

// work(job) on the thread, then done(job) on the loop's.
hand *hand_new(loop *l, void (*work)(void *job), void (*done)(void *job));
int hand_give(hand *h, void *job, err *e);
// Waits for the one under way; what was given and not begun is left alone. NULL is fine.
void hand_free(hand *h);
