// SPDX-License-Identifier: MIT
#include "trainer/data/deflate.h"

#include <libdeflate.h>
#include <stdint.h>

// RFC 1952: ten bytes of a header, and behind the data its sum and its size modulo 2^32. Deflate
// cannot compress better than 258 bytes into 2 bits: https://zlib.net/zlib_tech.html
enum { HEADER = 10, TRAILER = 8, MAX_RATIO = 1032 };

bool gunzip_knows(const void *bytes, size_t n)
{
    const uint8_t *p = bytes;
    return n >= 2 && p[0] == 0x1f && p[1] == 0x8b;
}

static int damaged(err *e, const char *how)
{
    return err_set(e, ERR_CORRUPT, "the gzip data is damaged (%s)", how);
}

static size_t most_of(size_t n)
{
    size_t most;
    return __builtin_mul_overflow(n, MAX_RATIO, &most) ? SIZE_MAX : most;
}

// How many bytes are said to come out, modulo 2^32.
static size_t told_size(const uint8_t *bytes, size_t n)
{
    const uint8_t *p = bytes + n - 4;
    return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

// 1: there are more than t has room for.
static int unpack(const void *bytes, size_t n, tensor *t, size_t *got, err *e)
{
    size_t used;
    struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
    enum libdeflate_result result =
        d ? libdeflate_gzip_decompress_ex(d, bytes, n, t->data, tensor_count(t), &used, got)
          : LIBDEFLATE_BAD_DATA;
    libdeflate_free_decompressor(d);
    if (!d)
        return err_set(e, ERR_LIMIT, "no memory to unpack it");
    if (result == LIBDEFLATE_INSUFFICIENT_SPACE)
        return 1;
    if (result != LIBDEFLATE_SUCCESS)
        return damaged(e, "its bytes make no sense or have another sum");
    return used == n ? 0 : damaged(e, "there are bytes after its end");
}

tensor *gunzip(const void *bytes, size_t n, err *e)
{
    size_t got, size = n < HEADER + TRAILER ? 0 : told_size(bytes, n);
    for (; n >= HEADER + TRAILER && size <= most_of(n); size += (size_t)1 << 32) {
        tensor *t = tensor_new(TENSOR_U8, 1, &size, e);
        int result = t ? unpack(bytes, n, t, &got, e) : -1;
        tensor *whole = result == 0 ? tensor_slice(t, 0, (int64_t)got, e) : NULL;
        tensor_free(t);
        if (result <= 0)
            return whole;
    }
    damaged(e, "it is cut off, or cannot have as many bytes as it says");
    return NULL;
}

int inflate_into(const void *bytes, size_t n, void *out, size_t room)
{
    size_t used = 0;
    struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
    bool whole = d && libdeflate_deflate_decompress_ex(d, bytes, n, out, room, &used, NULL) ==
                          LIBDEFLATE_SUCCESS;
    libdeflate_free_decompressor(d);
    return whole && used == n ? 0 : -1;
}

int deflate_onto(buf *out, const void *bytes, size_t n, err *e)
{
    enum { LEVEL = 6 }; // zlib's, too
    struct libdeflate_compressor *c = libdeflate_alloc_compressor(LEVEL);
    if (!c)
        return err_set(e, ERR_LIMIT, "no memory to compress");
    size_t most = libdeflate_deflate_compress_bound(c, n);
    buf_reserve(out, most);
    out->len += libdeflate_deflate_compress(c, bytes, n, out->data + out->len, most);
    libdeflate_free_compressor(c);
    return 0;
}

uint32_t deflate_sum(const void *bytes, size_t n)
{
    return libdeflate_crc32(0, bytes, n);
}
