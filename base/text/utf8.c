// SPDX-License-Identifier: MIT
#include "base/text/utf8.h"

#include "base/mem.h"
#include "base/str.h"

enum { REPLACEMENT = 0xFFFD };

uint32_t utf8_decode(const char *s, size_t n, size_t *len)
{
    const unsigned char *u = (const unsigned char *)s;
    size_t l = n && u[0] < 0x80 ? 1 : utf8_len(s, n);
    *len = l ? l : 1;
    switch (l) {
    case 1:
        return u[0];
    case 2:
        return (u[0] & 31u) << 6 | (u[1] & 63u);
    case 3:
        return (u[0] & 15u) << 12 | (u[1] & 63u) << 6 | (u[2] & 63u);
    case 4:
        return (u[0] & 7u) << 18 | (u[1] & 63u) << 12 | (u[2] & 63u) << 6 | (u[3] & 63u);
    default:
        return REPLACEMENT;
    }
}

size_t utf8_encode(uint32_t c, char out[4])
{
    if (c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF))
        c = REPLACEMENT;
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = n - 1; i; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 63));
    out[0] = (char)(lead[n] | c);
    return n;
}

struct range {
    uint32_t from, to;
};
static const struct range zero[] = {
#define ZERO(a, b) {a, b},
#include "base/text/width.def"
#undef ZERO
};
static const struct range wide[] = {
#define WIDE(a, b) {a, b},
#include "base/text/width.def"
#undef WIDE
};

static bool is_in(const struct range *ranges, size_t n, uint32_t c)
{
    size_t low = 0;
    while (low < n) {
        size_t mid = (low + n) / 2;
        if (c > ranges[mid].to)
            low = mid + 1;
        else if (c < ranges[mid].from)
            n = mid;
        else
            return true;
    }
    return false;
}

int point_width(uint32_t c)
{
    if (c >= 0x20 && c < 0x7F)
        return 1;
    if (c < 0xA0)
        return -1;
    if (c < 0x300)
        return 1;
    if (is_in(zero, ARRAY_LEN(zero), c))
        return 0;
    return is_in(wide, ARRAY_LEN(wide), c) ? 2 : 1;
}

size_t grapheme_len(const char *s, size_t n)
{
    if (!n)
        return 0;
    size_t len;
    if (point_width(utf8_decode(s, n, &len)) < 0)
        return len;
    for (size_t at = len, next; at < n; at += next, len = at)
        if (point_width(utf8_decode(s + at, n - at, &next)) != 0)
            break;
    return len;
}

static size_t point_start(const char *s, size_t at)
{
    size_t start = at - 1;
    while (start > 0 && at - start < 4 && ((unsigned char)s[start] & 0xC0) == 0x80)
        start--;
    // Stray continuation bytes are characters of their own.
    return utf8_len(s + start, at - start) == at - start ? start : at - 1;
}

size_t grapheme_len_before(const char *s, size_t at)
{
    size_t start = at, len;
    while (start > 0) {
        start = point_start(s, start);
        int width = point_width(utf8_decode(s + start, at - start, &len));
        if (width > 0 || (width < 0 && start + len == at))
            break;
        if (width < 0) // marks after a control character stand by themselves
            return at - (start + len);
    }
    return at - start;
}

static int step_width(const char *s, size_t n, int column, size_t *len)
{
    if (*s == '\t') {
        *len = 1;
        return TAB_COLUMNS - column % TAB_COLUMNS;
    }
    int width = point_width(utf8_decode(s, n, len));
    return width < 0 ? 1 : width;
}

int text_width(const char *s, size_t n, int column)
{
    int from = column;
    for (size_t at = 0, len; at < n; at += len)
        column += step_width(s + at, n - at, column, &len);
    return column - from;
}

size_t text_fit(const char *s, size_t n, int columns, int *width)
{
    int column = 0;
    size_t at = 0;
    for (size_t len; at < n; at += len) {
        int step = step_width(s + at, n - at, column, &len);
        if (column + step > columns)
            break;
        column += step;
    }
    *width = column;
    return at;
}
