// SPDX-License-Identifier: MIT
// Random secrets as programs print them, in texts that arrive in random chunks: afterwards, no six
// characters in a row of the printed secret may be readable.
#include "base/mem.h"
#include "base/str.h"
#include "script/journal/mask/mask.h"
#include "tests/support/tap.h"

#include <ctype.h>

enum { ROUNDS = 60, READABLE = 6 };

static uint32_t state = 20;
static buf unbroken; // a printer's output without the parts it inserted; empty: none

static uint32_t below(uint32_t n)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % n;
}

// 12 to 91 printable characters, some of them not ASCII, some with a line break.
static char *random_secret(bool odd)
{
    static const char *const odds[] = {"\"", "\\", "'", "&", "<", "%", " ", "\t", "\n", "/", "+",
        "$", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x94\x91"};
    buf out = {0};
    for (uint32_t n = 12 + below(80); out.len < n;)
        if (odd && below(5) == 0 && out.len > 0)
            buf_str(&out, odds[below(ARRAY_LEN(odds))]);
        else
            buf_char(&out, "abcdefghijkmnopqrstuvwxyzABCDEFGHIJKLMNPQRSTUVWXYZ23456789"[below(57)]);
    buf_str(&out, "Zq");
    return buf_take(&out);
}

// Printers: each appends the secret in some spelling. `kind` chooses among variants.
typedef void printer(const char *s, size_t n, unsigned kind, buf *out);

static void as_it_is(const char *s, size_t n, unsigned kind, buf *out)
{
    for (size_t i = 0; i < n; i++)
        buf_char(out, (char)(kind % 3 == 0   ? s[i]
                             : kind % 3 == 1 ? toupper((unsigned char)s[i])
                                             : tolower((unsigned char)s[i])));
}

static void as_percents(const char *s, size_t n, unsigned kind, buf *out)
{
    for (size_t i = 0; i < n; i++)
        if (kind & 4 && s[i] == ' ')
            buf_char(out, '+');
        else if (kind & 1 && (isalnum((unsigned char)s[i]) || s[i] == '/'))
            buf_char(out, s[i]);
        else
            buf_fmt(out, kind & 2 ? "%%%02x" : "%%%02X", (unsigned char)s[i]);
}

static void as_html(const char *s, size_t n, unsigned kind, buf *out)
{
    for (size_t i = 0; i < n; i++) {
        const char *at = strchr("&&<<>>\"\"''", s[i]);
        if (kind & 1 && (unsigned char)s[i] < 0x80)
            buf_fmt(out, kind & 2 ? "&#%u;" : "&#x%X;", (unsigned char)s[i]);
        else if (at && *at)
            buf_fmt(out, "&%s;",
                (const char *[]){"amp", "lt", "gt", "quot", "#39"}[(at - "&&<<>>\"\"''") / 2 % 5]);
        else
            buf_char(out, s[i]);
    }
}

static void as_python_bytes(const char *s, size_t n, unsigned kind, buf *out)
{
    for (size_t i = 0; i < n; i++)
        if (s[i] == '\n' || s[i] == '\t')
            buf_str(out, s[i] == '\n' ? "\\n" : "\\t");
        else if (s[i] == '\\' || (s[i] == '\'' && kind & 1))
            buf_fmt(out, "\\%c", s[i]);
        else if ((unsigned char)s[i] >= 0x80 || kind & 2)
            buf_fmt(out, "\\x%02x", (unsigned char)s[i]);
        else
            buf_char(out, s[i]);
}

// One of JSON's quotings, `depth` times.
static void quote(const char *s, size_t n, int depth, bool ascii, buf *out)
{
    AUTO_BUF once = {0};
    for (size_t i = 0; i < n; i++) {
        size_t size = utf8_len(s + i, n - i);
        if (size == 2 && ascii) {
            buf_fmt(&once, "\\u%04x", ((s[i] & 0x1Fu) << 6) | (s[i + 1] & 0x3Fu));
            i++;
        } else if (s[i] == '\n' || s[i] == '\t') {
            buf_str(&once, s[i] == '\n' ? "\\n" : "\\t");
        } else if (s[i] == '"' || s[i] == '\\') {
            buf_fmt(&once, "\\%c", s[i]);
        } else if (strchr("<&", s[i]) && ascii) {
            buf_fmt(&once, "\\u%04x", (unsigned)s[i]);
        } else {
            buf_char(&once, s[i]);
        }
    }
    if (depth > 1)
        quote(once.data, once.len, depth - 1, ascii, out);
    else
        buf_add(out, once.data, once.len);
}

static void as_json(const char *s, size_t n, unsigned kind, buf *out)
{
    quote(s, n, 1 + (int)(kind % 3), kind & 4, out);
}

// Digits in lines of some width, with what begins each line.
static void in_lines(const char *digits, size_t n, size_t before, unsigned kind, buf *out)
{
    static const char *const breaks[] = {
        "\n", "\r\n", "\n      ", "\\n", "\\r\\n", "\\\\n    ", ""};
    static const size_t widths[] = {76, 64, 60, 19, 7};
    const char *line_break = breaks[kind % ARRAY_LEN(breaks)];
    size_t width = widths[kind / ARRAY_LEN(breaks) % ARRAY_LEN(widths)];
    buf_add(&unbroken, digits, n);
    for (size_t i = 0; i < n; i++) {
        if ((before + i) % width == 0)
            buf_str(out, line_break);
        buf_char(out, digits[i]);
    }
}

static void as_base64(const char *s, size_t n, unsigned kind, buf *out)
{
    AUTO_BUF plain = {0}, text = {0};
    size_t shift = kind % 3;
    buf_add(&plain, "::", shift);
    buf_add(&plain, s, n);
    base64_encode(&text, plain.data, plain.len);
    for (size_t i = 0; i < text.len && kind & 8; i++)
        text.data[i] = (char)(text.data[i] == '+' ? '-' : text.data[i] == '/' ? '_' : text.data[i]);
    size_t from = (shift * 8 + 5) / 6, to = (shift + n) * 8 / 6;
    in_lines(text.data + from, to - from, kind % 76, kind, out);
}

static void as_hex(const char *s, size_t n, unsigned kind, buf *out)
{
    AUTO_BUF text = {0};
    hex_encode(&text, s, n);
    for (size_t i = 0; i < text.len && kind & 1; i++)
        text.data[i] = (char)toupper((unsigned char)text.data[i]);
    in_lines(text.data, text.len, kind % 76, kind, out);
}

static void in_colours(const char *s, size_t n, unsigned kind, buf *out)
{
    size_t each = 1 + kind % 9;
    buf_add(&unbroken, s, n);
    for (size_t i = 0; i < n; i++) {
        if (i % each == 0)
            buf_str(out, kind & 16 ? "\\u001b[01;31m" : "\033[01;31m\033[K");
        buf_char(out, s[i]);
        if (i % each == each - 1)
            buf_str(out, kind & 16 ? "\\u001b[0m" : "\033[m\033[K");
    }
}

// A token that a terminal or `fold` has cut into lines.
static void folded(const char *s, size_t n, unsigned kind, buf *out)
{
    in_lines(s, n, kind % 40, kind, out);
}

static void feed(mask *m, const char *text, size_t n, size_t most, buf *out)
{
    mask_stream s;
    mask_stream_init(&s, m);
    for (size_t i = 0; i < n;) {
        size_t take = 1 + below((uint32_t)most);
        take = take < n - i ? take : n - i;
        mask_stream_feed(&s, text + i, take, out);
        i += take;
    }
    mask_stream_flush(&s, out);
    mask_stream_done(&s);
}

static void check_unreadable(const buf *out, const buf *printed)
{
    const buf *what = unbroken.len ? &unbroken : printed;
    for (size_t i = 0; i + READABLE <= what->len; i++)
        if (memmem(out->data, out->len, what->data + i, READABLE))
            tap_fail(__FILE__, __LINE__, "of\n%.*s\nthis can be read: %.*s\n%.*s",
                (int)printed->len, printed->data, READABLE, what->data + i, (int)out->len,
                out->data);
    CHECK_HAS(out->data, MASK_TEXT);
}

static void check_printer(printer *print, bool odd)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        mask *m = mask_new();
        AUTO_FREE char *secret = random_secret(odd), *other = random_secret(odd);
        mask_add(m, secret, strlen(secret));
        mask_add(m, other, strlen(other));
        AUTO_BUF printed = {0}, text = {0}, whole = {0}, chunks = {0}, bytes = {0};
        buf_clear(&unbroken);
        print(secret, strlen(secret), below(1000), &printed);
        buf_str(&text, "token=\"");
        buf_add(&text, printed.data, printed.len);
        buf_str(&text, "\" was said\n");
        mask_text(m, text.data, text.len, &whole);
        check_unreadable(&whole, &printed);
        feed(m, text.data, text.len, 20, &chunks);
        CHECK_STR(buf_cstr(&chunks), buf_cstr(&whole));
        feed(m, text.data, text.len, 1, &bytes);
        CHECK_STR(buf_cstr(&bytes), buf_cstr(&whole));
        mask_free(m);
    }
    buf_done(&unbroken);
}

#define PRINTER(name, odd)                                                                         \
    TEST(a_secret_##name##_is_not_readable)                                                        \
    {                                                                                              \
        check_printer(name, odd);                                                                  \
    }
PRINTER(as_it_is, true)
PRINTER(as_percents, true)
PRINTER(as_html, true)
PRINTER(as_python_bytes, true)
PRINTER(as_json, true)
PRINTER(as_base64, true)
PRINTER(as_hex, true)
PRINTER(in_colours, false)
PRINTER(folded, false)

TEST(a_text_without_the_secret_passes_as_it_is)
{
    static const char *const pieces[] = {"epoch 3/5", "\n", "\r\n    ", "\\n", "100%", "%41",
        "&amp;", "a+b", "\033[1;31m", "\033[0m", "\\\\", "\\u00e9", "\\", "&", "://",
        "http://host:80/a@b", "\"", "YWJj", "deadbeef", "\xC3\xA9", "\xE9", ":", "\033",
        "{\"a\":\"b\"}"};
    for (unsigned round = 0; round < ROUNDS; round++) {
        mask *m = mask_new();
        for (int i = 0; i < 20; i++) {
            AUTO_FREE char *secret = random_secret(true);
            mask_add(m, secret, strlen(secret));
        }
        AUTO_BUF text = {0}, out = {0};
        while (text.len < 4000)
            buf_str(&text, pieces[below(ARRAY_LEN(pieces))]);
        feed(m, text.data, text.len, 50, &out);
        CHECK_STR(buf_cstr(&out), buf_cstr(&text));
        mask_free(m);
    }
}

// Any number of colours and line breaks may stand within a secret, but not all of them may be held
// back.
TEST(what_is_held_back_is_bounded)
{
    static const char *const fillers[] = {"\033[m", "\n", "\\n ", "\\", "%25", "&amp;"};
    for (size_t i = 0; i < ARRAY_LEN(fillers); i++) {
        mask *m = mask_new();
        mask_add(m, "correct-horse-battery", 21);
        mask_stream s;
        mask_stream_init(&s, m);
        AUTO_BUF out = {0};
        mask_stream_feed(&s, "correct-", 8, &out);
        for (int k = 0; k < 2000; k++)
            mask_stream_feed(&s, fillers[i], strlen(fillers[i]), &out);
        CHECK(s.held.len < 2000);
        mask_stream_done(&s);
        mask_free(m);
    }
}

int main(void)
{
    return tap_run();
}
