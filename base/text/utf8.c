// SPDX-License-Identifier: MIT
#include "base/text/utf8.h"

#include "base/mem.h"
#include "base/str.h"

#include <string.h>
#include <utf8proc.h>

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

bool point_is_modifier(uint32_t c)
{
    return c >= 0x1F3FB && c <= 0x1F3FF;
}

bool point_is_regional(uint32_t c)
{
    return c >= 0x1F1E6 && c <= 0x1F1FF;
}

bool point_is_alnum(uint32_t c)
{
    switch (utf8proc_category((utf8proc_int32_t)c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
        return true;
    default:
        return false;
    }
}

static utf8proc_boundclass_t class_of(uint32_t c)
{
    return utf8proc_get_property((utf8proc_int32_t)c)->boundclass;
}

// A cluster as it grows.
struct cluster {
    uint32_t last, seen; // the last code point; the last one that has a width
    utf8proc_int32_t state;
    int columns;
};

static bool take(struct cluster *c, uint32_t next)
{
    int width = point_width(next);
    bool joins = !utf8proc_grapheme_break_stateful(
        (utf8proc_int32_t)c->last, (utf8proc_int32_t)next, &c->state);
    if (width == 0)
        joins = true;
    else if (point_is_modifier(next))
        joins = class_of(c->seen) == UTF8PROC_BOUNDCLASS_EXTENDED_PICTOGRAPHIC;
    if (!joins || width < 0 || c->columns + width > CLUSTER_COLUMNS)
        return false;
    c->last = next;
    c->seen = width ? next : c->seen;
    c->columns += width;
    return true;
}

static bool is_ascii(char c)
{
    return (unsigned char)c < 0x80;
}

size_t utf8_cluster(const char *s, size_t n)
{
    if (n <= 1 || (is_ascii(s[0]) && is_ascii(s[1])))
        return n ? 1 : 0;
    size_t at, len;
    uint32_t first = utf8_decode(s, n, &at);
    struct cluster c = {.last = first, .seen = first, .columns = point_width(first)};
    if (c.columns < 0)
        return at;
    while (at < n && take(&c, utf8_decode(s + at, n - at, &len)))
        at += len;
    return at;
}

// Where the code point starts that has the byte at s + at. Stray continuation bytes are characters
// of their own.
static size_t point_start(const char *s, size_t n, size_t at)
{
    size_t start = at;
    while (start > 0 && at - start < 3 && ((unsigned char)s[start] & 0xC0) == 0x80)
        start--;
    return utf8_len(s + start, n - start) > at - start ? start : at;
}

// Does a cluster begin at s + at whatever stands before it? false may also mean that it depends.
static bool is_boundary(const char *s, size_t n, size_t at)
{
    if (at == 0 || (is_ascii(s[at - 1]) && is_ascii(s[at])))
        return true;
    size_t len, before = point_start(s, n, at - 1);
    uint32_t last = utf8_decode(s + before, n - before, &len),
             next = utf8_decode(s + at, n - at, &len);
    if (point_width(last) < 0 || point_width(next) < 0)
        return true;
    utf8proc_boundclass_t class = class_of(last);
    return point_width(next) > 0 && !point_is_modifier(next) &&
           class != UTF8PROC_BOUNDCLASS_EXTEND && class != UTF8PROC_BOUNDCLASS_ZWJ &&
           utf8proc_grapheme_break((utf8proc_int32_t)last, (utf8proc_int32_t)next);
}

size_t utf8_cluster_start(const char *s, size_t n, size_t at)
{
    if (at >= n)
        return n;
    size_t start = point_start(s, n, at), len;
    while (!is_boundary(s, n, start))
        start = point_start(s, n, start - 1);
    while ((len = utf8_cluster(s + start, n - start)) <= at - start)
        start += len;
    return start;
}

size_t utf8_cluster_before(const char *s, size_t at)
{
    return at ? at - utf8_cluster_start(s, at, at - 1) : 0;
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

size_t utf8_common(const char *a, const char *b)
{
    size_t n = 0;
    while (a[n] && a[n] == b[n])
        n++;
    size_t in_a = utf8_cluster_start(a, strlen(a), n), in_b = utf8_cluster_start(b, strlen(b), n);
    return in_a < in_b ? in_a : in_b;
}

int text_width(const char *s, size_t n, int column)
{
    int from = column;
    for (size_t at = 0, len; at < n; at += len)
        column += step_width(s + at, n - at, column, &len);
    return column - from;
}

// The common case: an ASCII character of one column that is a cluster by itself.
static inline bool is_plain(const char *s, size_t n)
{
    return *s >= ' ' && *s < 0x7F && (n == 1 || is_ascii(s[1]));
}

size_t text_fit(const char *s, size_t n, int columns, int *width)
{
    int column = 0;
    size_t at = 0;
    for (size_t len; at < n; at += len) {
        int step = 1;
        len = 1;
        if (!is_plain(s + at, n - at)) {
            len = utf8_cluster(s + at, n - at);
            step = text_width(s + at, len, column);
        }
        if (column + step > columns)
            break;
        column += step;
    }
    *width = column;
    return at;
}
