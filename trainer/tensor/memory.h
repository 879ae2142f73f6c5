// SPDX-License-Identifier: MIT
// Memory for numbers: zeroed, aligned to a cache line, and in huge pages when it is big: rows are
// read in random order, and a TLB miss costs as much as a cache miss. Free it with free().
#pragma once
#include <stddef.h>

enum { MEMORY_LINE = 64 };

// Allocates at least one byte; NULL when there is not enough memory: otherwise Linux would promise
// it and then kill us.
void *memory_new(size_t bytes);
// The same for short-lived memory, such as a tensor in a loop. It uses huge pages only for larger
// sizes, since each page is cleared as a whole.
void *memory_passing(size_t bytes);
// Allocates count·size bytes; NULL also when the product overflows.
void *memory_array(size_t count, size_t size);
