// SPDX-License-Identifier: MIT
// Places for buffers that live for a while each, in one stretch of memory: two may have the same
// place when their times do not meet. Plain values.
#pragma once
#include <stdbool.h>
#include <stddef.h>

typedef struct arena_item {
    size_t from, to; // first and last moment, both included
    size_t size;
    size_t at; // set by arena_place
} arena_item;

// Places the items, in order of their first moments, each at the lowest place that is free. Returns
// the size of the whole; false when it overflows.
bool arena_place(arena_item *items, size_t n, size_t *size);
