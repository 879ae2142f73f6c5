// SPDX-License-Identifier: MIT
// A set of texts, of each of which it keeps a hash of 64 bits and no more: 11 to 21 bytes in all.
// It is for thousands of names of which it only matters whether they came already. Two texts with
// the same hash count as one; among a million that happens once in 37 million sets.
#pragma once
#include <stdbool.h>
#include <stddef.h>

typedef struct hashset hashset;

hashset *hashset_new(void);
void hashset_free(hashset *s); // NULL is fine
void hashset_add(hashset *s, const char *text);
bool hashset_has(const hashset *s, const char *text);
void hashset_remove(hashset *s, const char *text); // one that is not there does nothing
void hashset_clear(hashset *s);
size_t hashset_count(const hashset *s);
