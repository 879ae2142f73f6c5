// SPDX-License-Identifier: MIT
// The progress of a push or a pull, in bytes. The caller owns it, and `moved` is called whenever
// `done` has changed: on the loop's thread during transfers, else on the caller's.
#pragma once
#include <stdint.h>

struct image_progress {
    int64_t done, total;
    void (*moved)(struct image_progress *p);
};
// n: more bytes, or less than 0 if they must be transferred again. p NULL is fine.
static inline void image_progress_tell(struct image_progress *p, int64_t n)
{
    if (!p || n == 0)
        return;
    p->done += n;
    p->moved(p);
}
