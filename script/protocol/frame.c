// SPDX-License-Identifier: MIT
#include "script/protocol/frame.h"

#include "script/protocol/message.h"

#include <string.h>

enum { KEPT = 128 << 10 }; // largest buffer that is kept after a large message

void frame_reader_done(frame_reader *r)
{
    buf_done(&r->rest);
    r->scanned = 0;
}

int frame_reader_feed(frame_reader *r, const char *bytes, size_t n,
    int (*line)(void *arg, const char *text, size_t n, err *e), void *arg, err *e)
{
    buf_add(&r->rest, bytes, n);
    size_t start = 0;
    int result = 0;
    while (result == 0) {
        size_t from = start > r->scanned ? start : r->scanned;
        if (from >= r->rest.len)
            break;
        char *newline = memchr(r->rest.data + from, '\n', r->rest.len - from);
        if (!newline)
            break;
        *newline = '\0';
        size_t length = (size_t)(newline - r->rest.data) - start;
        if (length > 0)
            result = line(arg, r->rest.data + start, length, e);
        start += length + 1;
    }
    buf_consume(&r->rest, start);
    if (!r->rest.len && r->rest.cap > KEPT)
        buf_done(&r->rest);
    r->scanned = r->rest.len;
    if (result == 0 && r->rest.len > MESSAGE_LIMIT)
        return err_set(e, ERR_LIMIT, "a message of more than %d MiB", MESSAGE_LIMIT >> 20);
    return result;
}
