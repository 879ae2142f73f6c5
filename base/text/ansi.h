// SPDX-License-Identifier: MIT
// Parses a program's output bytes into styled text. It understands colours and attributes (SGR),
// newline, return, backspace, tab, erasing and relative cursor moves. It drops every other control
// byte and escape sequence (titles, clipboard, absolute positions, mouse). A sequence may arrive in
// any number of pieces.
#pragma once
#include "base/buf.h"
#include "base/text/style.h"

#include <stdint.h>

enum {
    ANSI_PARAMS = 16,
    ANSI_WINDOW = 64, // lines that sequences can reach: the open one and those above it
};

// The parser's state between chunks; {0} is its start. A plain value: copy it to remember a place
// (a page of a spool), nothing to free.
struct ansi {
    style style;
    unsigned char state, partial_n, params_n;
    char partial[4]; // the start of a UTF-8 sequence that is not complete yet
    bool is_private;
    unsigned params[ANSI_PARAMS];
    unsigned subparams; // bit i: parameter i followed a colon
};

struct ansi_ops {
    void (*text)(void *arg, const char *s, size_t n, style st); // valid UTF-8, no control byte
    void (*control)(void *arg, char c);                         // '\n', '\r', '\b', '\t'
    // ECMA-48's final byte of a sequence that moves the cursor (A to G, `, s, u) or erases (J, K),
    // and its parameter, or 0.
    void (*sequence)(void *arg, char final, unsigned parameter);
};
// Appends the sequence that selects this style, whatever the style was before.
void ansi_select(buf *out, style st);
// A style that is open at the end of a line goes on in the next one, as on a terminal. Returns the
// style after these bytes, which are whole lines:
style ansi_after(style before, const char *bytes, size_t n);
// How many bytes before an offset in a stream ansi_after must read, so that text read from the
// middle looks the same whichever way one came there: 16 to 32 KiB.
size_t ansi_reach(uint64_t offset);
void ansi_feed(struct ansi *a, const char *bytes, size_t n, const struct ansi_ops *ops, void *arg);

// Output as lines, with cursor moves and erasing applied as a terminal would: a progress bar that
// rewrites its line is one line, and several that go up and rewrite theirs are as many. Unlike on a
// screen, a line has any length, the last ANSI_WINDOW lines can be rewritten, and clearing the
// screen starts a new page below the old text. Owns its text.
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
// limit: the number of lines kept, the newest ones (0: all).
ansi_text *ansi_text_new(size_t limit);
void ansi_text_free(ansi_text *t);
void ansi_text_feed(ansi_text *t, const char *bytes, size_t n);
size_t ansi_text_lines(const ansi_text *t);   // without empty ones at the cursor and below it
size_t ansi_text_dropped(const ansi_text *t); // how many older lines were dropped because of the
                                              // limit
// How many lines were begun since the cursor last went back to an earlier line (then there may be
// fewer lines than newlines); SIZE_MAX: it never did.
size_t ansi_text_calm(const ansi_text *t);
// Hands over, in order, the lines that no sequence can reach any more, and drops them. For texts
// without a limit.
void ansi_text_take(ansi_text *t, void (*line)(void *arg, struct ansi_line line), void *arg);
style ansi_text_style(const ansi_text *t); // the style of text to come
// Is the last line without its newline yet?
bool ansi_text_is_open(const ansi_text *t);
// Borrowed until the next feed.
struct ansi_line ansi_text_line(const ansi_text *t, size_t line);
