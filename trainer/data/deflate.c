// SPDX-License-Identifier: MIT
#include "trainer/data/deflate.h"

#include <libdeflate.h>
#include <limits.h>
#include <zlib.h>

// Deflate cannot compress better than 258 bytes into 2 bits: https://zlib.net/zlib_tech.html
enum { MAX_RATIO = 1032, GZIP_WINDOW = 16 + MAX_WBITS };

bool gunzip_knows(const void *bytes, size_t n)
{
    const uint8_t *p = bytes;
    return n >= 2 && p[0] == 0x1f && p[1] == 0x8b;
}

static int damaged(err *e, const char *how)
{
    return err_set(e, ERR_CORRUPT, "the gzip data is damaged (%s)", how);
}

size_t gunzip_most(size_t n)
{
    size_t most;
    return __builtin_mul_overflow(n, MAX_RATIO, &most) ? SIZE_MAX : most;
}

static size_t first(const void *bytes, size_t n, int window, void *out, size_t room)
{
    z_stream s = {.next_in = (Bytef *)bytes,
        .avail_in = n < UINT_MAX ? (uInt)n : UINT_MAX,
        .next_out = out,
        .avail_out = (uInt)room};
    if (inflateInit2(&s, window) != Z_OK)
        return 0;
    inflate(&s, Z_SYNC_FLUSH); // errors are reported when everything is unpacked
    inflateEnd(&s);
    return room - s.avail_out;
}

size_t gunzip_first(const void *bytes, size_t n, void *out, size_t room)
{
    return first(bytes, n, GZIP_WINDOW, out, room);
}

size_t inflate_first(const void *bytes, size_t n, void *out, size_t room)
{
    return first(bytes, n, -MAX_WBITS, out, room);
}

static int unpack(const void *bytes, size_t n, tensor *t, err *e)
{
    size_t used;
    struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
    if (!d)
        return err_set(e, ERR_LIMIT, "no memory to unpack it");
    enum libdeflate_result result =
        libdeflate_gzip_decompress_ex(d, bytes, n, t->data, tensor_count(t), &used, NULL);
    libdeflate_free_decompressor(d);
    if (result == LIBDEFLATE_INSUFFICIENT_SPACE)
        return err_set(e, ERR_CORRUPT, "there are bytes after the last element");
    if (result != LIBDEFLATE_SUCCESS)
        return damaged(e, "it is cut off, its bytes make no sense, or they have another sum");
    return used == n ? 0 : damaged(e, "there are bytes after its end");
}

tensor *gunzip(const void *bytes, size_t n, size_t size, err *e)
{
    tensor *t = tensor_new(TENSOR_U8, 1, &size, e);
    if (t && unpack(bytes, n, t, e) == 0)
        return t;
    tensor_free(t);
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
