// SPDX-License-Identifier: MIT
// A hash table from keys to numbers, such as the place of a thing in an array. It copies its keys,
// which may be any bytes, unless it is told to borrow them.
#pragma once
#include <stdbool.h>
#include <stddef.h>

typedef struct hashmap hashmap;

hashmap *hashmap_new(void);
// The same, but keys are not copied: each stays where it is, unchanged, as long as its entry does.
hashmap *hashmap_new_borrowing(void);
void hashmap_free(hashmap *m); // NULL is fine
// Sets the value of a key, whether the key was there or not. One that was there keeps its bytes
// where they are.
void hashmap_set(hashmap *m, const void *key, size_t n, size_t value);
bool hashmap_get(const hashmap *m, const void *key, size_t n, size_t *value);
bool hashmap_remove(hashmap *m, const void *key, size_t n); // false: the key was not there
void hashmap_clear(hashmap *m);
size_t hashmap_count(const hashmap *m);
// Calls fn with each value, in no order. It must not change the table; it may free what a borrowed
// key is in when the table is used no more.
void hashmap_each(const hashmap *m, void (*fn)(void *arg, size_t value), void *arg);
