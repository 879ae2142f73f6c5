// SPDX-License-Identifier: MIT
#include "trainer/data/source.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

// Deflate cannot compress better than 258 bytes into 2 bits: https://zlib.net/zlib_tech.html
enum { DEFLATE_MAX_RATIO = 1032, GZIP_WINDOW = 16 + MAX_WBITS };

void source_init(source *s, const void *bytes, size_t n)
{
    *s = (source){.bytes = bytes, .n = n};
    s->gzip = n >= 2 && s->bytes[0] == 0x1f && s->bytes[1] == 0x8b;
    if (s->gzip && inflateInit2(&s->stream, GZIP_WINDOW) != Z_OK)
        s->gzip = false; // no memory: the gzip header is then reported as a bad magic number
}

void source_done(source *s)
{
    if (s->gzip)
        inflateEnd(&s->stream);
    s->gzip = false;
}

size_t source_bound(const source *s)
{
    size_t left = s->n - s->at, bound;
    if (!s->gzip)
        return left;
    return __builtin_mul_overflow(s->n, DEFLATE_MAX_RATIO, &bound) ? SIZE_MAX : bound;
}

static int damaged(const source *s, err *e)
{
    return err_set(e, ERR_CORRUPT, "the gzip data is damaged near byte %zu (%s)", s->at,
        s->stream.msg ? s->stream.msg : "unexpected end");
}

// Gunzips up to n bytes; *got is less only at the end of the data.
static int gunzip(source *s, void *out, size_t n, size_t *got, err *e)
{
    *got = 0;
    while (*got < n && !s->ended) {
        size_t in = s->n - s->at, room = n - *got;
        s->stream.next_in = (Bytef *)s->bytes + s->at;
        s->stream.avail_in = in > UINT_MAX ? UINT_MAX : (uInt)in;
        s->stream.next_out = (Bytef *)out + *got;
        s->stream.avail_out = room > UINT_MAX ? UINT_MAX : (uInt)room;
        uInt before = s->stream.avail_out;
        int status = inflate(&s->stream, Z_NO_FLUSH);
        s->at = (size_t)(s->stream.next_in - s->bytes);
        *got += before - s->stream.avail_out;
        s->ended = status == Z_STREAM_END;
        if (status != Z_OK && status != Z_STREAM_END)
            return damaged(s, e);
    }
    return 0;
}

int data_source_read(source *s, void *out, size_t n, err *e)
{
    size_t got = 0;
    if (s->gzip) {
        if (gunzip(s, out, n, &got, e) < 0)
            return -1;
    } else {
        got = s->n - s->at < n ? s->n - s->at : n;
        memcpy(out, s->bytes + s->at, got);
        s->at += got;
    }
    if (got < n)
        return err_set(e, ERR_CORRUPT, "truncated: %zu bytes are missing of %zu", n - got, n);
    return 0;
}

int source_end(source *s, err *e)
{
    char byte;
    size_t more = s->n - s->at;
    // Asking for one byte more makes gunzip read the trailer with its checksum and length.
    if (s->gzip && !s->ended && gunzip(s, &byte, 1, &more, e) < 0)
        return -1;
    if (s->gzip && s->ended)
        more += s->n - s->at;
    if (more)
        return err_set(e, ERR_CORRUPT, "there are bytes after the last element");
    return 0;
}
