// SPDX-License-Identifier: MIT
// A hash table from keys to numbers, such as the index of an item in an array. It copies its keys,
// which may be any bytes, unless hashmap_new_borrowing made it.
#pragma once
#include <stdbool.h>
#include <stddef.h>

typedef struct hashmap hashmap;

hashmap *hashmap_new(void);
// The same, but it does not copy keys: each key must stay in place, unchanged, as long as its entry
// exists.
hashmap *hashmap_new_borrowing(void);
void hashmap_free(hashmap *m); // NULL is fine
// Sets the value of a key, new or not. A key that exists keeps its bytes where they are.
void hashmap_set(hashmap *m, const void *key, size_t n, size_t value);
bool hashmap_get(const hashmap *m, const void *key, size_t n, size_t *value);
bool hashmap_remove(hashmap *m, const void *key, size_t n); // false: the key was not there
void hashmap_clear(hashmap *m);
size_t hashmap_count(const hashmap *m);
// Calls fn with each value, in no particular order. fn must not change the table. It may free the
// memory of a borrowed key only if the table is not used afterwards.
void hashmap_each(const hashmap *m, void (*fn)(void *arg, size_t value), void *arg);
