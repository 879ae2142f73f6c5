// SPDX-License-Identifier: MIT
#include "trainer/serve/unpack.h"

#include "base/mem.h"

#include <stdint.h>
#include <zlib.h>

enum { EITHER = 32 + MAX_WBITS, PIECE = 16 << 10 };

struct unpacker {
    z_stream z;
    bool ended; // at the end of a member
};

unpacker *unpack_new(void)
{
    unpacker *u = mem_alloc(sizeof *u);
    if (inflateInit2(&u->z, EITHER) != Z_OK)
        mem_out(sizeof u->z);
    return u;
}

void unpack_free(unpacker *u)
{
    if (!u)
        return;
    inflateEnd(&u->z);
    free(u);
}

static int damaged(const unpacker *u, err *e)
{
    return err_set(e, ERR_INVALID, "the packed body is damaged: %s",
        u->z.msg ? u->z.msg : "it is neither gzip nor deflate");
}

int unpack_feed(unpacker *u, const char *bytes, size_t n,
    bool (*fn)(void *arg, const char *bytes, size_t n), void *arg, err *e)
{
    unsigned char piece[PIECE];
    u->z.next_in = (unsigned char *)(uintptr_t)bytes;
    u->z.avail_in = (uInt)n;
    do {
        if (u->ended && u->z.avail_in == 0)
            return 0;
        if (u->ended && inflateReset(&u->z) != Z_OK) // the next member
            return damaged(u, e);
        u->z.next_out = piece;
        u->z.avail_out = PIECE;
        int status = inflate(&u->z, Z_NO_FLUSH);
        u->ended = status == Z_STREAM_END;
        if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
            return damaged(u, e);
        if (!fn(arg, (const char *)piece, PIECE - u->z.avail_out))
            return 0;
    } while (u->z.avail_in > 0 || u->z.avail_out == 0);
    return 0;
}

int unpack_end(const unpacker *u, err *e)
{
    return u->ended ? 0 : err_set(e, ERR_INVALID, "the packed body is cut off");
}
