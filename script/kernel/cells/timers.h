// SPDX-License-Identifier: MIT
// Times to wake up at, the earliest first: a binary heap of timers that their owners embed. It owns
// its array only.
#pragma once
#include <stddef.h>
#include <stdint.h>

struct timer {
    int64_t at;   // mono ns; 0: not set
    size_t place; // in the heap, counted from 1
};

struct timers { // zeroed: empty
    struct timer **heap;
    size_t n;
};

void timers_done(struct timers *all);
// Sets a timer, whether it was set or not; at 0: takes it out.
void timers_set(struct timers *all, struct timer *t, int64_t at);
int64_t timers_next(const struct timers *all); // 0: none is set
// Takes out one that is due; NULL: none is.
struct timer *timers_due(struct timers *all, int64_t now);
