// SPDX-License-Identifier: MIT
// Cuts a byte stream into the protocol's lines. A reader is a plain value; it has the unfinished
// line.
#pragma once
#include "base/buf.h"
#include "base/err.h"

typedef struct frame_reader {
    buf rest;       // an unfinished line
    size_t scanned; // this many of its bytes have no newline
} frame_reader;

void frame_reader_done(frame_reader *r);
// Calls line(arg, text, n, e) for each line that the new bytes complete, without its newline; the
// text is NUL-terminated. Returns -1 as soon as `line` does, or for a line over MESSAGE_LIMIT
// (ERR_LIMIT). `line` must not call frame_reader_done.
int frame_reader_feed(frame_reader *r, const char *bytes, size_t n,
    int (*line)(void *arg, const char *text, size_t n, err *e), void *arg, err *e);
