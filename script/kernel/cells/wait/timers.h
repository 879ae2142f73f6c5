// SPDX-License-Identifier: MIT
// Wake-up times, the earliest first: a binary heap of timers that their owners embed. It owns only
// its array.
#pragma once
#include <stddef.h>
#include <stdint.h>

struct timer {
    int64_t at;   // mono ns; 0: not set
    size_t place; // position in the heap, from 1
};

struct timers { // zeroed: empty
    struct timer **heap;
    size_t n;
};

void timers_done(struct timers *all);
// Sets a timer, or changes its time; at 0: removes it.
void timers_set(struct timers *all, struct timer *t, int64_t at);
int64_t timers_next(const struct timers *all); // the earliest time; 0: no timer is set
// Removes and returns a timer that is due; NULL: none.
struct timer *timers_due(struct timers *all, int64_t now);
