// SPDX-License-Identifier: MIT
// Memory for numbers: zeroed, aligned to a cache line, and in huge pages when it is big: rows are
// read in random order, and a TLB miss costs as much as a cache miss. Free it with free().
#pragma once
#include <stddef.h>

enum { MEMORY_LINE = 64 };

// Allocates at least one byte; NULL when there is no memory, or not that much: the kernel would
// hand it out and then kill us.
void *memory_new(size_t bytes);
// The same for memory that does not live long, such as a tensor of a loop. It takes huge pages for
// larger sizes only, since each page is cleared as a whole.
void *memory_passing(size_t bytes);
// Allocates count·size bytes; NULL also when the product overflows.
void *memory_array(size_t count, size_t size);
