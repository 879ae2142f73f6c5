// SPDX-License-Identifier: MIT
// Memory for numbers: zeroed, on a cache line, and in huge pages when it is big, because rows are
// read in random order and a miss of the page table costs as much as one of the cache.
// free() gives it back.
#pragma once
#include <stddef.h>

enum { MEMORY_LINE = 64 };

// At least one byte; NULL when there is no memory.
void *memory_new(size_t bytes);
// count·size bytes; NULL also when that overflows.
void *memory_array(size_t count, size_t size);
