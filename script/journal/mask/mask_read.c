// SPDX-License-Identifier: MIT
#include "script/journal/mask/mask_read.h"

#include "base/mem.h"
#include "base/str.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

enum { DEPTH = 3 }; // the most times that a text may be percent-encoded or made HTML
enum { ESCAPES = 4, CUT_N = sizeof STR_CUT - 1 }; // limits of a mark: backslashes, bytes
enum { COLOUR_MAX = 32, ENTITY_MAX = 8, CODE_MAX = 0x10FFFF };

struct readings {
    struct mask_reading *list;
    size_t n;
    const char *start, *end; // of the text around the place
};

static void add(struct readings *r, struct mask_reading one)
{
    if (r->n < MASK_READINGS)
        r->list[r->n++] = one;
}

static void add_open(struct readings *r)
{
    add(r, (struct mask_reading){.open = true});
}

static void add_byte(struct readings *r, unsigned byte, const char *after)
{
    add(r, (struct mask_reading){
               .bytes = {mask_small((char)byte)}, .n = 1, .taken = (size_t)(after - r->start)});
}

static void add_gap(struct readings *r, enum reading_kind kind, const char *after)
{
    add(r, (struct mask_reading){.kind = kind, .taken = (size_t)(after - r->start)});
}

static void add_code_point(struct readings *r, uint32_t c, const char *after)
{
    struct mask_reading one = {.taken = (size_t)(after - r->start)};
    if (c < 0x80) {
        add_byte(r, c, after);
        return;
    }
    one.n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = one.n - 1u; i > 0; i--, c >>= 6)
        one.bytes[i] = (unsigned char)(0x80 | (c & 0x3F));
    one.bytes[0] = (unsigned char)((0xF00u >> one.n & 0xF0) | c);
    add(r, one);
}

static int digit_of(char c)
{
    unsigned char small = mask_small(c);
    return small >= '0' && small <= '9'   ? small - '0'
           : small >= 'a' && small <= 'f' ? small - 87
                                          : 16;
}

// Reads up to `most` digits of a base from p as a number; *after is their end.
static uint32_t number(const char *p, const char *end, int base, size_t most, const char **after)
{
    uint32_t value = 0;
    for (*after = p; *after < end && (size_t)(*after - p) < most; ++*after) {
        int digit = digit_of(**after);
        if (digit >= base)
            break;
        value = value * (uint32_t)base + (uint32_t)digit;
    }
    return value;
}

static const char *skip(const char *p, const char *end, const char *set)
{
    while (p < end && *p && strchr(set, *p))
        p++;
    return p;
}

// "[1;31m", "[K", "(B" at p, after an escape character.
static void read_colour(struct readings *r, const char *p)
{
    const char *limit = r->end - p > COLOUR_MAX ? p + COLOUR_MAX : r->end;
    bool character_set = p < limit && *p == '(';
    if (p < limit && *p != '[' && !character_set)
        return;
    if (p < limit)
        p++;
    while (p < limit && *p >= 0x20 && *p < 0x40 && !character_set)
        p++;
    if (p == r->end)
        add(r, (struct mask_reading){.kind = READING_COLOUR, .open = true});
    else if (p < limit && *p >= 0x40 && *p <= 0x7E)
        add_gap(r, READING_COLOUR, p + 1);
}

// A line break that ends before p, and the indentation after it.
static void read_break(struct readings *r, const char *p)
{
    const char *limit = r->end - p > MASK_GAP ? p + MASK_GAP : r->end;
    const char *stop = skip(p, limit, "\r\n \t");
    if (stop == r->end)
        add(r, (struct mask_reading){.kind = READING_BREAK, .open = true});
    else
        add_gap(r, READING_BREAK, stop);
}

// "%41"; "%2541" is the same, encoded twice.
static void read_percent(struct readings *r)
{
    const char *p = r->start + 1, *after;
    for (int depth = 0; depth < DEPTH; depth++, p += 2) {
        uint32_t byte = number(p, r->end, 16, 2, &after);
        if (after == p + 2)
            add_byte(r, byte, after);
        else if (after == r->end)
            add_open(r);
        if (after != p + 2 || byte != '%')
            return;
    }
}

// The character of "lt;" or "#60;" at p; 0: no entity.
static uint32_t entity(const char *p, const char *end, const char **after)
{
    static const struct {
        const char *name;
        uint32_t c;
    } names[] = {{"amp;", '&'}, {"lt;", '<'}, {"gt;", '>'}, {"quot;", '"'}, {"apos;", '\''}};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        size_t n = strlen(names[i].name);
        if ((size_t)(end - p) >= n && memcmp(p, names[i].name, n) == 0) {
            *after = p + n;
            return names[i].c;
        }
    }
    if (end - p < 2 || *p != '#')
        return 0;
    bool hex = p[1] == 'x' || p[1] == 'X';
    uint32_t c = number(p + 1 + hex, end, hex ? 16 : 10, ENTITY_MAX, after);
    if (*after == end || *(*after)++ != ';' || c > CODE_MAX)
        return 0;
    return c;
}

// May these bytes be the start of an entity that more bytes complete?
static bool entity_open(const char *p, const char *end)
{
    if (end - p > ENTITY_MAX + 2)
        return false;
    while (p < end && (isalnum((unsigned char)*p) || *p == '#'))
        p++;
    return p == end;
}

static void read_entity(struct readings *r)
{
    const char *p = r->start + 1, *after = p;
    for (int depth = 0; depth < DEPTH; depth++, p = after) {
        uint32_t c = entity(p, r->end, &after);
        if (c)
            add_code_point(r, c, after);
        else if (entity_open(p, r->end))
            add_open(r);
        if (c != '&')
            return;
    }
}

// The second half of a surrogate pair: "\udd11", after any number of backslashes.
static bool low_half(const char *p, const char *end, uint32_t *low, const char **after)
{
    const char *u = mask_backslashes(p, end);
    *after = u;
    if (u == end || u == p || *u != 'u')
        return false;
    *low = number(u + 1, end, 16, 4, after);
    return *after == u + 5 && *low >= 0xDC00 && *low < 0xE000;
}

// "u00e9", "u{e9}", "U0001f511" at p.
static void read_unicode(struct readings *r, const char *p)
{
    const char *after;
    bool braces = r->end - p > 1 && p[1] == '{';
    size_t digits = braces ? 6 : *p == 'u' ? 4 : 8;
    uint32_t low, c = number(p + 1 + braces, r->end, 16, digits, &after);
    if (after == r->end && (braces || after != p + 1 + digits)) {
        add_open(r);
        return;
    }
    if (braces ? *after++ != '}' : after != p + 1 + digits)
        return;
    if (c >= 0xD800 && c < 0xDC00) {
        if (low_half(after, r->end, &low, &after))
            c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
        else if (after == r->end)
            add_open(r);
    }
    if (c <= CODE_MAX)
        add_code_point(r, c, after);
}

// "xe9" at p is a byte, or a code point if Python's ascii() wrote it.
static void read_hex(struct readings *r, const char *p)
{
    const char *after;
    uint32_t c = number(p + 1, r->end, 16, 2, &after);
    if (after == p + 3) {
        add_byte(r, c, after);
        if (c >= 0x80)
            add_code_point(r, c, after);
    } else if (after == r->end) {
        add_open(r);
    }
}

// "9" and "009" of Lua at p, or "011" of C and shells.
static void read_digits(struct readings *r, const char *p)
{
    const char *decimal_end, *octal_end;
    uint32_t decimal = number(p, r->end, 10, 3, &decimal_end);
    uint32_t octal = number(p, r->end, 8, 3, &octal_end);
    if (decimal_end == r->end && decimal_end < p + 3) {
        add_open(r);
        return;
    }
    if (decimal < 256)
        add_byte(r, decimal, decimal_end);
    if (octal_end > p && octal < 256)
        add_byte(r, octal, octal_end);
}

// Reads the bytes at p after one or more backslashes.
static void read_escaped(struct readings *r, const char *p)
{
    static const char names[] = "abtnvfr";
    const char *name = *p ? strchr(names, *p) : NULL;
    if (*p == 'n' || *p == 'r')
        read_break(r, p + 1);
    if (name)
        add_byte(r, 7u + (unsigned)(name - names), p + 1);
    else if (*p == 'e' || *p == 'E')
        add_byte(r, '\033', p + 1);
    else if (*p == 'u' || *p == 'U')
        read_unicode(r, p);
    else if (*p == 'x')
        read_hex(r, p);
    else if (isdigit((unsigned char)*p))
        read_digits(r, p);
    else if (*p == '\n' || *p == '\r')
        read_break(r, p + 1);
    else if (!isalpha((unsigned char)*p))
        add_byte(r, (unsigned char)*p, p + 1);
}

// Each quoting doubles the backslashes, so any number of them may stand before the escaped
// character.
static void read_backslashes(struct readings *r)
{
    const char *p = mask_backslashes(r->start, r->end);
    if (p - r->start < MASK_RUN && p == r->end) {
        add_open(r);
        return;
    }
    if (p - r->start < MASK_RUN)
        read_escaped(r, p);
    for (size_t i = 0, n = r->n; i < n; i++)
        if (r->list[i].n == 1 && r->list[i].bytes[0] == '\033')
            read_colour(r, r->start + r->list[i].taken);
    for (size_t taken = 1u << DEPTH; taken > 1; taken /= 2)
        if ((size_t)(p - r->start) >= taken)
            add_byte(r, '\\', r->start + taken);
}

size_t mask_readings(const char *p, const char *end, struct mask_reading out[MASK_READINGS])
{
    struct readings r = {out, 0, p, end};
    if (*p == '\\')
        read_backslashes(&r);
    else if (*p == '%')
        read_percent(&r);
    else if (*p == '&')
        read_entity(&r);
    else if (*p == '+')
        add_byte(&r, ' ', p + 1);
    else if (*p == '\033')
        read_colour(&r, p + 1);
    else
        read_break(&r, p + 1);
    add_byte(&r, (unsigned char)*p, p + 1);
    return r.n;
}

// A mark as printers escape it, "\u2026" or "&#8230;".
static struct mask_mark escaped_mark(const char *p, const char *end)
{
    struct mask_mark mark = {0};
    struct mask_reading list[MASK_READINGS];
    if (*p != '&' && (*p != '\\' || (end - p > ESCAPES && mask_backslashes(p, end) - p > ESCAPES)))
        return mark;
    for (size_t i = 0, n = mask_readings(p, end, list); i < n; i++) {
        mark.open |= list[i].open;
        if (list[i].n == CUT_N && memcmp(list[i].bytes, STR_CUT, CUT_N) == 0)
            mark = (struct mask_mark){.least = MASK_CUT, .end = p + list[i].taken};
    }
    return mark;
}

static bool begins(const char *p, const char *end, const char *text, bool *open)
{
    size_t n = strlen(text), left = (size_t)(end - p);
    bool same = memcmp(p, text, n < left ? n : left) == 0;
    *open |= same && left < n;
    return same && left >= n;
}

static struct mask_mark mark(const char *p, const char *end)
{
    struct mask_mark m = {0};
    if (p == end)
        m.open = true;
    else if (begins(p, end, STR_CUT, &m.open))
        m = (struct mask_mark){.least = MASK_CUT, .end = p + CUT_N};
    else if (begins(p, end, "...", &m.open))
        m = (struct mask_mark){.least = MASK_DOTS, .end = p + strlen("...")};
    else if (!m.open)
        m = escaped_mark(p, end);
    return m;
}

// What to show for the pieces of a character that was cut in two.
static const char *skip_pieces(const char *p, const char *end, bool *open)
{
    for (int i = 0; i < 3 && begins(p, end, UTF8_REPLACEMENT, open); i++)
        p += strlen(UTF8_REPLACEMENT);
    return p;
}

// A newline, also as printers escape it.
static const char *skip_newline(const char *p, const char *end, bool *open)
{
    const char *at = p;
    while (at < end && at - p < ESCAPES && *at == '\\')
        at++;
    if (at > p && at < end && *at == 'n')
        return at + 1;
    *open |= at == end;
    if (at == p && at < end && *at == '\r')
        at++;
    *open |= at == end;
    return at < end && *at == '\n' ? at + 1 : p;
}

struct mask_mark mask_mark_behind(const char *p, const char *end)
{
    bool open = false;
    p = skip_pieces(p, end, &open);
    const char *line = skip_newline(p, end, &open);
    struct mask_mark m = mark(p, end);
    if (!m.least && line > p && line < end && *line == '[')
        m = mark(line + 1, end);
    m.open |= !m.least && (open || (line > p && line == end));
    return m;
}

struct mask_mark mask_mark_at(const char *p, const char *end)
{
    struct mask_mark m = mark(p, end);
    bool open = false;
    if (!m.least)
        return m;
    const char *after = m.end, *line = after < end && *after == ']' ? after + 1 : after;
    if (line > after)
        line = skip_newline(line, end, &open);
    if (line > after + 1)
        after = line;
    m.end = skip_pieces(after, end, &open);
    m.open = open;
    return m;
}
