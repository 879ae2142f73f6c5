// SPDX-License-Identifier: MIT
// The text of a cell while it is edited: an array of lines, each a run of bytes without newline.
// Owns its bytes. Positions are a line and a byte in it, always at the start of a character.
//
//   lines ─> [0] "local x = 1"     a text has at least one line; "a\n" has two, the second empty
//            [1] "print(x)"
#pragma once
#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct pos {
    size_t line, byte;
} pos;
static inline int pos_compare(pos a, pos b)
{
    return a.line != b.line ? (a.line < b.line ? -1 : 1) : (a.byte > b.byte) - (a.byte < b.byte);
}

typedef struct text text;
text *text_new(void);
void text_free(text *t);
// Replaces all; any bytes.
void text_set(text *t, const char *s, size_t n);
size_t text_lines(const text *t);
// NUL-terminated and borrowed until the next change; the length in *n (may be NULL). "" outside.
const char *text_line(const text *t, size_t line, size_t *n);
pos text_end(const text *t);
// The nearest position that exists, at the start of a character.
pos text_clamp(const text *t, pos p);

// Inserts (newlines split the line) and returns the end of what came in.
pos text_insert(text *t, pos at, const char *s, size_t n);
void text_delete(text *t, pos from, pos to);
// Appends the bytes between two positions; all of it.
void text_copy(const text *t, pos from, pos to, buf *out);
void text_all(const text *t, buf *out);
// Appends text from outside as it may come in: CR LF and CR become newlines, other control bytes
// but tabs are dropped, broken UTF-8 becomes U+FFFD.
void text_clean(const char *s, size_t n, buf *out);
// Counts every change; and the first line that changed since it was last asked (for highlighting):
// SIZE_MAX when none.
uint64_t text_revision(const text *t);
size_t text_take_dirty(text *t);
