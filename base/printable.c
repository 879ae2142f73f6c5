// SPDX-License-Identifier: MIT
#include "base/printable.h"

#include "base/str.h"

#include <stdint.h>

// The code point of a valid sequence.
static uint32_t code_point(const char *s, size_t size)
{
    if (size == 1)
        return (unsigned char)*s;
    uint32_t c = (unsigned char)*s & (0x7Fu >> size);
    for (size_t i = 1; i < size; i++)
        c = c << 6 | ((unsigned char)s[i] & 0x3Fu);
    return c;
}

static bool is_control(uint32_t c)
{
    return (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7F && c < 0xA0) ||
           (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

// Most of what is printed is ASCII without controls.
static size_t plain_length(const char *text, size_t n)
{
    size_t i = 0;
    while (i < n && text[i] >= ' ' && text[i] < 0x7f)
        i++;
    return i;
}

void printable(buf *out, const char *text, size_t n)
{
    for (size_t i = 0, size; i < n; i += size ? size : 1) {
        size = plain_length(text + i, n - i);
        if (size) {
            buf_add(out, text + i, size);
            continue;
        }
        size = utf8_len(text + i, n - i);
        uint32_t c = size ? code_point(text + i, size) : 0;
        if (!size && text[i])
            buf_fmt(out, "<%02X>", (unsigned char)text[i]);
        else if (!is_control(c))
            buf_add(out, text + i, size);
        else if (c == '\r' && i + 1 < n && text[i + 1] == '\n')
            continue;
        else if (c < 0x80)
            buf_fmt(out, "^%c", (char)(c ^ 0x40));
        else
            buf_fmt(out, "<U+%04X>", c);
    }
}

void printable_json(buf *out, const char *text, size_t n)
{
    for (size_t i = 0, size; i < n; i += size ? size : 1) {
        size = plain_length(text + i, n - i);
        if (size) {
            buf_add(out, text + i, size);
            continue;
        }
        size = utf8_len(text + i, n - i);
        uint32_t c = size ? code_point(text + i, size) : 0;
        if (size && is_control(c))
            buf_fmt(out, "\\u%04x", c);
        else
            buf_add(out, text + i, size ? size : 1);
    }
}
