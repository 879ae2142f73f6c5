// SPDX-License-Identifier: MIT
#include "trainer/data/idx.h"

#include "base/buf.h"
#include "base/data/digest.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "trainer/data/crew.h"
#include "trainer/data/deflate.h"

#include <string.h>
#include <strings.h>

// From this size on, the checksum is computed on a thread of its own.
enum { WORTH_A_THREAD = 1 << 18 };

//  X(type byte, bytes in the file, tensor type)
#define IDX_TYPES(X)                                                                               \
    X(0x08, 1, TENSOR_U8)                                                                          \
    X(0x0B, 2, TENSOR_I64)                                                                         \
    X(0x0C, 4, TENSOR_I64)                                                                         \
    X(0x0D, 4, TENSOR_F32)

struct idx_type {
    uint8_t code;
    size_t bytes;
    tensor_type type;
};

static const struct idx_type types[] = {
#define X(code, bytes, type) {code, bytes, type},
    IDX_TYPES(X)
#undef X
};

static uint32_t big_endian_32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

struct header {
    const struct idx_type *type;
    int dims;
    size_t shape[TENSOR_MAX_DIMS];
};

// The bytes of the file that are not read yet.
struct bytes {
    const uint8_t *at;
    size_t left;
};

static int take(struct bytes *b, uint8_t out[4], err *e)
{
    if (b->left < 4)
        return err_set(
            e, ERR_CORRUPT, "truncated: %zu bytes are missing of its header", 4 - b->left);
    memcpy(out, b->at, 4);
    b->at += 4;
    b->left -= 4;
    return 0;
}

static int read_header(struct bytes *b, struct header *h, err *e)
{
    uint8_t magic[4], size[4];
    if (take(b, magic, e) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (types[i].code == magic[2])
            h->type = &types[i];
    if (magic[0] || magic[1] || !h->type)
        return err_set(e, ERR_CORRUPT, "not an IDX file: it starts with %02x %02x %02x %02x",
            magic[0], magic[1], magic[2], magic[3]);
    if (magic[3] < 1 || magic[3] > TENSOR_MAX_DIMS)
        return err_set(e, ERR_CORRUPT, "an IDX file of %d dimensions (1 to %d are read)", magic[3],
            TENSOR_MAX_DIMS);
    h->dims = magic[3];
    for (int i = 0; i < h->dims; i++) {
        if (take(b, size, e) < 0)
            return -1;
        h->shape[i] = big_endian_32(size);
    }
    return 0;
}

// The number of bytes of its elements; SIZE_MAX: too many to count.
static size_t data_size(const struct header *h)
{
    size_t n = h->type->bytes;
    for (int i = 0; i < h->dims; i++)
        if (__builtin_mul_overflow(n, h->shape[i], &n))
            return SIZE_MAX;
    return n;
}

// Refuses a size above that of the available data before any memory is allocated.
static int check_room(const struct header *h, size_t most, err *e)
{
    if (data_size(h) <= most)
        return 0;
    AUTO_BUF shape = {0};
    shape_text(h->dims, h->shape, &shape);
    return err_set(
        e, ERR_CORRUPT, "truncated: shape %s needs more bytes than there are", buf_cstr(&shape));
}

static int check_size(const struct bytes *b, const struct header *h, err *e)
{
    if (check_room(h, b->left, e) < 0)
        return -1;
    return data_size(h) == b->left
               ? 0
               : err_set(e, ERR_CORRUPT, "there are bytes after the last element");
}

static tensor *read_wide(const uint8_t *raw, const struct header *h, err *e)
{
    tensor *t = tensor_new(h->type->type, h->dims, h->shape, e);
    for (size_t i = 0, n = t ? tensor_count(t) : 0; i < n; i++, raw += h->type->bytes) {
        bool narrow = h->type->bytes == 2;
        uint32_t bits = narrow ? (uint32_t)(raw[0] << 8 | raw[1]) : big_endian_32(raw);
        if (t->type == TENSOR_F32)
            memcpy((float *)t->data + i, &bits, sizeof bits);
        else
            ((int64_t *)t->data)[i] = narrow ? (int16_t)bits : (int32_t)bits;
    }
    return t;
}

static void let_go(void *whole)
{
    tensor_free(whole);
}

// whole: the owner of these bytes, kept as long as the tensor; NULL: the bytes are borrowed.
static tensor *read_tensor(struct bytes b, tensor **whole, err *e)
{
    struct header h = {0};
    if (read_header(&b, &h, e) < 0 || check_size(&b, &h, e) < 0)
        return NULL;
    if (h.type->type != TENSOR_U8)
        return read_wide(b.at, &h, e);
    if (!whole)
        return tensor_from(TENSOR_U8, h.dims, h.shape, b.at, e);
    tensor *t = tensor_over(TENSOR_U8, h.dims, h.shape, (void *)b.at, let_go, *whole, e);
    *whole = t ? NULL : *whole;
    return t;
}

// The header is unpacked first, and says how much there is to unpack.
static tensor *unpack(const void *bytes, size_t n, err *e)
{
    uint8_t first[4 * (1 + TENSOR_MAX_DIMS)];
    struct bytes begin = {first, gunzip_first(bytes, n, first, sizeof first)};
    struct header h = {0};
    if (read_header(&begin, &h, e) < 0 || check_room(&h, gunzip_most(n), e) < 0)
        return NULL;
    return gunzip(bytes, n, (size_t)(begin.at - first) + data_size(&h), e);
}

tensor *idx_parse(const void *bytes, size_t n, err *e)
{
    if (!gunzip_knows(bytes, n))
        return read_tensor((struct bytes){bytes, n}, NULL, e);
    tensor *whole = unpack(bytes, n, e);
    if (!whole)
        return NULL;
    tensor *t = read_tensor((struct bytes){whole->data, tensor_count(whole)}, &whole, e);
    tensor_free(whole);
    return t;
}

struct summing {
    const buf *bytes;
    char have[SHA256_HEX];
};

static void sum_up(void *ctx, size_t i)
{
    struct summing *s = ctx;
    (void)i;
    sha256_hex(s->bytes->data, s->bytes->len, s->have);
}

static int check_sum(const struct summing *s, const char *want, err *e)
{
    if (strcasecmp(s->have, want) == 0)
        return 0;
    return err_set(e, ERR_CORRUPT,
        "the file was changed or damaged: its SHA-256 starts with %.12s, expected %.12s", s->have,
        want);
}

// Without instructions for SHA-256, a processor needs nearly as long for the checksum as for
// decompressing, so both run at the same time. A wrong checksum is the error that is reported,
// whatever else fails.
static tensor *parse_checked(const buf *bytes, const char *want, err *e)
{
    struct summing s = {.bytes = bytes};
    err wrong;
    crew *c = crew_new(bytes->len >= WORTH_A_THREAD);
    crew_begin(c, 1, sum_up, &s);
    tensor *t = idx_parse(buf_cstr(bytes), bytes->len, e);
    crew_end(c);
    crew_free(c);
    if (check_sum(&s, want, &wrong) == 0)
        return t;
    tensor_free(t);
    err_give(e, &wrong);
    return NULL;
}

tensor *idx_read(const char *path, const char *sum, err *e)
{
    AUTO_BUF bytes = {0};
    if (path_read(path, &bytes, 0, e) < 0)
        return NULL;
    tensor *t = sum ? parse_checked(&bytes, sum, e) : idx_parse(buf_cstr(&bytes), bytes.len, e);
    if (!t)
        err_wrap(e, "%s", path);
    return t;
}
