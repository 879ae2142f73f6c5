// SPDX-License-Identifier: MIT
#include "base/mem.h"

#include "base/limits.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// glibc keeps freed small blocks for the next malloc of their size, but its calloc does not look
// there. (noinline: the compiler would turn malloc and memset into calloc.)
enum { SMALL = 1024 };

static void (*when_out)(void); // global like a signal handler: any allocation may reach it

void mem_when_out(void (*restore)(void))
{
    when_out = restore;
}

void mem_out(size_t size)
{
    static atomic_bool ends;
    if (atomic_exchange(&ends, true)) // another thread is already ending the program
        for (;;)
            pause();
    char text[LIMITS_WORDS + 100], limit[LIMITS_WORDS];
    limits_memory(limit, size);
    int n =
        snprintf(text, sizeof text, "firesteel: out of memory (%zu bytes more): %s\n", size, limit);
    if (when_out)
        when_out();
    ssize_t written = write(STDERR_FILENO, text, (size_t)n);
    (void)written;
    _exit(1);
}

__attribute__((noinline)) static void *allocate(size_t size)
{
    void *p = malloc(size ? size : 1);
    if (!p)
        mem_out(size);
    return p;
}

void *mem_alloc(size_t size)
{
    if (size <= SMALL)
        return memset(allocate(size), 0, size ? size : 1);
    void *p = calloc(1, size);
    if (!p)
        mem_out(size);
    return p;
}

void *mem_array(size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        mem_out(SIZE_MAX);
    return mem_alloc(bytes);
}

void *mem_resize(void *old, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        mem_out(SIZE_MAX);
    void *p = realloc(old, bytes ? bytes : 1);
    if (!p)
        mem_out(bytes);
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
