// SPDX-License-Identifier: MIT
// A stream of bytes cut into lines, as watches and logs come: bytes in any pieces go in, whole
// lines come out. A plain value: `struct frames f = {0};`, frames_done frees.
#pragma once
#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

struct frames {
    buf pending;  // the start of a line whose end has not come
    size_t limit; // longest line; 0: 64 MiB
    bool split;   // a longer one is given in pieces, instead of being an error
};
void frames_done(struct frames *f);
// Calls line() for each line, without its end ("\n" or "\r\n"); empty lines are left out. A
// non-zero result of it stops at once (f may be gone then) and is returned. A line beyond the
// limit: -1, ERR_LIMIT.
int frames_feed(struct frames *f, const char *bytes, size_t n,
    int (*line)(void *arg, const char *text, size_t n), void *arg, err *e);
// What is left without an end, as a line.
int frames_end(struct frames *f, int (*line)(void *arg, const char *text, size_t n), void *arg);
