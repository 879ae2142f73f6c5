// SPDX-License-Identifier: MIT
// Needles are the secrets in all their spellings: as they are, as texts escape them, in base64. At
// every place of a text the longest needle that fits is replaced; a stream holds back what may
// still become one, so chunks and the whole give the same result.
//
//   text  … p a s s w …
//           └┬┘         pairs: does any needle begin with these two bytes? Nearly always not.
//           └──┬──┘     buckets: the needles that begin with four bytes of this hash
#include "script/journal/mask.h"

#include "base/mem.h"
#include "base/str.h"

#include <ctype.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

enum { KEY = 4, BUCKET_BITS = 12 };

struct needle {
    char *bytes;
    size_t n;            // at least KEY
    struct needle *next; // of the same bucket, longest first
};

struct mask {
    pthread_mutex_t lock;
    unsigned char first[256];       // does any needle begin with it?
    unsigned char pairs[65536 / 8]; // the same of two bytes, a bit each
    struct needle *buckets[1 << BUCKET_BITS];
    atomic_bool any; // read without the lock
};

mask *mask_new(void)
{
    mask *m = mem_alloc(sizeof *m);
    pthread_mutex_init(&m->lock, NULL);
    return m;
}

void mask_free(mask *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < ARRAY_LEN(m->buckets); i++) {
        while (m->buckets[i]) {
            struct needle *n = m->buckets[i];
            m->buckets[i] = n->next;
            explicit_bzero(n->bytes, n->n);
            free(n->bytes);
            free(n);
        }
    }
    pthread_mutex_destroy(&m->lock);
    free(m);
}

static size_t bucket_of(const char *bytes)
{
    uint32_t key;
    memcpy(&key, bytes, sizeof key);
    return (uint32_t)(key * 2654435761u) >> (32 - BUCKET_BITS); // Knuth's multiplicative hash
}

static size_t pair_of(const char *bytes)
{
    return (size_t)(unsigned char)bytes[0] << 8 | (unsigned char)bytes[1];
}

static void add_needle(mask *m, const char *bytes, size_t n)
{
    struct needle **at = &m->buckets[bucket_of(bytes)];
    while (*at && (*at)->n >= n) {
        if ((*at)->n == n && !memcmp((*at)->bytes, bytes, n))
            return;
        at = &(*at)->next;
    }
    struct needle *new = mem_alloc(sizeof *new);
    *new = (struct needle){mem_dup(bytes, n), n, *at};
    *at = new;
    m->first[(unsigned char)*bytes] = true;
    m->pairs[pair_of(bytes) / 8] |= (unsigned char)(1u << pair_of(bytes) % 8);
    m->any = true;
}

// Inside a longer text, a secret shows in base64 as one of three runs of digits, by how many bytes
// modulo 3 stand before it; the digits that mix it with its neighbours are left out.
static void add_base64(mask *m, const char *secret, size_t n)
{
    for (size_t shift = 0; shift < 3; shift++) {
        AUTO_BUF plain = {0}, text = {0};
        buf_add(&plain, "\0\0", shift);
        buf_add(&plain, secret, n);
        base64_encode(&text, plain.data, plain.len);
        size_t from = (shift * 8 + 5) / 6, to = (shift + n) * 8 / 6;
        add_needle(m, text.data + from, to - from);
        for (size_t i = from; i < to; i++) {
            if (text.data[i] == '+')
                text.data[i] = '-';
            if (text.data[i] == '/')
                text.data[i] = '_';
        }
        add_needle(m, text.data + from, to - from);
    }
}

// How printers write the inside of a string: JSON as most do; Go's encoder (kubectl's annotations),
// which also keeps HTML's characters out; Python's, which keeps to ASCII; and Lua's %q, by which
// cells show tables.
enum dialect { DIALECT_JSON, DIALECT_GO, DIALECT_PYTHON, DIALECT_LUA, DIALECT_COUNT };

// Of a valid sequence of several bytes.
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

// A spelling and, where they differ, how a text spells it when it quotes it `depth` times: JSON
// within a string of JSON or YAML is twice.
static void add_spellings(mask *m, const char *s, size_t n, int depth)
{
    add_needle(m, s, n);
    add_base64(m, s, n);
    for (enum dialect d = 0; d < DIALECT_COUNT && depth > 0; d++) {
        AUTO_BUF text = {0};
        escape(d, s, n, &text);
        if (text.len != n || memcmp(text.data, s, n) != 0)
            add_spellings(m, text.data, text.len, depth - 1);
        explicit_bzero(text.data, text.len);
    }
}

static void add_value(mask *m, const char *secret, size_t n)
{
    if (n >= MASK_MIN)
        add_spellings(m, secret, n, 2);
}

void mask_add(mask *m, const char *secret, size_t n)
{
    while (n > 0 && (secret[n - 1] == '\n' || secret[n - 1] == '\r'))
        n--;
    pthread_mutex_lock(&m->lock);
    add_value(m, secret, n);
    const char *end = secret + n;
    if (memchr(secret, '\n', n)) {
        for (const char *line = secret; line < end;) {
            const char *newline = memchr(line, '\n', (size_t)(end - line));
            const char *stop = newline ? newline : end;
            size_t length = (size_t)(stop - line);
            // "-----BEGIN CERTIFICATE-----" is nobody's secret.
            if (length < 5 || memcmp(line, "-----", 5) != 0)
                add_value(m, line, length - (length > 0 && line[length - 1] == '\r'));
            line = stop + 1;
        }
    }
    pthread_mutex_unlock(&m->lock);
}

bool mask_env_name(const char *name)
{
    static const char *const parts[] = {"TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"};
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (strcasestr(name, parts[i]))
            return true;
    size_t n = strlen(name);
    return n >= 4 && strcasecmp(name + n - 4, "_KEY") == 0;
}

void mask_add_env(mask *m, const char *const *env)
{
    for (; env && *env; env++) {
        const char *equals = strchr(*env, '=');
        if (!equals)
            continue;
        AUTO_FREE char *name = mem_strndup(*env, (size_t)(equals - *env));
        if (mask_env_name(name))
            mask_add(m, equals + 1, strlen(equals + 1));
    }
}

static bool may_start(const mask *m, const char *p, size_t left)
{
    if (left < 2)
        return m->first[(unsigned char)*p];
    return m->pairs[pair_of(p) / 8] >> pair_of(p) % 8 & 1;
}

// The longest needle at p; *partial: p may be the start of a longer one that more bytes would show.
static size_t match(const mask *m, const char *p, const char *end, bool *partial)
{
    size_t left = (size_t)(end - p);
    *partial = false;
    if (left < KEY) {
        *partial = may_start(m, p, left);
        return 0;
    }
    if (!may_start(m, p, left))
        return 0;
    for (const struct needle *n = m->buckets[bucket_of(p)]; n; n = n->next) {
        if (n->n > left)
            *partial = *partial || memcmp(n->bytes, p, left) == 0;
        else if (memcmp(n->bytes, p, n->n) == 0)
            return n->n;
    }
    return 0;
}

// Appends the masked text, up to where a needle may have been cut off (the end, when `last`).
// Returns how many bytes it took.
static size_t apply(mask *m, const char *text, size_t n, bool last, buf *out, bool *found)
{
    const char *p = text, *end = text + n, *plain = text;
    while (p < end) {
        bool partial;
        size_t hit = match(m, p, end, &partial);
        if (partial && !last)
            break;
        if (hit) {
            buf_add(out, plain, (size_t)(p - plain));
            buf_str(out, MASK_TEXT);
            *found = true;
            plain = p + hit;
        }
        p += hit ? hit : 1;
    }
    buf_add(out, plain, (size_t)(p - plain));
    return (size_t)(p - text);
}

bool mask_text(mask *m, const char *text, size_t n, buf *out)
{
    bool found = false;
    pthread_mutex_lock(&m->lock);
    if (m->any)
        apply(m, text, n, true, out, &found);
    else
        buf_add(out, text, n);
    pthread_mutex_unlock(&m->lock);
    return found;
}

static bool mask_string(mask *m, char **text)
{
    AUTO_BUF out = {0};
    if (!*text || !mask_text(m, *text, strlen(*text), &out))
        return false;
    cJSON_free(*text);
    *text = cJSON_malloc(out.len + 1);
    if (!*text)
        abort();
    memcpy(*text, buf_cstr(&out), out.len + 1);
    return true;
}

bool mask_json(mask *m, cJSON *j)
{
    bool found = false;
    if (!m->any || !j)
        return false;
    if (cJSON_IsString(j))
        found = mask_string(m, &j->valuestring);
    for (cJSON *item = j->child; item; item = item->next) {
        if (item->string && !(item->type & cJSON_StringIsConst))
            found |= mask_string(m, &item->string);
        found |= mask_json(m, item);
    }
    return found;
}

void mask_stream_init(mask_stream *s, mask *m)
{
    *s = (mask_stream){.mask = m};
}

void mask_stream_done(mask_stream *s)
{
    buf_done(&s->held);
}

static void stream_apply(mask_stream *s, bool last, buf *out)
{
    bool found = false;
    pthread_mutex_lock(&s->mask->lock);
    size_t taken = apply(s->mask, buf_cstr(&s->held), s->held.len, last, out, &found);
    pthread_mutex_unlock(&s->mask->lock);
    buf_consume(&s->held, taken);
}

void mask_stream_feed(mask_stream *s, const char *bytes, size_t n, buf *out)
{
    buf_add(&s->held, bytes, n);
    stream_apply(s, false, out);
}

void mask_stream_flush(mask_stream *s, buf *out)
{
    stream_apply(s, true, out);
}
