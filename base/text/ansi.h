// SPDX-License-Identifier: MIT
// A program's output bytes as styled text. Colours and attributes (SGR), newline, return,
// backspace, tab and "erase line" are understood; every other control byte and escape sequence
// (titles, clipboard, cursor movement, mouse) is dropped, in whatever pieces it comes.
#pragma once
#include "base/buf.h"
#include "base/text/style.h"

#include <stdint.h>

enum { ANSI_PARAMS = 16 };

// The parser's state between chunks; {0} is its start. A plain value with nothing to free: copy it
// to remember a place (a page of a spool).
struct ansi {
    style style;
    unsigned char state, partial_n, params_n;
    char partial[4]; // the start of an incomplete UTF-8 sequence
    bool is_private;
    unsigned params[ANSI_PARAMS];
    unsigned subparams; // bit i: parameter i followed a colon
};

struct ansi_ops {
    void (*text)(void *arg, const char *s, size_t n, style st); // valid UTF-8, no control byte
    void (*control)(void *arg, char c); // '\n', '\r', '\b', '\t', or 'K': erase to the end of the
                                        // line
};
// Appends the sequence that selects this style, whatever was selected before.
void ansi_select(buf *out, style st);
// A line continues with the style that the line before ended with, as on a terminal. The style
// after so many bytes of whole lines:
style ansi_after(style before, const char *bytes, size_t n);
// How many bytes before an offset must be read for this: a line in the middle then looks the same
// however one came there. 16 to 32 KiB.
size_t ansi_reach(uint64_t offset);
void ansi_feed(struct ansi *a, const char *bytes, size_t n, const struct ansi_ops *ops, void *arg);

// Output as lines, with returns and backspaces applied as a terminal would (so a progress bar
// that rewrites its line is one line). Owns its text.
struct ansi_span {
    size_t from, to; // bytes of the line
    style style;
};
struct ansi_line {
    const char *text;
    size_t n;
    const struct ansi_span *spans; // in order, covering the text
    size_t spans_n;
};
typedef struct ansi_text ansi_text;
// limit: how many lines are kept, the newest ones (0: all).
ansi_text *ansi_text_new(size_t limit);
void ansi_text_free(ansi_text *t);
void ansi_text_feed(ansi_text *t, const char *bytes, size_t n);
size_t ansi_text_lines(const ansi_text *t);   // an empty line after the last newline does not count
size_t ansi_text_dropped(const ansi_text *t); // how many older lines were dropped because of the
                                              // limit
// Borrowed until the next feed.
struct ansi_line ansi_text_line(const ansi_text *t, size_t line);
