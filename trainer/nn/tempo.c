// SPDX-License-Identifier: MIT
#include "trainer/nn/tempo.h"

enum { WINDOW = 32, INTERVAL_FIRST = 4, INTERVAL_MAX = 128 };

// A window is a few milliseconds: one that the system has disturbed, however long it took, must not
// leave cores idle until all threads are tried again.
static int64_t settled(int64_t before, int64_t now)
{
    int64_t most = before + before / 4;
    return before && now > most ? most : now;
}

void tempo_step(tempo *t, int64_t ns)
{
    t->spent += ns;
    if (++t->steps < WINDOW)
        return;
    t->took[t->alone] = settled(t->took[t->alone], t->spent);
    t->steps = 0;
    t->spent = 0;
    if (!t->known) {
        // First all threads, then one alone, then all threads again, because the first window also
        // fills the caches.
        t->known = t->alone;
        t->alone = !t->alone;
        t->windows = t->interval = INTERVAL_FIRST;
        return;
    }
    // Several threads must be faster by a tenth, which is more than the noise.
    bool better_alone = t->took[1] * 9 < t->took[0] * 10;
    if (t->windows > 0) {
        t->windows--;
        if (t->better_alone != better_alone) // something has changed, and may change back
            t->windows = t->interval = INTERVAL_FIRST;
        t->alone = t->better_alone = better_alone;
        return;
    }
    // Try the other way now. Wait longer for the next trial each time.
    t->interval = t->interval < INTERVAL_MAX ? t->interval * 2 : INTERVAL_MAX;
    t->windows = t->interval;
    t->alone = !better_alone;
}
