// SPDX-License-Identifier: MIT
// Open addressing with linear probing, at most three quarters full. An entry stands at its hash's
// place or behind that place, with no free place between the two. Removing an entry moves up those
// behind it, so no place is ever marked as deleted.
#include "base/data/hashmap.h"

#include "base/mem.h"

#include <stdint.h>
#include <string.h>

enum { FIRST_SIZE = 16 };

struct entry {
    const void *key; // NULL: free
    size_t value;
    uint32_t n, hash;
};

struct hashmap {
    struct entry *entries;
    size_t size, count; // size: a power of two
    bool borrows;       // its keys belong to the caller
};

// One step of FNV-1a, for eight bytes. The high bits, which depend on all others, are mixed into
// the low ones, since those choose the place.
static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    return hash ^ hash >> 32;
}

static uint32_t hash_of(const unsigned char *key, size_t n)
{
    uint64_t h = 0xcbf29ce484222325 ^ n, word;
    for (; n > sizeof word; key += sizeof word, n -= sizeof word) {
        memcpy(&word, key, sizeof word);
        h = mix(h, word);
    }
    word = 0;
    memcpy(&word, key, n);
    return (uint32_t)mix(h, word);
}

hashmap *hashmap_new(void)
{
    hashmap *m = mem_alloc(sizeof *m);
    m->size = FIRST_SIZE;
    m->entries = mem_array(m->size, sizeof *m->entries);
    return m;
}

hashmap *hashmap_new_borrowing(void)
{
    hashmap *m = hashmap_new();
    m->borrows = true;
    return m;
}

static void drop_key(const hashmap *m, struct entry *e)
{
    if (!m->borrows)
        free((void *)e->key);
}

void hashmap_clear(hashmap *m)
{
    for (size_t i = 0; i < m->size; i++) {
        drop_key(m, &m->entries[i]);
        m->entries[i] = (struct entry){0};
    }
    m->count = 0;
}

void hashmap_free(hashmap *m)
{
    if (!m)
        return;
    hashmap_clear(m);
    free(m->entries);
    free(m);
}

// Where the key is, or the free place where it belongs.
static size_t place(const hashmap *m, const void *key, size_t n, uint32_t hash)
{
    size_t i = hash & (m->size - 1);
    for (;; i = (i + 1) & (m->size - 1)) {
        const struct entry *e = &m->entries[i];
        if (!e->key || (e->hash == hash && e->n == n && memcmp(e->key, key, n) == 0))
            return i;
    }
}

static void grow(hashmap *m)
{
    struct entry *old = m->entries;
    size_t size = m->size;
    m->size *= 2;
    m->entries = mem_array(m->size, sizeof *m->entries);
    for (size_t i = 0; i < size; i++)
        if (old[i].key)
            m->entries[place(m, old[i].key, old[i].n, old[i].hash)] = old[i];
    free(old);
}

void hashmap_set(hashmap *m, const void *key, size_t n, size_t value)
{
    if (n > UINT32_MAX)
        abort();
    uint32_t hash = hash_of(key, n);
    struct entry *e = &m->entries[place(m, key, n, hash)];
    if (e->key) {
        e->value = value;
        return;
    }
    if (4 * (m->count + 1) > 3 * m->size) {
        grow(m);
        e = &m->entries[place(m, key, n, hash)];
    }
    *e = (struct entry){.key = key, .n = (uint32_t)n, .value = value, .hash = hash};
    if (!m->borrows)
        e->key = memcpy(mem_alloc(n + 1), key, n);
    m->count++;
}

bool hashmap_get(const hashmap *m, const void *key, size_t n, size_t *value)
{
    const struct entry *e = &m->entries[place(m, key, n, hash_of(key, n))];
    if (e->key)
        *value = e->value;
    return e->key != NULL;
}

bool hashmap_remove(hashmap *m, const void *key, size_t n)
{
    size_t mask = m->size - 1, hole = place(m, key, n, hash_of(key, n));
    if (!m->entries[hole].key)
        return false;
    drop_key(m, &m->entries[hole]);
    for (size_t i = (hole + 1) & mask; m->entries[i].key; i = (i + 1) & mask) {
        size_t home = m->entries[i].hash & mask;
        if (((i - home) & mask) < ((i - hole) & mask))
            continue; // it would be before its own place
        m->entries[hole] = m->entries[i];
        hole = i;
    }
    m->entries[hole] = (struct entry){0};
    m->count--;
    return true;
}

size_t hashmap_count(const hashmap *m)
{
    return m->count;
}

void hashmap_each(const hashmap *m, void (*fn)(void *arg, size_t value), void *arg)
{
    for (size_t i = 0; i < m->size; i++)
        if (m->entries[i].key)
            fn(arg, m->entries[i].value);
}
