// SPDX-License-Identifier: MIT
#include "trainer/data/npy.h"

#include "base/mem.h"
#include "base/path.h"
#include "trainer/data/mapped.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

static const char magic[] = "\x93NUMPY";
enum { MAGIC = 6, ALIGNMENT = 64 };

//  X(kind, bytes, tensor type)
#define NPY_TYPES(X)                                                                               \
    X('b', 1, TENSOR_U8)                                                                           \
    X('u', 1, TENSOR_U8)                                                                           \
    X('u', 2, TENSOR_I64)                                                                          \
    X('u', 4, TENSOR_I64)                                                                          \
    X('u', 8, TENSOR_I64)                                                                          \
    X('i', 1, TENSOR_I64)                                                                          \
    X('i', 2, TENSOR_I64)                                                                          \
    X('i', 4, TENSOR_I64)                                                                          \
    X('i', 8, TENSOR_I64)                                                                          \
    X('f', 2, TENSOR_F32)                                                                          \
    X('f', 4, TENSOR_F32)                                                                          \
    X('f', 8, TENSOR_F32)

struct npy_type {
    char kind;
    size_t bytes;
    tensor_type type;
};

static const struct npy_type types[] = {
#define X(kind, bytes, type) {kind, bytes, type},
    NPY_TYPES(X)
#undef X
};

static const struct {
    char kind;
    const char *what;
} others[] = {{'c', "complex numbers"}, {'O', "Python objects"}, {'S', "text"}, {'U', "text"},
    {'M', "dates"}, {'m', "time spans"}, {'V', "records"}};

struct header {
    const struct npy_type *type;
    bool big, fortran;
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
            h->type = &types[i];
    h->big = *descr == '>';
    return h->type ? 0 : unknown_type(descr, e);
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

// Are there as many bytes as the shape needs? More of them are an error, too.
static int check_size(const struct header *h, err *e)
{
    size_t n = h->type->bytes;
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

static int read_header(const void *bytes, size_t n, struct header *h, err *e)
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
    h->n = n - at - length;
    return check_size(h, e);
}

static uint64_t bits_at(const struct header *h, size_t i)
{
    const uint8_t *p = h->data + i * h->type->bytes;
    uint64_t bits = 0;
    for (size_t k = 0; k < h->type->bytes; k++)
        bits = bits << 8 | p[h->big ? k : h->type->bytes - 1 - k];
    return bits;
}

static float half(uint16_t bits)
{
    int exponent = bits >> 10 & 31;
    float fraction = (float)(bits & 1023) / 1024, sign = bits >> 15 ? -1 : 1;
    if (exponent == 31)
        return fraction != 0 ? (float)NAN : sign * (float)INFINITY;
    if (exponent == 0)
        return sign * ldexpf(fraction, -14);
    return sign * ldexpf(1 + fraction, exponent - 15);
}

static float real_at(const struct header *h, size_t i)
{
    uint64_t bits = bits_at(h, i);
    uint32_t low = (uint32_t)bits;
    float single;
    double wide;
    if (h->type->bytes == 2)
        return half((uint16_t)bits);
    if (h->type->bytes == 8) {
        memcpy(&wide, &bits, sizeof wide);
        return (float)wide;
    }
    memcpy(&single, &low, sizeof single);
    return single;
}

static int64_t integer_at(const struct header *h, size_t i)
{
    unsigned unused = 64 - 8 * (unsigned)h->type->bytes;
    uint64_t bits = bits_at(h, i);
    return h->type->kind == 'i' ? (int64_t)(bits << unused) >> unused : (int64_t)bits;
}

static int put(tensor *t, size_t to, const struct header *h, size_t from, err *e)
{
    if (t->type == TENSOR_F32)
        ((float *)t->data)[to] = real_at(h, from);
    else if (t->type == TENSOR_U8)
        ((uint8_t *)t->data)[to] = h->type->kind == 'b' ? h->data[from] != 0 : h->data[from];
    else if ((((int64_t *)t->data)[to] = integer_at(h, from)) < 0 && h->type->kind == 'u')
        return err_set(e, ERR_LIMIT, "element %zu is greater than 2^63 - 1", from);
    return 0;
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

static bool is_native(const struct header *h)
{
    bool same_type = h->type->kind != 'b' && !(h->type->kind == 'u' && h->type->bytes > 1);
    bool same_order = h->big == (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) || h->type->bytes == 1;
    return h->type->bytes == tensor_type_size(h->type->type) && same_type && same_order;
}

tensor *npy_parse(const void *bytes, size_t n, err *e)
{
    struct header h;
    if (read_header(bytes, n, &h, e) < 0)
        return NULL;
    tensor *t = tensor_new(h.type->type, h.dims, h.shape, e);
    size_t index[TENSOR_MAX_DIMS] = {0}, count = t ? tensor_count(t) : 0;
    bool fortran = h.fortran && h.dims > 1;
    if (t && count && is_native(&h) && !fortran) {
        memcpy(t->data, h.data, h.n);
        return t;
    }
    for (size_t i = 0; i < count; i++)
        if (put(t, fortran ? next_fortran(&h, index) : i, &h, i, e) < 0) {
            tensor_free(t);
            return NULL;
        }
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
    bool aligned = (uintptr_t)h.data % h.type->bytes == 0;
    if (!is_native(&h) || (h.fortran && h.dims > 1) || !aligned) {
        err_set(e, ERR_INVALID,
            "only arrays of f4, i8 or u1, in C order, can be mapped: read it without mmap, or "
            "write "
            "it again as np.ascontiguousarray(a, \"f4\")");
        return NULL;
    }
    mapped *owner = mem_dup(file, sizeof *file);
    tensor *t = tensor_over(h.type->type, h.dims, h.shape, (void *)h.data, unmap, owner, e);
    if (t)
        *file = (mapped){0};
    else
        free(owner);
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
    static const char *const descr[] = {
        [TENSOR_F32] = "<f4", [TENSOR_U8] = "|u1", [TENSOR_I64] = "<i8"};
    bool scaled = t->type == TENSOR_U8 && t->scale != 1;
    size_t width = tensor_row_size(t);
    format_header(t, descr[scaled ? TENSOR_F32 : t->type], out);
    buf_reserve(out, tensor_count(t) * (scaled ? sizeof(float) : tensor_type_size(t->type)));
    for (size_t r = 0; r < tensor_rows(t); r++) {
        if (!scaled)
            buf_add(out, tensor_row_data(t, r), width * tensor_type_size(t->type));
        for (size_t i = 0; scaled && i < width; i++) {
            float value = (float)tensor_at(t, r * width + i);
            buf_add(out, &value, sizeof value);
        }
    }
}

int npy_write(const char *path, const tensor *t, err *e)
{
    AUTO_BUF out = {0};
    npy_format(t, &out);
    return path_update(path, out.data, out.len, 0644, e);
}
