// SPDX-License-Identifier: MIT
// How far a push or a pull has come, in bytes. The caller owns it, and `moved` is called whenever
// `done` has changed: on the loop's thread while bytes come and go, else on the caller's.
#pragma once
#include <stdint.h>

struct image_progress {
    int64_t done, total;
    void (*moved)(struct image_progress *p);
};
// n: bytes more, or less than 0 when they have to be moved again. p NULL is fine.
static inline void image_progress_tell(struct image_progress *p, int64_t n)
{
    if (!p || n == 0)
        return;
    p->done += n;
    p->moved(p);
}
