// SPDX-License-Identifier: MIT
#include "base/mem.h"

#include <stdint.h>
#include <string.h>

void *mem_alloc(size_t size)
{
    void *p = calloc(1, size ? size : 1);
    if (!p)
        abort();
    return p;
}

void *mem_array(size_t count, size_t size)
{
    void *p = mem_try_array(count, size);
    if (!p)
        abort();
    return p;
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

void *mem_dup(const void *p, size_t n)
{
    void *copy = mem_alloc(n);
    if (n)
        memcpy(copy, p, n);
    return copy;
}

char *mem_strdup(const char *s)
{
    return s ? mem_dup(s, strlen(s) + 1) : NULL;
}

char *mem_strndup(const char *s, size_t n)
{
    size_t len = strnlen(s, n);
    char *copy = mem_alloc(len + 1);
    memcpy(copy, s, len);
    return copy;
}

void *mem_try_array(size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > PTRDIFF_MAX)
        return NULL;
    return calloc(1, bytes ? bytes : 1);
}
