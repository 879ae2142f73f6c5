// SPDX-License-Identifier: MIT
// Whether all threads of a pool are faster than one alone is not known before: cores may be shared
// with other ranks or programs, or be far apart. As the numbers computed are the same, it is simply
// tried: windows of steps are timed both ways, the faster is kept, and the other tried again now
// and then, ever more rarely. A plain value; all zeros is the start.
#pragma once
#include <stdbool.h>
#include <stdint.h>

typedef struct tempo {
    bool alone;       // how the current window runs
    bool known;       // both ways were timed
    uint32_t steps;   // done in this window
    uint32_t windows; // until the other way is tried again
    uint32_t interval;
    int64_t spent;   // ns in this window
    int64_t took[2]; // ns of the latest window: [0] all threads, [1] one alone
} tempo;

// A step took so long, as t->alone said. May change t->alone.
void tempo_step(tempo *t, int64_t ns);
