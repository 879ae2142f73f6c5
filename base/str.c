// SPDX-License-Identifier: MIT
#include "base/str.h"

#include "base/mem.h"

#include <ctype.h>
#include <errno.h>
#include <nettle/base64.h>
#include <string.h>

bool str_starts(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool str_ends(const char *s, const char *suffix)
{
    size_t n = strlen(s), m = strlen(suffix);
    return n >= m && memcmp(s + n - m, suffix, m) == 0;
}

char *str_fmt(const char *fmt, ...)
{
    buf b = {0};
    va_list args;
    va_start(args, fmt);
    buf_vfmt(&b, fmt, args);
    va_end(args);
    return buf_take(&b);
}

char *str_trim(const char *s, size_t n)
{
    while (n && isspace((unsigned char)*s)) {
        s++;
        n--;
    }
    while (n && isspace((unsigned char)s[n - 1]))
        n--;
    return mem_strndup(s, n);
}

void str_shorten(char *out, const char *s, size_t n, bool more, size_t most, size_t whole)
{
    size_t at = 0, cut = 0, i = 0;
    while (i < n) {
        size_t length = utf8_len(s + i, n - i);
        const char *from = length ? s + i : UTF8_REPLACEMENT;
        size_t size = length ? length : strlen(UTF8_REPLACEMENT);
        if (at + size > whole)
            break;
        memcpy(out + at, from, size);
        at += size;
        i += length ? length : 1;
        cut = at <= most ? at : cut;
    }
    if (i < n || more)
        memcpy(out + cut, STR_CUT, sizeof STR_CUT);
    else
        out[at] = '\0';
}

static struct str_short shortened(const char *s, size_t n, size_t most)
{
    struct str_short out;
    most = most < STR_SHORT ? most : STR_SHORT;
    str_shorten(out.text, s, n, s[n] != '\0', most, most);
    return out;
}

struct str_short str_short(const char *s, size_t most)
{
    return shortened(s, strlen(s), most);
}

struct str_short str_short_line(const char *s, size_t most)
{
    return shortened(s, strcspn(s, "\r\n"), most);
}

void str_fit(char *out, size_t size, const char *s)
{
    str_shorten(out, s, strlen(s), false, size - sizeof STR_CUT, size - 1);
}

char *str_last(const char *s, size_t n, size_t most)
{
    size_t from = n > most ? n - most : 0;
    while (from && from < n && ((unsigned char)s[from] & 0xC0) == 0x80)
        from++;
    return str_fmt("%s%.*s", from ? STR_CUT : "", (int)(n - from), s + from);
}

bool str_to_int(const char *s, int64_t *value)
{
    if (*s != '-' && !isdigit((unsigned char)*s))
        return false;
    char *end;
    errno = 0;
    long long v = strtoll(s, &end, 10);
    if (errno || end == s || *end)
        return false;
    *value = v;
    return true;
}

// The length that a first byte announces, 0 when it cannot start a sequence.
static size_t utf8_announced(unsigned char c)
{
    if (c < 0x80)
        return 1;
    if (c >= 0xc2 && c <= 0xdf)
        return 2;
    if (c >= 0xe0 && c <= 0xef)
        return 3;
    return c >= 0xf0 && c <= 0xf4 ? 4 : 0;
}

// Is byte i (1…3) of a sequence possible after this first byte? See the table of RFC 3629.
static bool utf8_continues(unsigned char first, size_t i, unsigned char c)
{
    unsigned char low = 0x80, high = 0xbf;
    if (i == 1 && first == 0xe0)
        low = 0xa0;
    else if (i == 1 && first == 0xed)
        high = 0x9f;
    else if (i == 1 && first == 0xf0)
        low = 0x90;
    else if (i == 1 && first == 0xf4)
        high = 0x8f;
    return c >= low && c <= high;
}

size_t utf8_len(const char *s, size_t n)
{
    const unsigned char *u = (const unsigned char *)s;
    size_t len = n ? utf8_announced(u[0]) : 0;
    if (len > n)
        return 0;
    for (size_t i = 1; i < len; i++)
        if (!utf8_continues(u[0], i, u[i]))
            return 0;
    return len;
}

bool utf8_valid(const char *s, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t len = utf8_len(s + i, n - i);
        if (!len)
            return false;
        i += len;
    }
    return true;
}

size_t utf8_partial(const char *s, size_t n)
{
    const unsigned char *u = (const unsigned char *)s;
    for (size_t k = 1; k <= 3 && k <= n; k++) {
        unsigned char first = u[n - k];
        if (first >= 0x80 && first < 0xc0)
            continue;
        if (utf8_announced(first) <= k)
            return 0;
        for (size_t i = 1; i < k; i++)
            if (!utf8_continues(first, i, u[n - k + i]))
                return 0;
        return k;
    }
    return 0;
}

void utf8_clean(buf *out, const char *s, size_t n)
{
    size_t from = 0;
    if (!n)
        return; // s may be NULL
    for (size_t i = 0; i < n;) {
        size_t len = s[i] > 0 ? 1 : utf8_len(s + i, n - i); // ASCII without a call
        if (len && s[i]) {
            i += len;
            continue;
        }
        buf_add(out, s + from, i - from);
        buf_str(out, UTF8_REPLACEMENT);
        from = ++i;
    }
    buf_add(out, s + from, n - from);
}

void base64_encode(buf *out, const void *bytes, size_t n)
{
    size_t length = BASE64_ENCODE_RAW_LENGTH(n);
    buf_reserve(out, length);
    nettle_base64_encode_raw(out->data + out->len, n, bytes);
    out->len += length;
    out->data[out->len] = '\0';
}

int base64_decode(buf *out, const char *text, size_t n, err *e)
{
    struct base64_decode_ctx state;
    nettle_base64_decode_init(&state);
    buf_reserve(out, BASE64_DECODE_LENGTH(n));
    for (size_t i = 0; i < n; i++) {
        uint8_t byte;
        int got = nettle_base64_decode_single(&state, &byte, text[i]);
        if (got < 0)
            return err_set(
                e, ERR_INVALID, "not base64: byte %zu is 0x%02x", i + 1, (unsigned char)text[i]);
        if (got)
            buf_add(out, &byte, 1);
    }
    if (!nettle_base64_decode_final(&state))
        return err_set(e, ERR_INVALID, "not base64: it is cut off, or wrongly padded");
    return 0;
}

void hex_encode(buf *out, const void *bytes, size_t n)
{
    const unsigned char *u = bytes;
    buf_reserve(out, 2 * n);
    for (size_t i = 0; i < n; i++)
        buf_fmt(out, "%02x", u[i]);
}

size_t strv_len(char *const *strings)
{
    size_t n = 0;
    while (strings && strings[n])
        n++;
    return n;
}

char **strv_add(char **strings, const char *s)
{
    size_t n = strv_len(strings);
    strings = mem_resize(strings, n + 2, sizeof *strings);
    strings[n] = mem_strdup(s);
    strings[n + 1] = NULL;
    return strings;
}

char **strv_split(const char *s, char separator)
{
    char **out = mem_array(1, sizeof *out);
    for (;;) {
        const char *end = strchr(s, separator);
        AUTO_FREE char *part = mem_strndup(s, end ? (size_t)(end - s) : strlen(s));
        out = strv_add(out, part);
        if (!end)
            return out;
        s = end + 1;
    }
}

char **strv_dup(const char *const *strings)
{
    size_t n = strv_len((char *const *)strings);
    char **out = mem_array(n + 1, sizeof *out);
    for (size_t i = 0; i < n; i++)
        out[i] = mem_strdup(strings[i]);
    return out;
}

void strv_free(char **strings)
{
    for (size_t i = 0; strings && strings[i]; i++)
        free(strings[i]);
    free(strings);
}

int str_index(const char *const *names, size_t n, const char *what, const char *text, err *e)
{
    AUTO_BUF known = {0};
    for (size_t i = 0; i < n; i++) {
        if (str_eq(names[i], text))
            return (int)i;
        buf_fmt(&known, "%s%s", i ? ", " : "", names[i]);
    }
    return err_set(e, ERR_USAGE, "unknown %s \"%s\" (known: %s)", what, text, buf_cstr(&known));
}

static bool same_letter(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static size_t less(size_t a, size_t b)
{
    return a < b ? a : b;
}

// One cell of the distance table: the cost to turn the first i + 1 letters of a into the first j +
// 1 of b. The rows are those for i - 1, i and i + 1 letters of a.
static size_t cheapest(const char *a, const char *b, size_t i, size_t j, size_t *const rows[3])
{
    size_t wrong = rows[1][j] + !same_letter(a[i], b[j]);
    size_t best = less(wrong, less(rows[1][j + 1] + 1, rows[2][j] + 1));
    bool swapped = i && j && same_letter(a[i], b[j - 1]) && same_letter(a[i - 1], b[j]);
    return swapped ? less(best, rows[0][j - 1] + 1) : best;
}

size_t str_distance(const char *a, const char *b)
{
    enum { MOST = 100 };
    size_t n = strnlen(a, MOST), m = strnlen(b, MOST);
    size_t space[3][MOST + 1] = {0};
    for (size_t j = 0; j <= m; j++)
        space[0][j] = j;
    for (size_t i = 0; i < n; i++) {
        size_t *const rows[] = {space[(i + 2) % 3], space[i % 3], space[(i + 1) % 3]};
        rows[2][0] = i + 1;
        for (size_t j = 0; j < m; j++)
            rows[2][j + 1] = cheapest(a, b, i, j, rows);
    }
    return space[n % 3][m];
}

size_t str_slips(const char *word)
{
    return (strlen(word) + 1) / 3;
}

const char *str_nearest(const char *word, const char *const *names)
{
    size_t least = str_slips(word) + 1;
    const char *best = NULL;
    for (; *names; names++) {
        size_t distance = str_distance(word, *names);
        if (distance < least)
            least = distance, best = *names;
    }
    return best;
}
