// SPDX-License-Identifier: MIT
#include "trainer/tensor/memory.h"

#include "base/os/available.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { HUGE_PAGE = 2 << 20, HUGE_FROM = HUGE_PAGE / 8 };

static void *zeroed(size_t bytes, size_t huge_from)
{
    size_t align = bytes >= huge_from ? HUGE_PAGE : MEMORY_LINE;
    if (bytes > PTRDIFF_MAX - 2 * (size_t)HUGE_PAGE)
        return NULL;
    if (memory_check(bytes, "", NULL) < 0)
        return NULL;
    size_t room = (bytes + align) / align * align;
    void *p = aligned_alloc(align, room);
    if (p && align == HUGE_PAGE)
        madvise(p, room, MADV_HUGEPAGE); // a hint: failure does not matter
    return p ? memset(p, 0, room) : NULL;
}

void *memory_new(size_t bytes)
{
    return zeroed(bytes, HUGE_FROM);
}

void *memory_passing(size_t bytes)
{
    return zeroed(bytes, 2 * (size_t)HUGE_PAGE);
}

void *memory_array(size_t count, size_t size)
{
    size_t bytes;
    return __builtin_mul_overflow(count, size, &bytes) ? NULL : memory_new(bytes);
}
