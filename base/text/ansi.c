// SPDX-License-Identifier: MIT
// The states follow ECMA-48 as DEC's parsers do (vt100.net/emu/dec_ansi_parser): a sequence ends at
// its final byte, a string (OSC, DCS, APC, PM, SOS) at ST, BEL or CAN; ESC starts anew anywhere.
// Unlike there, a newline also ends each of them: a sequence that was cut off hides no more than
// its line.
#include "base/text/ansi.h"

#include "base/str.h"

#include <string.h>

enum { GROUND, ESCAPE, ESCAPE_MORE, CSI, CSI_SKIP, STRING, STRING_ESCAPE };
enum { REACH = 16 << 10 };
enum { ESC = 0x1B, BEL = 0x07, CAN = 0x18, SUB = 0x1A };

static const style plain = {0};

// One colour of "38;5;n", "38;2;r;g;b" or their forms with colons ("38:2::r:g:b"). Returns how many
// parameters it took behind the 38 at i.
static size_t extended_color(const struct ansi *a, size_t i, size_t count, color *out)
{
    const unsigned *p = a->params + i;
    size_t left = count - i - 1;
    if (left >= 2 && p[1] == 5) {
        *out = COLOR_INDEX(p[2]);
        return 2;
    }
    if (left >= 1 && p[1] == 2) {
        bool colons = a->subparams >> (i + 1) & 1;
        // skips a colour space
        size_t at = colons && left >= 5 && a->subparams >> (i + 5) & 1 ? 3 : 2;
        if (left >= at + 2)
            *out = COLOR_RGB(p[at], p[at + 1], p[at + 2]);
        return left < at + 2 ? left : at + 2;
    }
    return left;
}

static const struct {
    unsigned on, off;
    uint32_t attr;
} attributes[] = {{1, 22, ATTR_BOLD}, {2, 22, ATTR_DIM}, {3, 23, ATTR_ITALIC},
    {4, 24, ATTR_UNDERLINE}, {5, 25, ATTR_BLINK}, {7, 27, ATTR_REVERSE}, {9, 29, ATTR_STRIKE}};

static void set_attribute(style *s, unsigned p)
{
    for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++) {
        if (p == attributes[i].on)
            s->attrs |= attributes[i].attr;
        if (p == attributes[i].off)
            s->attrs &= ~attributes[i].attr;
    }
}

static void select_color(buf *out, unsigned ground, color c)
{
    if (c >> 24 == COLOR_INDEX(0) >> 24)
        buf_fmt(out, ";%u;5;%u", ground, c & 0xff);
    else if (c != COLOR_NONE)
        buf_fmt(out, ";%u;2;%u;%u;%u", ground, c >> 16 & 0xff, c >> 8 & 0xff, c & 0xff);
}

void ansi_select(buf *out, style st)
{
    buf_str(out, "\033[0");
    for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++)
        if (st.attrs & attributes[i].attr)
            buf_fmt(out, ";%u", attributes[i].on);
    select_color(out, 38, st.fg);
    select_color(out, 48, st.bg);
    buf_char(out, 'm');
}

static size_t skip_subparams(const struct ansi *a, size_t i, size_t count)
{
    while (i + 1 < count && a->subparams >> (i + 1) & 1)
        i++;
    return i;
}

static void select_graphics(struct ansi *a)
{
    size_t count = a->params_n + 1u < ANSI_PARAMS ? a->params_n + 1u : ANSI_PARAMS;
    style *s = &a->style;
    for (size_t i = 0; i < count; i++) {
        unsigned p = a->params[i];
        if (p == 0)
            *s = plain;
        else if (p >= 30 && p <= 37)
            s->fg = COLOR_INDEX(p - 30);
        else if (p >= 40 && p <= 47)
            s->bg = COLOR_INDEX(p - 40);
        else if (p >= 90 && p <= 97)
            s->fg = COLOR_INDEX(p - 90 + 8);
        else if (p >= 100 && p <= 107)
            s->bg = COLOR_INDEX(p - 100 + 8);
        else if (p == 38)
            i += extended_color(a, i, count, &s->fg);
        else if (p == 48)
            i += extended_color(a, i, count, &s->bg);
        else if (p == 39)
            s->fg = COLOR_NONE;
        else if (p == 49)
            s->bg = COLOR_NONE;
        else if (p == 4 && i + 1 < count && a->subparams >> (i + 1) & 1 && !a->params[i + 1])
            s->attrs &= ~(uint32_t)ATTR_UNDERLINE; // "4:0"
        else
            set_attribute(s, p);
        i = skip_subparams(a, i, count);
    }
}

static void csi_byte(struct ansi *a, unsigned char c, const struct ansi_ops *ops, void *arg)
{
    if (c >= '0' && c <= '9') {
        if (a->params_n < ANSI_PARAMS && a->params[a->params_n] < 10000)
            a->params[a->params_n] = a->params[a->params_n] * 10 + (c - '0');
    } else if (c == ';' || c == ':') {
        if (a->params_n < ANSI_PARAMS)
            a->params_n++;
        if (a->params_n < ANSI_PARAMS && c == ':')
            a->subparams |= 1u << a->params_n;
    } else if (c >= '<' && c <= '?') {
        a->is_private = true;
    } else if (c >= 0x20 && c < 0x30) {
        a->state = CSI_SKIP; // has intermediates: none that we know
    } else if (c >= 0x40) {
        a->state = GROUND;
        if (c == 'm' && !a->is_private)
            select_graphics(a);
        else if (strchr("ABCDEFG`JKsu", c) && !a->is_private)
            ops->sequence(arg, (char)c, a->params[0]);
    }
}

static void escape_byte(struct ansi *a, unsigned char c, const struct ansi_ops *ops, void *arg)
{
    if (c == '[') {
        a->state = CSI;
        a->params_n = 0;
        a->subparams = 0;
        a->is_private = false;
        memset(a->params, 0, sizeof a->params);
    } else if (strchr("]PX^_", c)) {
        a->state = STRING;
    } else if (c >= 0x20 && c < 0x30) {
        a->state = ESCAPE_MORE;
    } else {
        a->state = GROUND;
        if (c == '7' || c == '8') // DEC's way to save and restore the cursor
            ops->sequence(arg, c == '7' ? 's' : 'u', 0);
    }
}

static void sequence_byte(struct ansi *a, unsigned char c, const struct ansi_ops *ops, void *arg)
{
    if (c == CAN || c == SUB) {
        a->state = GROUND;
    } else if (c == '\n') {
        a->state = GROUND;
        ops->control(arg, '\n');
    } else if (c == ESC) {
        a->state = a->state == STRING || a->state == STRING_ESCAPE ? STRING_ESCAPE : ESCAPE;
    } else if (a->state == STRING) {
        if (c == BEL)
            a->state = GROUND;
    } else if (a->state == STRING_ESCAPE) {
        if (c == '\\')
            a->state = GROUND;
        else
            escape_byte(a, c, ops, arg);
    } else if (c < 0x20) {
        return;
    } else if (a->state == ESCAPE) {
        escape_byte(a, c, ops, arg);
    } else if (a->state == CSI) {
        csi_byte(a, c, ops, arg);
    } else if (a->state == CSI_SKIP ? c >= 0x40 : c >= 0x30) {
        a->state = GROUND;
    }
}

// Text may hold C1 control characters (U+0080 to U+009F), which some terminals obey.
static void text_out(struct ansi *a, const char *s, size_t n, const struct ansi_ops *ops, void *arg)
{
    size_t start = 0;
    for (size_t i = 0; i + 1 < n; i++)
        if ((unsigned char)s[i] == 0xC2 && (unsigned char)s[i + 1] < 0xA0) {
            if (i > start)
                ops->text(arg, s + start, i - start, a->style);
            start = i + 2;
            i++;
        }
    if (n > start)
        ops->text(arg, s + start, n - start, a->style);
}

static bool is_ascii(const char *s, size_t n)
{
    unsigned char all = 0;
    for (size_t i = 0; i < n; i++)
        all |= (unsigned char)s[i];
    return all < 0x80;
}

// Printable bytes up to the next control byte, made valid.
static void ground_text(
    struct ansi *a, const char *s, size_t n, bool last, const struct ansi_ops *ops, void *arg)
{
    if (!a->partial_n && is_ascii(s, n)) {
        ops->text(arg, s, n, a->style);
        return;
    }
    AUTO_BUF joined = {0};
    buf_add(&joined, a->partial, a->partial_n);
    buf_add(&joined, s, n);
    a->partial_n = 0;
    size_t rest = last ? utf8_partial(joined.data, joined.len) : 0;
    memcpy(a->partial, joined.data + joined.len - rest, rest);
    a->partial_n = (unsigned char)rest;
    if (utf8_valid(joined.data, joined.len - rest)) {
        text_out(a, joined.data, joined.len - rest, ops, arg);
        return;
    }
    AUTO_BUF clean = {0};
    utf8_clean(&clean, joined.data, joined.len - rest);
    text_out(a, buf_cstr(&clean), clean.len, ops, arg);
}

static bool is_text(char c)
{
    return (unsigned char)c >= 0x20 && c != 0x7F;
}

static void ground_control(struct ansi *a, char c, const struct ansi_ops *ops, void *arg)
{
    if (c == ESC)
        a->state = ESCAPE;
    else if (c == '\n' || c == '\r' || c == '\b' || c == '\t')
        ops->control(arg, c);
}

void ansi_feed(struct ansi *a, const char *bytes, size_t n, const struct ansi_ops *ops, void *arg)
{
    for (size_t i = 0; i < n;) {
        if (a->state != GROUND) {
            sequence_byte(a, (unsigned char)bytes[i++], ops, arg);
            continue;
        }
        size_t end = i;
        while (end < n && is_text(bytes[end]))
            end++;
        if (end > i || a->partial_n)
            ground_text(a, bytes + i, end - i, end == n, ops, arg);
        if (end < n)
            ground_control(a, bytes[end], ops, arg);
        i = end + 1;
    }
}

static void no_text(void *arg, const char *s, size_t n, style st)
{
}

static void no_control(void *arg, char c)
{
}

static void no_sequence(void *arg, char final, unsigned parameter)
{
}

style ansi_after(style before, const char *bytes, size_t n)
{
    static const struct ansi_ops ops = {
        .text = no_text, .control = no_control, .sequence = no_sequence};
    struct ansi a = {.style = before};
    const char *end = bytes + n;
    while (bytes < end && (bytes = memchr(bytes, ESC, (size_t)(end - bytes))))
        do
            ansi_feed(&a, bytes++, 1, &ops, NULL);
        while (bytes < end && a.state != GROUND);
    return a.style;
}

size_t ansi_reach(uint64_t offset)
{
    uint64_t start = offset - offset % REACH;
    return (size_t)(offset - (start > REACH ? start - REACH : 0));
}
