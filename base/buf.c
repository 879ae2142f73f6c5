// SPDX-License-Identifier: MIT
#include "base/buf.h"

#include "base/mem.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

void buf_done(buf *b)
{
    free(b->data);
    *b = (buf){0};
}

void buf_clear(buf *b)
{
    b->len = 0;
    if (b->data)
        b->data[0] = '\0';
}

void buf_reserve(buf *b, size_t extra)
{
    size_t need;
    if (__builtin_add_overflow(b->len, extra, &need) || need >= PTRDIFF_MAX)
        mem_out(extra);
    if (b->data && need < b->cap)
        return;
    size_t cap = b->cap ? b->cap : 64;
    while (cap <= need)
        cap = cap + cap / 2;
    b->data = mem_resize(b->data, cap, 1);
    b->cap = cap;
    b->data[b->len] = '\0';
}

void buf_add(buf *b, const void *bytes, size_t n)
{
    if (n >= b->cap - b->len)
        buf_reserve(b, n);
    if (n)
        memcpy(b->data + b->len, bytes, n);
    b->len += n;
    b->data[b->len] = '\0';
}

void buf_vfmt(buf *b, const char *fmt, va_list args)
{
    va_list again;
    va_copy(again, args);
    buf_reserve(b, 64);
    size_t room = b->cap - b->len;
    int n = vsnprintf(b->data + b->len, room, fmt, args);
    if (n > 0 && (size_t)n >= room) {
        buf_reserve(b, (size_t)n);
        vsnprintf(b->data + b->len, b->cap - b->len, fmt, again);
    }
    va_end(again);
    if (n > 0)
        b->len += (size_t)n;
}

void buf_fmt(buf *b, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    buf_vfmt(b, fmt, args);
    va_end(args);
}

void buf_int(buf *b, int64_t n)
{
    char digits[20], *at = digits + sizeof digits;
    for (uint64_t rest = n < 0 ? -(uint64_t)n : (uint64_t)n; rest || at == digits + sizeof digits;
         rest /= 10)
        *--at = (char)('0' + rest % 10);
    if (n < 0)
        *--at = '-';
    buf_add(b, at, (size_t)(digits + sizeof digits - at));
}

void buf_metric(buf *b, double value)
{
    double kept = (double)(float)value;
    buf_fmt(b, fabs(kept) > 1e-3 ? "%.4f" : "%.4e", kept);
}

void buf_consume(buf *b, size_t n)
{
    if (n >= b->len) {
        buf_clear(b);
        return;
    }
    memmove(b->data, b->data + n, b->len - n + 1);
    b->len -= n;
}

const char *buf_cstr(const buf *b)
{
    return b->data ? b->data : "";
}

char *buf_take(buf *b)
{
    char *data = b->data ? b->data : mem_alloc(1);
    *b = (buf){0};
    return data;
}
