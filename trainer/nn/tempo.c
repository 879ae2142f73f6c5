// SPDX-License-Identifier: MIT
#include "trainer/nn/tempo.h"

enum { WINDOW = 32, INTERVAL_FIRST = 4, INTERVAL_MAX = 128 };

void tempo_step(tempo *t, int64_t ns)
{
    t->spent += ns;
    if (++t->steps < WINDOW)
        return;
    t->took[t->alone] = t->spent;
    t->steps = 0;
    t->spent = 0;
    if (!t->known) {
        // All threads, alone, and all threads again, as the first window also fills the caches.
        t->known = t->alone;
        t->alone = !t->alone;
        t->windows = t->interval = INTERVAL_FIRST;
        return;
    }
    // Several threads must be worth it: a tenth, which is beyond the noise.
    bool better_alone = t->took[1] * 9 < t->took[0] * 10;
    if (t->windows > 0) {
        t->windows--;
        t->alone = better_alone;
        return;
    }
    // Time to try the other way; when the last trial changed nothing, wait longer for the next.
    t->interval = t->interval < INTERVAL_MAX ? t->interval * 2 : INTERVAL_MAX;
    t->windows = t->interval;
    t->alone = !better_alone;
}
