// SPDX-License-Identifier: MIT
// The text of a cell while it is edited: an array of lines, each a run of bytes without newline. It
// owns its bytes. A position is a line and a byte in it, always at the start of a character.
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
// Replaces the whole text with any bytes.
void text_set(text *t, const char *s, size_t n);
size_t text_lines(const text *t);
// The line, NUL-terminated and borrowed until the next change; its length in *n (may be NULL). ""
// if there is no such line.
const char *text_line(const text *t, size_t line, size_t *n);
pos text_end(const text *t);
// The nearest position that exists, at the start of a character.
pos text_clamp(const text *t, pos p);

// Inserts text (newlines split the line) and returns the end of the inserted text.
pos text_insert(text *t, pos at, const char *s, size_t n);
void text_delete(text *t, pos from, pos to);
// Appends the bytes between two positions; below: the whole text.
void text_copy(const text *t, pos from, pos to, buf *out);
void text_all(const text *t, buf *out);
// Appends text from outside: CR LF and CR become newlines, other control bytes except tabs are
// dropped, broken UTF-8 becomes U+FFFD.
void text_clean(const char *s, size_t n, buf *out);
// Counts every change; below: the first line changed since the last call (for highlighting),
// SIZE_MAX: none.
uint64_t text_revision(const text *t);
size_t text_take_dirty(text *t);
