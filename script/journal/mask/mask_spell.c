// SPDX-License-Identifier: MIT
#include "script/journal/mask/mask_spell.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"

#include <stdint.h>
#include <string.h>

enum { DEPTH = 2 }; // how often a text may be quoted before it is put into base64

struct speller {
    mask_spelling *fn;
    void *arg;
};

// Inside a longer text, a secret in base64 appears as one of three runs of digits: it depends on
// the number of bytes before it, modulo 3. The digits that mix it with its neighbours are left out.
static void spell_base64(const struct speller *to, const char *secret, size_t n)
{
    for (size_t shift = 0; shift < 3; shift++) {
        AUTO_BUF plain = {0}, text = {0};
        buf_add(&plain, "\0\0", shift);
        buf_add(&plain, secret, n);
        base64_encode(&text, plain.data, plain.len);
        size_t from = (shift * 8 + 5) / 6, length = (shift + n) * 8 / 6 - from;
        to->fn(to->arg, text.data + from, length);
        for (size_t i = 0; i < text.len; i++) {
            if (text.data[i] == '+')
                text.data[i] = '-';
            if (text.data[i] == '/')
                text.data[i] = '_';
        }
        to->fn(to->arg, text.data + from, length);
        explicit_bzero(plain.data, plain.len);
        explicit_bzero(text.data, text.len);
    }
}

// How printers write the inside of a string: JSON in the usual way; Go's encoder (kubectl's
// annotations), which also escapes HTML's characters; Python's, which uses only ASCII; and Lua's
// %q, with which cells show tables.
enum dialect { DIALECT_JSON, DIALECT_GO, DIALECT_PYTHON, DIALECT_LUA, DIALECT_COUNT };

// The code point of a valid sequence of several bytes.
static uint32_t code_point(const char *s, size_t size)
{
    uint32_t c = (unsigned char)*s & (0x7Fu >> size);
    for (size_t i = 1; i < size; i++)
        c = c << 6 | ((unsigned char)s[i] & 0x3Fu);
    return c;
}

static void add_utf16(buf *out, uint32_t c)
{
    if (c >= 0x10000)
        buf_fmt(out, "\\u%04x\\u%04x", 0xD7C0 + (c >> 10), 0xDC00 + (c & 0x3FF));
    else
        buf_fmt(out, "\\u%04x", c);
}

static void escape_byte(enum dialect d, unsigned char c, unsigned char next, buf *out)
{
    static const char names[] = "btn?fr";
    if (c == '"' || c == '\\')
        buf_fmt(out, "\\%c", c);
    else if (c == '\n' || (d != DIALECT_LUA && c >= '\b' && c <= '\r' && c != '\v'))
        buf_fmt(out, "\\%c", names[c - '\b']);
    else if (d == DIALECT_LUA && (c < 0x20 || c == 0x7F))
        buf_fmt(out, next >= '0' && next <= '9' ? "\\%03u" : "\\%u", c);
    else if (c < 0x20 || (d == DIALECT_GO && strchr("&<>", c)))
        buf_fmt(out, "\\u%04x", c);
    else
        buf_char(out, (char)c);
}

static void escape(enum dialect d, const char *s, size_t n, buf *out)
{
    for (size_t i = 0; i < n;) {
        size_t size = utf8_len(s + i, n - i);
        uint32_t c = size > 1 ? code_point(s + i, size) : 0;
        if (size > 1 && (d == DIALECT_PYTHON || (d == DIALECT_GO && (c | 1) == 0x2029)))
            add_utf16(out, c);
        else if (size > 1)
            buf_add(out, s + i, size);
        else
            escape_byte(d, (unsigned char)s[i], i + 1 < n ? (unsigned char)s[i + 1] : 0, out);
        i += size > 1 ? size : 1;
    }
}

// A whole file that quotes the secret may have been put into base64.
static void spell_quoted(const struct speller *to, const char *s, size_t n, int depth)
{
    spell_base64(to, s, n);
    for (enum dialect d = 0; d < DIALECT_COUNT && depth > 0; d++) {
        AUTO_BUF text = {0};
        escape(d, s, n, &text);
        if (text.len != n || memcmp(text.data, s, n) != 0)
            spell_quoted(to, text.data, text.len, depth - 1);
        explicit_bzero(text.data, text.len);
    }
}

void mask_spellings(const char *secret, size_t n, mask_spelling *fn, void *arg)
{
    AUTO_BUF digits = {0};
    hex_encode(&digits, secret, n);
    fn(arg, digits.data, digits.len);
    explicit_bzero(digits.data, digits.len);
    spell_quoted(&(struct speller){fn, arg}, secret, n, DEPTH);
}
