// SPDX-License-Identifier: MIT
#include "script/kernel/effects/turn.h"

#include "base/clock.h"
#include "base/mem.h"

#include <stdlib.h>

static const struct {
    const char *name;
    int exit;
} failures[] = {
#define X(name, text, exit) {text, exit},
    FAILURES(X)
#undef X
};

const char *failure_name(enum failure f)
{
    return failures[f].name;
}

int failure_exit(enum failure f)
{
    return failures[f].exit;
}

void turn_init(turn *t, const char *cell, int64_t deadline)
{
    *t = (turn){.cell = mem_strdup(cell), .deadline = deadline, .waits = canceller_new()};
}

void turn_done(turn *t)
{
    canceller_free(t->waits);
    free(t->cell);
}

bool turn_stop(turn *t, enum failure why)
{
    int none = FAILURE_NONE;
    if (!atomic_compare_exchange_strong(&t->stop, &none, (int)why))
        return false;
    t->stopped_at = clock_mono();
    canceller_cancel(t->waits);
    return true;
}

enum failure turn_stopped(const turn *t)
{
    return (enum failure)atomic_load(&t->stop);
}
