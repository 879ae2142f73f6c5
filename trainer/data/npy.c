// SPDX-License-Identifier: MIT
#include "trainer/data/npy.h"

#include "base/mem.h"
#include "base/os/path.h"
#include "trainer/data/mapped.h"
#include "trainer/tensor/stored.h"

#include <ctype.h>
#include <string.h>

static const char magic[] = "\x93NUMPY";
enum { MAGIC = 6, ALIGNMENT = 64 };

static const stored_type types[] = {{'b', 1}, {'u', 1}, {'u', 2}, {'u', 4}, {'u', 8}, {'i', 1},
    {'i', 2}, {'i', 4}, {'i', 8}, {'f', 2}, {'f', 4}, {'f', 8}};

static const struct {
    char kind;
    const char *what;
} others[] = {{'c', "complex numbers"}, {'O', "Python objects"}, {'S', "text"}, {'U', "text"},
    {'M', "dates"}, {'m', "time spans"}, {'V', "records"}};

struct header {
    stored_type type;
    bool fortran;
    int dims;
    size_t shape[TENSOR_MAX_DIMS];
    const uint8_t *data;
    size_t n; // bytes from data on
};

// The header's text: a Python dictionary, "{'descr': '<f4', 'fortran_order': False, 'shape':
// (3,)}".
struct text {
    const char *at, *end;
};

static void skip_space(struct text *t)
{
    while (t->at < t->end && isspace((unsigned char)*t->at))
        t->at++;
}

static bool take(struct text *t, char c)
{
    skip_space(t);
    bool here = t->at < t->end && *t->at == c;
    t->at += here;
    return here;
}

static bool take_word(struct text *t, const char *word)
{
    size_t n = strlen(word);
    skip_space(t);
    bool here = (size_t)(t->end - t->at) >= n && memcmp(t->at, word, n) == 0;
    t->at += here ? n : 0;
    return here;
}

// A string without escapes, in single or double quotes; false when there is none.
static bool take_string(struct text *t, char *out, size_t size)
{
    skip_space(t);
    char quote = t->at < t->end ? *t->at : 0;
    if (quote != '\'' && quote != '"')
        return false;
    const char *from = ++t->at, *to = memchr(from, quote, (size_t)(t->end - from));
    if (!to || (size_t)(to - from) >= size)
        return false;
    memcpy(out, from, (size_t)(to - from));
    out[to - from] = 0;
    t->at = to + 1;
    return true;
}

static int bad_header(err *e)
{
    return err_set(e, ERR_CORRUPT, "the header is no dictionary of descr, fortran_order and shape");
}

static int unknown_type(const char *descr, err *e)
{
    const char *kind = strchr("<>|=", *descr) && *descr ? descr + 1 : descr;
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if (others[i].kind == *kind)
            return err_set(e, ERR_INVALID, "the array holds %s (dtype %s), not numbers",
                others[i].what, descr);
    return err_set(e, ERR_INVALID, "numbers of dtype %s cannot be read", descr);
}

static int read_descr(struct text *t, struct header *h, err *e)
{
    char descr[32];
    if (!take_string(t, descr, sizeof descr)) {
        if (take(t, '['))
            return err_set(e, ERR_INVALID, "the array holds records, not numbers");
        return bad_header(e);
    }
    const char *kind = *descr && strchr("<>|=", *descr) ? descr + 1 : descr;
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (types[i].kind == kind[0] && kind[0] && kind[1] == (char)('0' + types[i].bytes) &&
            !kind[2])
            h->type = types[i];
    h->type.big = *descr == '>';
    return h->type.bytes ? 0 : unknown_type(descr, e);
}

static int read_shape(struct text *t, struct header *h, err *e)
{
    if (!take(t, '('))
        return bad_header(e);
    for (h->dims = 0; !take(t, ')');) {
        if (h->dims == TENSOR_MAX_DIMS)
            return err_set(e, ERR_LIMIT, "the array has more than %d dimensions", TENSOR_MAX_DIMS);
        size_t size = 0, digits = 0;
        for (skip_space(t); t->at < t->end && isdigit((unsigned char)*t->at); t->at++, digits++)
            if (__builtin_mul_overflow(size, 10, &size) ||
                __builtin_add_overflow(size, (size_t)(*t->at - '0'), &size))
                return err_set(e, ERR_CORRUPT, "the header's shape is too big");
        take_word(t, "L"); // Python 2
        if (!digits)
            return bad_header(e);
        h->shape[h->dims++] = size;
        if (!take(t, ',') && !(t->at < t->end && *t->at == ')'))
            return bad_header(e);
    }
    return 0;
}

static int read_dictionary(struct text *t, struct header *h, err *e)
{
    char key[32];
    unsigned seen = 0;
    if (!take(t, '{'))
        return bad_header(e);
    while (!take(t, '}')) {
        int status = 0;
        if (!take_string(t, key, sizeof key) || !take(t, ':'))
            return bad_header(e);
        if (strcmp(key, "descr") == 0) {
            seen |= 1;
            status = read_descr(t, h, e);
        } else if (strcmp(key, "fortran_order") == 0) {
            seen |= 2;
            h->fortran = take_word(t, "True");
            status = h->fortran || take_word(t, "False") ? 0 : bad_header(e);
        } else if (strcmp(key, "shape") == 0) {
            seen |= 4;
            status = read_shape(t, h, e);
        } else
            status = bad_header(e);
        if (status < 0)
            return -1;
        if (!take(t, ',') && !(t->at < t->end && *t->at == '}'))
            return bad_header(e);
    }
    return seen == 7 ? 0 : bad_header(e);
}

// Are there as many bytes as the shape needs? Too many are an error, too.
static int check_size(const struct header *h, err *e)
{
    size_t n = h->type.bytes;
    bool fits = true;
    for (int i = 0; i < h->dims; i++)
        fits = fits && !__builtin_mul_overflow(n, h->shape[i], &n);
    if (fits && n == h->n)
        return 0;
    AUTO_BUF shape = {0};
    shape_text(h->dims, h->shape, &shape);
    if (!fits || n > h->n)
        return err_set(e, ERR_CORRUPT,
            "truncated: shape %s needs more than the %zu bytes there are", buf_cstr(&shape), h->n);
    return err_set(e, ERR_CORRUPT, "there are %zu bytes after the last element", h->n - n);
}

// total: the size of the file, of which the first n bytes are there.
static int read_start(const void *bytes, size_t n, size_t total, struct header *h, err *e)
{
    const uint8_t *p = bytes;
    *h = (struct header){0};
    if (n < MAGIC + 4 || memcmp(p, magic, MAGIC) != 0)
        return err_set(e, ERR_CORRUPT, "not a .npy file: it does not start with \\x93NUMPY");
    if (p[MAGIC] < 1 || p[MAGIC] > 3)
        return err_set(e, ERR_INVALID, "a .npy file of version %d (1 to 3 are read)", p[MAGIC]);
    size_t at = p[MAGIC] == 1 ? MAGIC + 4 : MAGIC + 6, length = p[8] | (size_t)p[9] << 8;
    if (p[MAGIC] > 1 && n >= at)
        length |= (size_t)p[10] << 16 | (size_t)p[11] << 24;
    if (n < at || n - at < length)
        return err_set(e, ERR_CORRUPT, "truncated within the header");
    struct text t = {(const char *)p + at, (const char *)p + at + length};
    if (read_dictionary(&t, h, e) < 0)
        return -1;
    h->data = p + at + length;
    h->n = total - at - length;
    return check_size(h, e);
}

static int read_header(const void *bytes, size_t n, struct header *h, err *e)
{
    return read_start(bytes, n, n, h, e);
}

int npy_check(const void *bytes, size_t n, size_t total, err *e)
{
    struct header h;
    return read_start(bytes, n, total, &h, e);
}

// Where the element that is next in Fortran's order stands in C's order; index counts up.
static size_t next_fortran(const struct header *h, size_t index[TENSOR_MAX_DIMS])
{
    size_t at = 0;
    for (int d = 0; d < h->dims; d++)
        at = at * h->shape[d] + index[d];
    for (int d = 0; d < h->dims && ++index[d] == h->shape[d]; d++)
        index[d] = 0;
    return at;
}

tensor *npy_parse(const void *bytes, size_t n, err *e)
{
    struct header h;
    if (read_header(bytes, n, &h, e) < 0)
        return NULL;
    tensor *t = tensor_new(stored_as(h.type), h.dims, h.shape, e);
    size_t index[TENSOR_MAX_DIMS] = {0}, count = t ? tensor_count(t) : 0;
    bool fortran = h.fortran && h.dims > 1;
    if (t && count && stored_is_native(h.type) && !fortran) {
        memcpy(t->data, h.data, h.n);
        return t;
    }
    for (size_t i = 0; i < count; i++)
        if (stored_read(h.type, h.data, i, t, fortran ? next_fortran(&h, index) : i, e) < 0) {
            tensor_free(t);
            return NULL;
        }
    return t;
}

tensor *npy_take(void *bytes, size_t n, err *e)
{
    struct header h;
    tensor *t = NULL;
    bool as_it_is = read_header(bytes, n, &h, e) == 0 && stored_is_native(h.type) && h.n > 0 &&
                    !(h.fortran && h.dims > 1) && (uintptr_t)h.data % h.type.bytes == 0;
    if (as_it_is)
        t = tensor_over(stored_as(h.type), h.dims, h.shape, (void *)h.data, free, bytes, e);
    else
        t = npy_parse(bytes, n, e);
    if (!t || !as_it_is)
        free(bytes);
    return t;
}

tensor *npy_read(const char *path, err *e)
{
    AUTO_MAPPED file = {0};
    if (mapped_open(&file, path, e) < 0)
        return NULL;
    tensor *t = npy_parse(file.bytes, file.n, e);
    if (!t)
        err_wrap(e, "%s", path);
    return t;
}

static void unmap(void *owner)
{
    mapped_close(owner);
    free(owner);
}

static tensor *over(mapped *file, err *e)
{
    struct header h;
    if (read_header(file->bytes, file->n, &h, e) < 0)
        return NULL;
    bool aligned = (uintptr_t)h.data % h.type.bytes == 0;
    if (!stored_is_native(h.type) || (h.fortran && h.dims > 1) || !aligned) {
        err_set(e, ERR_INVALID,
            "only arrays of f4, i8, i4, i2 or u1, in C order, can be mapped: read it without mmap, "
            "or write it again as np.ascontiguousarray(a, \"f4\")");
        return NULL;
    }
    mapped *owner = mem_dup(file, sizeof *file);
    tensor *t = tensor_over(stored_as(h.type), h.dims, h.shape, (void *)h.data, unmap, owner, e);
    if (t) {
        *file = (mapped){0};
        t->mapped = true;
    } else {
        free(owner);
    }
    return t;
}

tensor *npy_map(const char *path, err *e)
{
    AUTO_MAPPED file = {0};
    if (mapped_open(&file, path, e) < 0)
        return NULL;
    tensor *t = over(&file, e);
    if (!t)
        err_wrap(e, "%s", path);
    return t;
}

static void format_header(const tensor *t, const char *descr, buf *out)
{
    AUTO_BUF dict = {0};
    buf_fmt(&dict, "{'descr': '%s', 'fortran_order': False, 'shape': ", descr);
    shape_text(t->dims, t->shape, &dict);
    buf_str(&dict, ", }");
    while ((MAGIC + 4 + dict.len + 1) % ALIGNMENT)
        buf_char(&dict, ' ');
    buf_char(&dict, '\n');
    buf_add(out, magic, MAGIC);
    buf_add(out, (char[]){1, 0, (char)(dict.len & 255), (char)(dict.len >> 8)}, 4);
    buf_add(out, dict.data, dict.len);
}

void npy_format(const tensor *t, buf *out)
{
    static const char *const descr[] = {[TENSOR_F32] = "<f4",
        [TENSOR_U8] = "|u1",
        [TENSOR_I64] = "<i8",
        [TENSOR_I32] = "<i4",
        [TENSOR_I16] = "<i2"};
    format_header(t, descr[stored_written_as(t)], out);
    stored_write(t, out);
}

int npy_write(const char *path, const tensor *t, err *e)
{
    AUTO_BUF out = {0};
    npy_format(t, &out);
    return path_update(path, out.data, out.len, 0644, e);
}
