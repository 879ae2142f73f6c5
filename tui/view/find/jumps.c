// SPDX-License-Identifier: MIT
#include "tui/view/find/jumps.h"

#include "base/mem.h"
#include "base/str.h"

#include <string.h>

void jumps_done(struct jumps *j)
{
    for (size_t i = 0; i < j->n; i++)
        free(j->ids[i]);
    *j = (struct jumps){0};
}

static void cut(struct jumps *j, size_t n)
{
    while (j->n > n)
        free(j->ids[--j->n]);
}

void jumps_add(struct jumps *j, const char *id)
{
    cut(j, j->at < j->n ? j->at : j->n);
    if (!j->n || !str_eq(j->ids[j->n - 1], id)) {
        if (j->n == JUMPS_MOST) {
            free(j->ids[0]);
            memmove(j->ids, j->ids + 1, --j->n * sizeof *j->ids);
        }
        j->ids[j->n++] = mem_strdup(id);
    }
    j->at = j->n;
}

const char *jumps_go(struct jumps *j, const char *now, bool back,
    bool (*exists)(void *arg, const char *id), void *arg)
{
    if (back && j->at == j->n && now) { // forward leads to here again
        jumps_add(j, now);
        j->at = j->n - 1;
    }
    for (size_t at = j->at; back ? at-- > 0 : ++at < j->n;)
        if (exists(arg, j->ids[at]) && !str_eq(j->ids[at], now)) {
            j->at = at;
            return j->ids[at];
        }
    return NULL;
}
