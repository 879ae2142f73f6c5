// SPDX-License-Identifier: MIT
#include "k8s/client/frames.h"

#include <string.h>

typedef int line_fn(void *arg, const char *text, size_t n);

void frames_done(struct frames *f)
{
    buf_done(&f->pending);
}

static int give(line_fn *line, void *arg, const char *text, size_t n)
{
    if (n && text[n - 1] == '\r')
        n--;
    return n ? line(arg, text, n) : 0;
}

int frames_feed(struct frames *f, const char *bytes, size_t n, line_fn *line, void *arg, err *e)
{
    size_t limit = f->limit ? f->limit : (size_t)64 << 20;
    const char *end;
    while ((end = memchr(bytes, '\n', n))) {
        size_t len = (size_t)(end - bytes);
        int result;
        if (f->pending.len) {
            buf_add(&f->pending, bytes, len);
            AUTO_BUF whole = f->pending;
            f->pending = (buf){0};
            result = give(line, arg, whole.data, whole.len);
        } else {
            result = give(line, arg, bytes, len);
        }
        if (result != 0)
            return result;
        bytes = end + 1;
        n -= len + 1;
    }
    bool fits = f->pending.len + n <= limit;
    if (!fits && !f->split)
        return err_set(e, ERR_LIMIT, "a line is longer than %zu bytes", limit);
    buf_add(&f->pending, bytes, n);
    return fits ? 0 : frames_end(f, line, arg);
}

int frames_end(struct frames *f, line_fn *line, void *arg)
{
    AUTO_BUF rest = f->pending;
    f->pending = (buf){0};
    return rest.len ? give(line, arg, rest.data, rest.len) : 0;
}
