// SPDX-License-Identifier: MIT
#include "k8s/client/watch/listing.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"

#include <string.h>

// Depths of brackets: 1 inside the list, 2 inside the array of its entries, 3 inside an entry.
enum { IN_LIST = 1, IN_ARRAY = 2, IN_ENTRY = 3 };
enum { FRAME_MAX = 4 << 20 };

struct listing {
    enum listing_form form;
    size_t most; // bytes of an entry; 0: any number
    int (*fn)(void *arg, cJSON *entry);
    void *arg;

    buf frame, entry;
    size_t head;   // bytes of the frame before the entries; 0: they have not begun
    size_t depth;  // of brackets
    size_t string; // where in the frame or entry the last string begins
    size_t skip;   // depth at which a value is left out; 0: none
    bool in_string, escaped, in_array;
};

// Keys of strings, lists and objects that no table, state or sickness is made of: they are most of
// an object's text.
static bool is_left_out(const char *key, size_t n)
{
    static const char *const keys[] = {"affinity", "annotations", "args", "command", "containerID",
        "dnsPolicy", "env", "envFrom", "fieldsV1", "hostIPs", "image", "imageID", "imagePullPolicy",
        "labels", "lifecycle", "livenessProbe", "managedFields", "ownerReferences", "podIPs",
        "ports", "preemptionPolicy", "qosClass", "readinessProbe", "schedulerName",
        "securityContext", "serviceAccount", "serviceAccountName", "startupProbe", "template",
        "terminationMessagePath", "terminationMessagePolicy", "tolerations", "volumeMounts",
        "volumes"};
    size_t low = 0, high = ARRAY_LEN(keys);
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = *key - *keys[middle];
        order = order ? order : strncmp(key, keys[middle], n);
        if (order == 0 && !keys[middle][n])
            return true;
        if (order > 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

listing *listing_new(
    enum listing_form form, size_t most, int (*fn)(void *arg, cJSON *entry), void *arg)
{
    listing *l = mem_alloc(sizeof *l);
    *l = (listing){.form = form, .most = most, .fn = fn, .arg = arg};
    return l;
}

void listing_free(listing *l)
{
    if (!l)
        return;
    buf_done(&l->frame);
    buf_done(&l->entry);
    free(l);
}

void listing_restart(listing *l)
{
    buf_clear(&l->frame);
    buf_clear(&l->entry);
    l->head = l->depth = l->string = l->skip = 0;
    l->in_string = l->escaped = l->in_array = false;
}

static buf *place(listing *l)
{
    return l->in_array ? &l->entry : &l->frame;
}

static int give(listing *l, err *e)
{
    cJSON *entry = json_parse(buf_cstr(&l->entry), l->entry.len, e);
    buf_clear(&l->entry);
    return entry ? l->fn(l->arg, entry) : -1;
}

// Most pieces are a few bytes long, and there is room for them.
static inline void put(buf *b, const char *bytes, size_t n)
{
    if (b->cap - b->len <= n) {
        buf_add(b, bytes, n);
        return;
    }
    memcpy(b->data + b->len, bytes, n);
    b->len += n;
    b->data[b->len] = '\0';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

// The last string, without its quotes, when it is followed by nothing but a colon; else NULL.
static const char *last_key(const listing *l, const buf *text, size_t *n)
{
    size_t end = text->len;
    while (end > l->string && is_blank(text->data[end - 1]))
        end--;
    if (end < l->string + 3 || text->data[end - 1] != ':')
        return NULL;
    end--;
    while (end > l->string && is_blank(text->data[end - 1]))
        end--;
    if (end < l->string + 2 || text->data[l->string] != '"' || text->data[end - 1] != '"')
        return NULL;
    *n = end - l->string - 2;
    return text->data + l->string + 1;
}

static bool begins_entries(const listing *l)
{
    size_t n = 0;
    const char *key = l->depth == IN_LIST && !l->head ? last_key(l, &l->frame, &n) : NULL;
    return key &&
           ((n == 4 && memcmp(key, "rows", 4) == 0) || (n == 5 && memcmp(key, "items", 5) == 0));
}

// A value begins: is it one that is left out? Then its key is, too.
static bool begins_skip(listing *l)
{
    size_t n = 0;
    const char *key = l->form == LISTING_SHOWN && l->in_array && l->depth > IN_ENTRY
                          ? last_key(l, &l->entry, &n)
                          : NULL;
    if (!key || !is_left_out(key, n))
        return false;
    l->entry.len = l->string;
    l->entry.data[l->entry.len] = '\0';
    l->skip = l->depth;
    return true;
}

static void add(listing *l, const char *bytes, size_t n)
{
    if (!l->skip)
        put(place(l), bytes, n);
}

static void open_bracket(listing *l, char c)
{
    if (c == '[' && begins_entries(l)) {
        buf_char(&l->frame, c);
        l->head = l->frame.len;
        l->in_array = true;
    } else if (l->skip || !begins_skip(l)) {
        add(l, &c, 1);
    }
    l->depth++;
}

// What is left out was the last of its object: the comma before it goes, too.
static void end_object_early(listing *l)
{
    size_t n = l->entry.len;
    while (n > 0 && is_blank(l->entry.data[n - 1]))
        n--;
    if (n > 0 && l->entry.data[n - 1] == ',')
        l->entry.len = n - 1;
    l->skip = 0;
}

static int close_bracket(listing *l, char c, err *e)
{
    int result = 0;
    if (l->depth > 0)
        l->depth--;
    if (l->skip && l->depth < l->skip)
        end_object_early(l);
    if (l->in_array && l->depth == IN_LIST) {
        result = l->entry.len ? give(l, e) : 0;
        l->in_array = false;
    }
    add(l, &c, 1);
    if (l->in_array && l->depth == IN_ARRAY)
        result = give(l, e);
    return result;
}

// A comma, or what is neither string nor bracket.
static int other(listing *l, char c, err *e)
{
    if (!l->in_array || l->depth != IN_ARRAY) {
        add(l, &c, 1);
    } else if (c == ',') {
        return l->entry.len ? give(l, e) : 0;
    } else if (!is_blank(c)) {
        buf_char(&l->entry, c);
    }
    return 0;
}

// The rest of a string, as far as it is there. Returns how many bytes it takes.
static size_t feed_string(listing *l, const char *bytes, size_t n)
{
    size_t i = 0;
    if (l->escaped) {
        l->escaped = false;
        i = 1;
    }
    // The quote is searched again only when it was an escaped one: each byte is looked at once.
    size_t end = i; // of the bytes before the next quote
    while (i < n) {
        if (end <= i) {
            const char *quote = memchr(bytes + i, '"', n - i);
            end = quote ? (size_t)(quote - bytes) : n;
        }
        const char *escape = memchr(bytes + i, '\\', end - i);
        i = escape ? (size_t)(escape - bytes) + 2 : end;
        if (!escape)
            break;
    }
    l->escaped = i > n; // the backslash is the last byte
    l->in_string = i >= n;
    i = i < n ? i + 1 : n;
    add(l, bytes, i);
    return i;
}

static void begin_string(listing *l)
{
    l->in_string = true;
    if (l->skip || begins_skip(l))
        return;
    l->string = place(l)->len;
    buf_char(place(l), '"');
}

// What is left out: only its brackets, strings and end count. Returns how many bytes it takes.
static size_t feed_skipped(listing *l, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        switch (bytes[i]) {
        case '"':
            l->in_string = true;
            return i + 1;
        case '[':
        case '{':
            l->depth++;
            break;
        case ']':
        case '}':
            if (l->depth == l->skip) // of the object that it is in
                return i;
            l->depth--;
            break;
        case ',':
            if (l->depth == l->skip) {
                l->skip = 0; // it goes with what it follows
                return i + 1;
            }
        }
    }
    return n;
}

static bool is_mark(char c)
{
    static const bool marks[256] = {['"'] = true,
        ['{'] = true,
        ['}'] = true,
        ['['] = true,
        [']'] = true,
        [','] = true,
        ['\0'] = true};
    return marks[(unsigned char)c];
}

// Neither in a string nor at a mark: a run of blanks, colons, numbers and names.
static size_t feed_run(listing *l, const char *bytes, size_t n, int *result, err *e)
{
    size_t run = 0;
    while (run < n && !is_mark(bytes[run]))
        run++;
    if (!l->in_array || l->depth != IN_ARRAY) {
        add(l, bytes, run);
        return run;
    }
    for (size_t i = 0; i < run && *result == 0; i++)
        *result = other(l, bytes[i], e);
    return run;
}

static size_t feed_some(listing *l, const char *bytes, size_t n, int *result, err *e)
{
    if (l->in_string)
        return feed_string(l, bytes, n);
    size_t skipped = l->skip ? feed_skipped(l, bytes, n) : 0;
    if (skipped)
        return skipped;
    switch (*bytes) {
    case '"':
        begin_string(l);
        return 1;
    case '[':
    case '{':
        open_bracket(l, *bytes);
        return 1;
    case ']':
    case '}':
        *result = close_bracket(l, *bytes, e);
        return 1;
    case ',':
    case '\0':
        *result = other(l, *bytes, e);
        return 1;
    default:
        return feed_run(l, bytes, n, result, e);
    }
}

static int check_sizes(const listing *l, err *e)
{
    if (l->most && l->entry.len > l->most)
        return err_set(e, ERR_LIMIT, "an entry is longer than %zu bytes", l->most);
    if (l->frame.len > FRAME_MAX)
        return err_set(
            e, ERR_LIMIT, "the list has more than %d bytes beside its entries", FRAME_MAX);
    return 0;
}

int listing_feed(listing *l, const char *bytes, size_t n, err *e)
{
    int result = 0;
    for (size_t i = 0; i < n && result == 0;) {
        i += feed_some(l, bytes + i, n - i, &result, e);
        if (result == 0)
            result = check_sizes(l, e);
    }
    return result;
}

cJSON *listing_head(const listing *l)
{
    AUTO_BUF text = {0};
    if (!l->head)
        return NULL;
    buf_add(&text, l->frame.data, l->head);
    buf_str(&text, "]}");
    return json_parse(text.data, text.len, NULL);
}

cJSON *listing_end(listing *l, err *e)
{
    cJSON *frame = json_parse(buf_cstr(&l->frame), l->frame.len, e);
    listing_restart(l);
    return frame;
}
