// SPDX-License-Identifier: MIT
// A set of texts that keeps only a 64-bit hash of each: 11 to 21 bytes in all. It answers whether a
// name was seen before, for many thousands of names. Two texts with the same hash count as one;
// among a million texts that happens in one of 37 million sets.
#pragma once
#include <stdbool.h>
#include <stddef.h>

typedef struct hashset hashset;

hashset *hashset_new(void);
void hashset_free(hashset *s); // NULL is fine
void hashset_add(hashset *s, const char *text);
bool hashset_has(const hashset *s, const char *text);
void hashset_remove(hashset *s, const char *text); // does nothing if the text is not in the set
void hashset_clear(hashset *s);
size_t hashset_count(const hashset *s);
