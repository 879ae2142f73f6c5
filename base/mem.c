// SPDX-License-Identifier: MIT
#include "base/mem.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

// glibc keeps small freed blocks for the next malloc of their size, but its calloc does not look
// there. (Inlined, malloc and memset would be made a calloc by the compiler.)
enum { SMALL = 1024 };

__attribute__((noinline)) static void *allocate(size_t size)
{
    void *p = malloc(size ? size : 1);
    if (!p)
        abort();
    return p;
}

void *mem_alloc(size_t size)
{
    if (size <= SMALL)
        return memset(allocate(size), 0, size ? size : 1);
    void *p = calloc(1, size);
    if (!p)
        abort();
    return p;
}

void *mem_array(size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        abort();
    return mem_alloc(bytes);
}

void *mem_resize(void *old, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        abort();
    void *p = realloc(old, bytes ? bytes : 1);
    if (!p)
        abort();
    return p;
}

void mi_collect(bool force) __attribute__((weak)); // mimalloc's, where a program has it

void mem_trim(void)
{
    if (mi_collect)
        mi_collect(true);
    else
        malloc_trim(0);
}

void mem_leave(void *p)
{
    static struct left {
        void *memory;
        struct left *next;
    } * all;
    struct left *one = mem_alloc(sizeof *one);
    *one = (struct left){p, all};
    all = one;
}

void *mem_dup(const void *p, size_t n)
{
    return n ? memcpy(allocate(n), p, n) : mem_alloc(0);
}

char *mem_strdup(const char *s)
{
    return s ? mem_dup(s, strlen(s) + 1) : NULL;
}

char *mem_strndup(const char *s, size_t n)
{
    size_t len = strnlen(s, n);
    char *copy = allocate(len + 1);
    memcpy(copy, s, len);
    copy[len] = '\0';
    return copy;
}

char *mem_dup_text(const char *s, size_t n)
{
    char *copy = allocate(n + 1);
    memcpy(copy, s, n);
    copy[n] = '\0';
    return copy;
}

void *mem_try_array(size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > PTRDIFF_MAX)
        return NULL;
    return calloc(1, bytes ? bytes : 1);
}
