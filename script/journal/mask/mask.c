// SPDX-License-Identifier: MIT
// A needle is a secret as it is, in base64, or in hexadecimal digits. It is compared with the text
// byte by byte. A special character in the text (mask_read.h) may begin an escape of the next byte,
// or a colour or a line break between two bytes. At every place the longest needle that fits is
// replaced. A stream holds back bytes that may become a needle, so a text in chunks gives the same
// result as the whole text.
//   text  … p a s s w …
//           └──┬──┘     filter: does any needle begin with four such bytes? Nearly always not.
//              └─────── buckets: the needles that begin with four bytes of this hash
//         … p \ u 0 0 6 1 s …
//           └┬┘         something special among the four: `whole`, the needles that begin with p
// A line may break within a needle only if at least BROKEN bytes come before the break: otherwise
// the ends of ordinary lines would be held back. After an earlier break, the rest of the needle
// begins the next line; therefore the tails of such needles are in the buckets, too.
#include "script/journal/mask/mask.h"

#include "base/json/secret.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/journal/mask/mask_read.h"
#include "script/journal/mask/mask_spell.h"

#include <ctype.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

enum {
    KEY = 4,
    FILTER_BITS = 16,
    BUCKET_BITS = 12,
    PIECE_BITS = 18,
    BROKEN = 6,         // bytes of a needle that must stand before a line break in it
    FOLDED = 16,        // for shorter values only base64 and hex forms may have line breaks
    AHEAD = 256,        // bytes searched for special characters in one go
    AMBIGUITIES = 1000, // in one search: places that fit two readings
};

struct needle {
    char *bytes; // in lower case
    size_t n;    // at least KEY
    bool breaks; // may it contain line breaks?
};

// Besides these, the first bytes of a needle are mostly letters and digits.
#define USUAL "+/-_.:=@"

// A needle, beginning at its byte `from`.
struct place {
    const struct needle *needle;
    size_t from;
    struct place *next; // longest first
};

struct mask {
    pthread_mutex_t lock;
    unsigned char filter[1 << FILTER_BITS >> 3];
    unsigned char first[256];       // does any place begin with this byte, in either case?
    unsigned char pairs[65536 / 8]; // the same for two bytes, one bit each
    unsigned char pieces[1 << PIECE_BITS >> 3]; // four bytes anywhere in a needle, by their hash
    struct place *buckets[1 << BUCKET_BITS];
    struct place *whole[256]; // needles by their first byte; these lists own them
    bool odd;                 // does any needle have unusual bytes (not letters, digits, USUAL)
                              // among its first KEY?
};

enum verdict { NO, HIT, MORE }; // MORE: the result depends on bytes that have not arrived

static uint32_t hash_of(const char *bytes)
{
    uint32_t key;
    memcpy(&key, bytes, sizeof key);
    return (key | 0x20202020u) * 2654435761u; // Knuth's; both cases of a letter hash alike
}

static bool in_filter(const mask *m, uint32_t hash)
{
    uint32_t bit = hash >> (32 - FILTER_BITS);
    return m->filter[bit / 8] >> bit % 8 & 1;
}

static void set_filter(mask *m, uint32_t hash)
{
    uint32_t bit = hash >> (32 - FILTER_BITS);
    m->filter[bit / 8] |= (unsigned char)(1u << bit % 8);
}

static bool in_pieces(const mask *m, const char *bytes)
{
    uint32_t bit = hash_of(bytes) >> (32 - PIECE_BITS);
    return m->pieces[bit / 8] >> bit % 8 & 1;
}

static void set_piece(mask *m, const char *bytes)
{
    uint32_t bit = hash_of(bytes) >> (32 - PIECE_BITS);
    m->pieces[bit / 8] |= (unsigned char)(1u << bit % 8);
}

static size_t pair_of(unsigned char a, unsigned char b)
{
    return (size_t)a << 8 | b;
}

static void set_pairs(mask *m, const char *bytes)
{
    unsigned char a = (unsigned char)bytes[0], b = (unsigned char)bytes[1];
    const unsigned char as[] = {a, (unsigned char)toupper(a)},
                        bs[] = {b, (unsigned char)toupper(b)};
    for (size_t i = 0; i < 4; i++) {
        size_t pair = pair_of(as[i / 2], bs[i % 2]);
        m->pairs[pair / 8] |= (unsigned char)(1u << pair % 8);
        m->first[as[i / 2]] = true;
    }
}

// The password of a URL is searched for wherever "://" stands.
static void set_url(mask *m)
{
    for (int c = 0; c < 256; c++)
        set_filter(m, hash_of((char[KEY]){':', '/', '/', (char)c}));
    set_pairs(m, "://");
}

// Parts of needles are searched for after each mark of a cut.
static void set_marks(mask *m)
{
    for (int c = 0; c < 256; c++) {
        set_filter(m, hash_of((char[KEY]){STR_CUT[0], STR_CUT[1], STR_CUT[2], (char)c}));
        set_filter(m, hash_of((char[KEY]){'.', '.', '.', (char)c}));
    }
}

mask *mask_new(void)
{
    mask *m = mem_alloc(sizeof *m);
    pthread_mutex_init(&m->lock, NULL);
    set_url(m);
    set_marks(m);
    return m;
}

static void free_places(struct place **list, bool own_needles)
{
    while (*list) {
        struct place *one = *list;
        *list = one->next;
        if (own_needles) {
            explicit_bzero(one->needle->bytes, one->needle->n);
            free(one->needle->bytes);
            free((void *)one->needle);
        }
        free(one);
    }
}

void mask_free(mask *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < ARRAY_LEN(m->buckets); i++)
        free_places(&m->buckets[i], false);
    for (size_t i = 0; i < ARRAY_LEN(m->whole); i++)
        free_places(&m->whole[i], true);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

static void insert(struct place **at, const struct needle *needle, size_t from)
{
    while (*at && (*at)->needle->n - (*at)->from >= needle->n - from)
        at = &(*at)->next;
    struct place *new = mem_alloc(sizeof *new);
    *new = (struct place){needle, from, *at};
    *at = new;
}

static const struct needle *find_needle(const mask *m, const char *bytes, size_t n)
{
    for (const struct place *p = m->whole[(unsigned char)*bytes]; p; p = p->next)
        if (p->needle->n == n && memcmp(p->needle->bytes, bytes, n) == 0)
            return p->needle;
    return NULL;
}

static void add_needle(mask *m, const char *bytes, size_t n, bool breaks, bool tails)
{
    struct needle *needle = mem_alloc(sizeof *needle);
    *needle = (struct needle){mem_dup(bytes, n), n, breaks};
    for (size_t i = 0; i < n; i++)
        needle->bytes[i] = (char)mask_small(bytes[i]);
    if (find_needle(m, needle->bytes, n)) {
        explicit_bzero(needle->bytes, n);
        free(needle->bytes);
        free(needle);
        return;
    }
    insert(&m->whole[(unsigned char)*needle->bytes], needle, 0);
    for (size_t i = 0; i < KEY; i++)
        m->odd |= !isalnum((unsigned char)bytes[i]) && (!bytes[i] || !strchr(USUAL, bytes[i]));
    for (size_t from = 0; from + KEY <= n; from++)
        set_piece(m, needle->bytes + from);
    for (size_t from = 0; from == 0 || (tails && from < BROKEN && n - from >= MASK_MIN); from++) {
        uint32_t hash = hash_of(needle->bytes + from);
        insert(&m->buckets[hash >> (32 - BUCKET_BITS)], needle, from);
        set_filter(m, hash);
        set_pairs(m, needle->bytes + from);
    }
}

static void add_digits(void *arg, const char *digits, size_t n)
{
    add_needle(arg, digits, n, true, true);
}

// Also registers the secret as outputs show it: as valid UTF-8 (errors, journals), with blanks for
// line breaks (tables), and with ' written as '\'' (shells).
static void add_shown(mask *m, const char *secret, size_t n)
{
    AUTO_BUF clean = {0}, flat = {0}, quoted = {0};
    utf8_clean(&clean, secret, n);
    for (size_t i = 0; i < clean.len;) {
        size_t blanks = 0;
        while (i + blanks < clean.len && isspace((unsigned char)clean.data[i + blanks]))
            blanks++;
        bool lines = blanks &&
                     (memchr(clean.data + i, '\n', blanks) || memchr(clean.data + i, '\r', blanks));
        if (lines)
            buf_char(&flat, ' ');
        else
            buf_add(&flat, clean.data + i, blanks ? blanks : 1);
        i += blanks ? blanks : 1;
    }
    for (const char *p = memchr(clean.data, '\'', clean.len) ? clean.data : ""; *p; p++)
        buf_str(&quoted, *p == '\'' ? "'\\''" : (char[]){*p, '\0'});
    add_needle(m, clean.data, clean.len, clean.len >= FOLDED, false);
    if (quoted.len)
        add_needle(m, quoted.data, quoted.len, quoted.len >= FOLDED, false);
    if (flat.len >= MASK_MIN)
        add_needle(m, flat.data, flat.len, flat.len >= FOLDED, false);
    explicit_bzero(clean.data, clean.len);
    explicit_bzero(flat.data, flat.len);
    explicit_bzero(quoted.data, quoted.len);
}

static void add_value(mask *m, const char *secret, size_t n)
{
    if (n < MASK_MIN)
        return;
    add_needle(m, secret, n, n >= FOLDED, n >= FOLDED);
    add_shown(m, secret, n);
    mask_spellings(secret, n, add_digits, m);
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
            // "-----BEGIN CERTIFICATE-----" is no secret.
            if (length < 5 || memcmp(line, "-----", 5) != 0)
                add_value(m, line, length - (length > 0 && line[length - 1] == '\r'));
            line = stop + 1;
        }
    }
    pthread_mutex_unlock(&m->lock);
}

void mask_add_url(mask *m, const char *url)
{
    AUTO_FREE char *password = secret_of_url(url);
    if (password)
        mask_add(m, password, strlen(password));
}

void mask_add_named(mask *m, const char *name, const char *value)
{
    if (secret_name(name))
        mask_add(m, value, strlen(value));
    mask_add_url(m, value);
}

void mask_add_env(mask *m, const char *const *env)
{
    for (; env && *env; env++) {
        const char *equals = strchr(*env, '=');
        if (!equals)
            continue;
        AUTO_FREE char *name = mem_strndup(*env, (size_t)(equals - *env));
        mask_add_named(m, name, equals + 1);
    }
}

// The text that is searched.
struct scan {
    mask *mask;
    const char *p, *end;
    const char *from;    // the text before it was output already, but a mark of a cut may begin
                         // there
    const char *special; // the first special byte from p on, or a byte far enough away
    bool last;           // no more text will come
    const char *hidden;  // the end of the last find; NULL: none yet
};

// The comparison of a needle with it.
struct search {
    const struct scan *scan;
    const struct needle *needle;
    size_t from;
    const char *stop; // the end of the needle in the text
    int ambiguities;
};

static enum verdict cut_off(const struct scan *s)
{
    return s->last ? NO : MORE;
}

static bool fits(const struct search *s, size_t at, size_t gap, const struct mask_reading *r)
{
    const struct needle *n = s->needle;
    if (r->open && s->scan->last)
        return false;
    if (r->kind == READING_BYTES)
        return r->open || (r->n <= n->n - at && memcmp(n->bytes + at, r->bytes, r->n) == 0);
    if (at == s->from || gap + r->taken > MASK_GAP)
        return false;
    return r->kind == READING_COLOUR || (n->breaks && at - s->from >= BROKEN);
}

static size_t fitting(
    const struct search *s, size_t at, const char *p, size_t gap, struct mask_reading *list)
{
    size_t n = mask_readings(p, s->scan->end, list), kept = 0;
    for (size_t i = 0; i < n; i++)
        if (fits(s, at, gap, &list[i]))
            list[kept++] = list[i];
    return kept;
}

// The needle's bytes from `from` up to `at` stand before p; the next one does not follow there.
// They are a part of it if the text was cut there.
static enum verdict cut_here(struct search *s, size_t at, const char *p)
{
    if (at - s->from < MASK_CUT)
        return NO;
    struct mask_mark m = mask_mark_behind(p, s->scan->end);
    s->stop = p;
    if (m.least)
        return at - s->from >= m.least ? HIT : NO;
    return m.open ? cut_off(s->scan) : NO;
}

// Does the text at p continue with the needle's byte `at`? The `gap` bytes before p mean nothing.
static enum verdict follow(struct search *s, size_t at, const char *p, size_t gap)
{
    while (at < s->needle->n) {
        if (p == s->scan->end)
            return cut_off(s->scan);
        if (!mask_is_special(*p)) {
            if (mask_small(*p) != (unsigned char)s->needle->bytes[at])
                return cut_here(s, at, p - gap);
            p++;
            at++;
            gap = 0;
            continue;
        }
        struct mask_reading list[MASK_READINGS], *last;
        size_t n = fitting(s, at, p, gap, list);
        for (last = list; n > 1; last++, n--) {
            if (last->open || s->ambiguities-- <= 0)
                return last->open ? MORE : NO;
            enum verdict v =
                follow(s, at + last->n, p + last->taken, last->n ? 0 : gap + last->taken);
            if (v != NO)
                return v;
        }
        if (n == 0)
            return cut_here(s, at, p - gap);
        if (last->open)
            return MORE;
        at += last->n;
        p += last->taken;
        gap = last->n ? 0 : gap + last->taken;
    }
    s->stop = p;
    return HIT;
}

// The first, and so longest, needle of the list that fits at the scan's place.
static enum verdict search_list(const struct scan *s, const struct place *list, const char **stop)
{
    bool plain = s->special - s->p > 1;
    for (; list; list = list->next) {
        const struct needle *n = list->needle;
        if (plain && mask_small(s->p[1]) != (unsigned char)n->bytes[list->from + 1])
            continue;
        struct search one = {s, n, list->from, NULL, AMBIGUITIES};
        enum verdict v = follow(&one, list->from, s->p, 0);
        *stop = one.stop;
        if (v != NO)
            return v;
    }
    return NO;
}

// The bytes of a value that may begin at p, where something special may stand; false: it depends on
// more text.
static bool first_bytes(const struct scan *s, const char *p, bool first[256])
{
    struct mask_reading list[MASK_READINGS] = {{.bytes = {mask_small(*p)}, .n = 1}};
    size_t n = mask_is_special(*p) ? mask_readings(p, s->end, list) : 1;
    for (size_t i = 0; i < n; i++) {
        if (list[i].open && !s->last)
            return false;
        if (!list[i].open && list[i].kind == READING_BYTES)
            first[list[i].bytes[0]] = true;
    }
    return true;
}

// The part of this needle that begins at p and ends with the needle, or where the text was cut.
static enum verdict search_part_of(const struct scan *s, const struct needle *n, const char *p,
    const bool first[256], size_t least, const char **stop)
{
    enum verdict v = NO;
    for (size_t from = 1; v == NO && from + least <= n->n; from++) {
        if (!first[(unsigned char)n->bytes[from]])
            continue;
        struct search one = {s, n, from, NULL, AMBIGUITIES};
        v = follow(&one, from, p, 0);
        *stop = one.stop;
    }
    return v;
}

static enum verdict search_part(
    const struct scan *s, const char *p, size_t least, const char **stop)
{
    bool first[256] = {false}, plain = s->end - p >= KEY;
    for (int i = 0; plain && i < KEY; i++)
        plain = !mask_is_special(p[i]);
    if (p == s->end || (plain && !in_pieces(s->mask, p)))
        return NO;
    if (!first_bytes(s, p, first))
        return MORE;
    enum verdict v = NO;
    for (size_t c = 0; v == NO && c < ARRAY_LEN(s->mask->whole); c++)
        for (const struct place *list = s->mask->whole[c]; v == NO && list; list = list->next)
            v = search_part_of(s, list->needle, p, first, least, stop);
    return v;
}

// Is there a mark of a cut at the scan's place, and a part of a needle after it? *part: where the
// part begins.
static enum verdict search_mark(const struct scan *s, const char **part, const char **stop)
{
    struct mask_mark m = mask_mark_at(s->p, s->end);
    *part = m.end;
    return m.least && m.end >= s->from ? search_part(s, m.end, m.least, stop) : NO;
}

// Can no special character among the first bytes belong to a needle? Most escapes in a text are
// line breaks and quotes, with which few secrets begin.
static bool is_idle(const struct scan *s)
{
    const char *at = s->special, *next = *at == '\\' ? mask_backslashes(at, s->end) : at + 1;
    if (s->mask->odd)
        return false;
    if (*at == '\\')
        return next < s->end && (!*next || !strchr(USUAL "eEuUx0123456789", *next));
    if (*at == '&')
        return next < s->end && *next != '#' && *next != 'a';
    return *at == '\n' || *at == '\r' || (*at == '\033' && at == s->p);
}

// The first byte is something special.
static enum verdict search_readings(const struct scan *s, const char **stop)
{
    struct mask_reading list[MASK_READINGS];
    unsigned char seen[MASK_READINGS];
    size_t n = mask_readings(s->p, s->end, list);
    for (size_t i = 0, k = 0; i < n; i++) {
        if (list[i].open && s->last)
            continue;
        if (list[i].kind != READING_BYTES || memchr(seen, list[i].bytes[0], k))
            continue;
        if (list[i].open)
            return MORE;
        seen[k++] = list[i].bytes[0];
        enum verdict v = search_list(s, s->mask->whole[list[i].bytes[0]], stop);
        if (v != NO)
            return v;
    }
    return NO;
}

static bool may_start(const mask *m, const char *p, size_t left)
{
    if (left < 2)
        return m->first[(unsigned char)*p];
    size_t pair = pair_of((unsigned char)p[0], (unsigned char)p[1]);
    return m->pairs[pair / 8] >> pair % 8 & 1;
}

static enum verdict search_at(const struct scan *s, const char **stop)
{
    size_t left = (size_t)(s->end - s->p), plain = (size_t)(s->special - s->p);
    if (plain >= KEY)
        return search_list(s, s->mask->buckets[hash_of(s->p) >> (32 - BUCKET_BITS)], stop);
    if (plain < left && is_idle(s))
        return NO;
    if (plain == 0)
        return search_readings(s, stop);
    if ((plain > 1 || left == 1) && !may_start(s->mask, s->p, left))
        return NO;
    return plain < left ? search_list(s, s->mask->whole[mask_small(*s->p)], stop) : cut_off(s);
}

// Advances to the next place at which a needle may begin.
static void go_on(struct scan *s)
{
    for (;;) {
        if (s->special < s->p)
            s->special = s->p;
        while (s->special < s->end && s->special - s->p < AHEAD && !mask_is_special(*s->special))
            s->special++;
        while (s->special - s->p >= KEY && !in_filter(s->mask, hash_of(s->p)))
            s->p++;
        if (s->special == s->end || mask_is_special(*s->special) || s->special - s->p >= KEY)
            return;
    }
}

static void apply(struct scan *s, buf *out);

// Replaces the password of a URL at p; *stop is its end.
static enum verdict mask_url(const struct scan *s, buf *out, const char **stop)
{
    const char *password;
    enum secret_url url = secret_in_url(s->p, s->end, &password, stop);
    if (url != SECRET_FOUND)
        return url == SECRET_CUT ? cut_off(s) : NO;
    struct scan user = {s->mask, s->p, password, s->p, s->p, true, NULL};
    apply(&user, out);
    buf_str(out, MASK_TEXT);
    return HIT;
}

// Finds what to replace at the scan's place: from *at up to *stop. url: the replacement for a URL's
// password.
static enum verdict search(const struct scan *s, buf *url, const char **at, const char **stop)
{
    enum verdict v = search_mark(s, at, stop);
    if (v != NO)
        return v;
    *at = s->p;
    if (s->p < s->from)
        return NO;
    if (*s->p == ':')
        v = mask_url(s, url, stop);
    return v == NO ? search_at(s, stop) : v;
}

// Appends the masked text up to the place where a needle may have been cut off (with `last`: to the
// end), and moves the scan there. out NULL: only searches, up to the first find.
static void apply(struct scan *s, buf *out)
{
    const char *plain = s->from, *stop, *at;
    AUTO_BUF url = {0};
    for (go_on(s); s->p < s->end; s->p = stop, go_on(s)) {
        enum verdict v = search(s, &url, &at, &stop);
        if (v == NO)
            stop = s->p + 1;
        if (v == MORE)
            s->p = at;
        if (v == MORE)
            break;
        if (v == NO)
            continue;
        s->hidden = stop;
        if (!out)
            return;
        buf_add(out, plain, (size_t)(at - plain));
        buf_add(out, url.data, url.len);
        buf_str(out, url.len ? "" : MASK_TEXT);
        buf_clear(&url);
        plain = stop;
    }
    if (out && s->p > plain)
        buf_add(out, plain, (size_t)(s->p - plain));
}

// Appends the whole text, masked; true if there was a secret. Call it with the lock held.
static bool apply_whole(mask *m, const char *text, size_t n, buf *out)
{
    struct scan s = {m, text, text + n, text, text, true, NULL};
    apply(&s, out);
    return s.hidden;
}

bool mask_text(mask *m, const char *text, size_t n, buf *out)
{
    pthread_mutex_lock(&m->lock);
    bool found = apply_whole(m, text, n, out);
    pthread_mutex_unlock(&m->lock);
    return found;
}

// With the lock, as the next.
static bool mask_string(mask *m, char **text)
{
    AUTO_BUF out = {0};
    size_t n = *text ? strlen(*text) : 0;
    if (n < MASK_MIN || !apply_whole(m, *text, n, NULL))
        return false;
    apply_whole(m, *text, n, &out);
    cJSON_free(*text);
    *text = cJSON_malloc(out.len + 1);
    if (!*text)
        mem_out(out.len + 1);
    memcpy(*text, buf_cstr(&out), out.len + 1);
    return true;
}

static bool mask_tree(mask *m, cJSON *j)
{
    bool found = cJSON_IsString(j) && mask_string(m, &j->valuestring);
    for (cJSON *item = j->child; item; item = item->next) {
        if (item->string && !(item->type & cJSON_StringIsConst))
            found |= mask_string(m, &item->string);
        found |= mask_tree(m, item);
    }
    return found;
}

bool mask_json(mask *m, cJSON *j)
{
    pthread_mutex_lock(&m->lock);
    bool found = j && mask_tree(m, j);
    pthread_mutex_unlock(&m->lock);
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

// Text that was output last stays in `held`, since a mark of a cut may begin there.
static void stream_apply(mask_stream *s, bool last, buf *out)
{
    const char *text = buf_cstr(&s->held);
    struct scan scan = {s->mask, text, text + s->held.len, text + s->passed, text, last, NULL};
    pthread_mutex_lock(&s->mask->lock);
    apply(&scan, out);
    pthread_mutex_unlock(&s->mask->lock);
    size_t taken = (size_t)(scan.p - text), known = scan.hidden ? (size_t)(scan.hidden - text) : 0;
    s->passed = taken - known < MASK_CONTEXT ? taken - known : MASK_CONTEXT;
    buf_consume(&s->held, taken - s->passed);
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
