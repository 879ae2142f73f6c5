// SPDX-License-Identifier: MIT
// Cuts a stream of bytes, such as a watch or a log, into lines: bytes come in any pieces, whole
// lines come out. A plain value: `struct frames f = {0};`, frames_done frees.
#pragma once
#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

struct frames {
    buf pending;  // the start of a line that is not complete
    size_t limit; // longest line; 0: 64 MiB
    bool split;   // a longer line is passed on in pieces; it is no error
    bool ended;   // while line() runs: its text has the line's end, else the next piece goes on
};
void frames_done(struct frames *f);
// Calls line() for each line, without its end ("\n" or "\r\n"); empty lines are left out. If line()
// returns non-zero, feeding stops at once (f may be gone) and returns that value. A line beyond the
// limit: -1, ERR_LIMIT.
int frames_feed(struct frames *f, const char *bytes, size_t n,
    int (*line)(void *arg, const char *text, size_t n), void *arg, err *e);
// Passes on the rest, which has no line end, as a line.
int frames_end(struct frames *f, int (*line)(void *arg, const char *text, size_t n), void *arg);
