// SPDX-License-Identifier: MIT
// Open addressing with linear probing, at most three quarters full, as in hashmap.c: a hash stands
// at its place or behind it, with no free place between the two.
#include "base/data/hashset.h"

#include "base/mem.h"

#include <stdint.h>
#include <stdlib.h>

enum { FIRST_SIZE = 16 };

struct hashset {
    uint64_t *hashes;   // 0: free
    size_t size, count; // size: a power of two
};

// FNV-1a, mixed so that the low bits, which choose the place, depend on all others. Never 0.
static uint64_t hash_of(const char *text)
{
    uint64_t h = UINT64_C(14695981039346656037);
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * UINT64_C(1099511628211);
    h ^= h >> 32;
    return h ? h : 1;
}

hashset *hashset_new(void)
{
    hashset *s = mem_alloc(sizeof *s);
    s->size = FIRST_SIZE;
    s->hashes = mem_array(s->size, sizeof *s->hashes);
    return s;
}

void hashset_free(hashset *s)
{
    if (!s)
        return;
    free(s->hashes);
    free(s);
}

void hashset_clear(hashset *s)
{
    free(s->hashes);
    s->size = FIRST_SIZE;
    s->hashes = mem_array(s->size, sizeof *s->hashes);
    s->count = 0;
}

// Where the hash is, or the free place where it belongs.
static size_t place(const hashset *s, uint64_t hash)
{
    size_t i = hash & (s->size - 1);
    while (s->hashes[i] && s->hashes[i] != hash)
        i = (i + 1) & (s->size - 1);
    return i;
}

static void grow(hashset *s)
{
    uint64_t *old = s->hashes;
    size_t size = s->size;
    s->size *= 2;
    s->hashes = mem_array(s->size, sizeof *s->hashes);
    for (size_t i = 0; i < size; i++)
        if (old[i])
            s->hashes[place(s, old[i])] = old[i];
    free(old);
}

void hashset_add(hashset *s, const char *text)
{
    uint64_t hash = hash_of(text);
    if (s->hashes[place(s, hash)])
        return;
    if (4 * (s->count + 1) > 3 * s->size)
        grow(s);
    s->hashes[place(s, hash)] = hash;
    s->count++;
}

bool hashset_has(const hashset *s, const char *text)
{
    return s->hashes[place(s, hash_of(text))] != 0;
}

// Those behind a hole move into it, unless they would then stand before their own places.
void hashset_remove(hashset *s, const char *text)
{
    size_t mask = s->size - 1, hole = place(s, hash_of(text));
    if (!s->hashes[hole])
        return;
    for (size_t i = (hole + 1) & mask; s->hashes[i]; i = (i + 1) & mask) {
        size_t home = s->hashes[i] & mask;
        if (((i - home) & mask) < ((i - hole) & mask))
            continue;
        s->hashes[hole] = s->hashes[i];
        hole = i;
    }
    s->hashes[hole] = 0;
    s->count--;
}

size_t hashset_count(const hashset *s)
{
    return s->count;
}
