// SPDX-License-Identifier: MIT
// The lines of a stream, for an output that cannot be changed once it is written. A line is handed
// out when it is finished, and once more if it is rewritten later. If several bars are redrawn in
// place, only their last state is handed out. It owns what it holds back.
#pragma once
#include "base/buf.h"

typedef struct print_stream print_stream;
typedef void print_stream_line(void *arg, const char *text, size_t n); // whole lines

print_stream *print_stream_new(void);
void print_stream_free(print_stream *s); // NULL is fine
void print_stream_feed(
    print_stream *s, const char *bytes, size_t n, print_stream_line *line, void *arg);
// The stream has ended: hands out everything that is held back. Afterwards it is like new.
void print_stream_end(print_stream *s, print_stream_line *line, void *arg);
// The last line, as long as it has no newline; "" if there is none.
void print_stream_open(const print_stream *s, buf *out);
