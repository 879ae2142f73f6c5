// SPDX-License-Identifier: MIT
// Nobody knows beforehand whether all threads of a pool are faster than one alone: cores may be
// shared with other ranks or programs, or be far apart. The results are the same, so both ways are
// tried: windows of steps are timed, the faster way is kept, and the other one is tried again now
// and then, ever more rarely. A plain value; all zeros is the start.
#pragma once
#include <stdbool.h>
#include <stdint.h>

typedef struct tempo {
    bool alone;        // the current window runs on one thread
    bool known;        // both ways were timed
    bool better_alone; // the way that is kept between trials
    uint32_t steps;    // steps done in this window
    uint32_t windows;  // number left until the other way is tried again
    uint32_t interval;
    int64_t spent;   // ns in this window
    int64_t took[2]; // ns of the latest window, at most a quarter more than of the one before: [0]
                     // all threads, [1] one thread
} tempo;

// Reports that a step in the mode t->alone took so long. May change t->alone.
void tempo_step(tempo *t, int64_t ns);
