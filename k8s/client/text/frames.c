// SPDX-License-Identifier: MIT
#include "k8s/client/text/frames.h"

#include <string.h>

typedef int line_fn(void *arg, const char *text, size_t n);

void frames_done(struct frames *f)
{
    buf_done(&f->pending);
}

static int give(struct frames *f, line_fn *line, void *arg, const char *text, size_t n)
{
    f->ended = true;
    if (n && text[n - 1] == '\r')
        n--;
    return n ? line(arg, text, n) : 0;
}

// A "\r" may be half of the line's end. Then nothing would be left for the last piece.
static bool is_beyond(const buf *pending, size_t limit)
{
    size_t n = pending->len;
    return n > limit + 1 || (n > limit && pending->data[n - 1] != '\r');
}

// Passes on what is beyond the limit, in pieces that are as long as it: they do not depend on how
// the bytes came. Something stays for the last piece.
static int give_pieces(struct frames *f, size_t limit, line_fn *line, void *arg)
{
    while (is_beyond(&f->pending, limit)) {
        AUTO_BUF whole = f->pending;
        f->pending = (buf){0};
        buf_add(&f->pending, whole.data + limit, whole.len - limit);
        f->ended = false;
        int result = line(arg, whole.data, limit);
        if (result != 0)
            return result;
    }
    return 0;
}

static int give_line(
    struct frames *f, const char *bytes, size_t n, size_t limit, line_fn *line, void *arg)
{
    if (!f->pending.len && (!f->split || n <= limit))
        return give(f, line, arg, bytes, n);
    buf_add(&f->pending, bytes, n);
    int result = f->split ? give_pieces(f, limit, line, arg) : 0;
    return result != 0 ? result : frames_end(f, line, arg);
}

int frames_feed(struct frames *f, const char *bytes, size_t n, line_fn *line, void *arg, err *e)
{
    size_t limit = f->limit ? f->limit : (size_t)64 << 20;
    const char *end;
    while ((end = memchr(bytes, '\n', n))) {
        size_t len = (size_t)(end - bytes);
        int result = give_line(f, bytes, len, limit, line, arg);
        if (result != 0)
            return result;
        bytes = end + 1;
        n -= len + 1;
    }
    if (f->pending.len + n > limit && !f->split)
        return err_set(e, ERR_LIMIT, "a line is longer than %zu bytes", limit);
    buf_add(&f->pending, bytes, n);
    return f->split ? give_pieces(f, limit, line, arg) : 0;
}

int frames_end(struct frames *f, line_fn *line, void *arg)
{
    AUTO_BUF rest = f->pending;
    f->pending = (buf){0};
    return rest.len ? give(f, line, arg, rest.data, rest.len) : 0;
}
