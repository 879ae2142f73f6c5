// SPDX-License-Identifier: MIT
// A growable run of bytes, always followed by a NUL that `n` does not count.
// A plain value: `buf b = {0};` is empty; buf_done frees; buf_take hands the bytes to the caller.
#pragma once
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

typedef struct buf {
    char *data; // NULL while empty and never grown
    size_t len, cap;
} buf;

void buf_done(buf *b);
void buf_clear(buf *b); // keeps the memory
void buf_reserve(buf *b, size_t extra);
void buf_add(buf *b, const void *bytes, size_t n);
static inline void buf_str(buf *b, const char *s)
{
    buf_add(b, s, __builtin_strlen(s));
}
static inline void buf_char(buf *b, char c)
{
    if (b->cap - b->len < 2)
        buf_reserve(b, 1);
    b->data[b->len++] = c;
    b->data[b->len] = '\0';
}
void buf_fmt(buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_vfmt(buf *b, const char *fmt, va_list args);
void buf_int(buf *b, int64_t n); // in decimal digits
// A metric's value as Keras's progress bar prints it: "0.9046", "4.4000e-05". Keras keeps its
// numbers as f32, so a learning rate of 0.001 is a little more than 0.001.
void buf_metric(buf *b, double value);
// Removes n bytes (at most all) from the front.
void buf_consume(buf *b, size_t n);
// The bytes as a NUL-terminated string, "" when empty; borrowed.
const char *buf_cstr(const buf *b);
// The bytes, now the caller's to free(); the buf is empty after it.
char *buf_take(buf *b);

#define AUTO_BUF __attribute__((cleanup(buf_done))) buf
