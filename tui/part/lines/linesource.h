// SPDX-License-Identifier: MIT
// The bytes of one output and the places of its lines: a text in memory, which may go on in a range
// of a spool, of which only the requested parts are read; or a slice of such a source. Offsets
// count from its start. A line source owns its text and its file; a slice borrows.
#pragma once
#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct linesource linesource;

// A stream as it was recorded: so many bytes of text, and what followed in a spool.
struct linestream {
    const char *text;
    size_t n;
    const char *dir, *spool; // spool NULL: none
    uint64_t from, to;
};

linesource *linesource_of_text(const char *bytes, size_t n);
linesource *linesource_of_stream(const struct linestream *s, err *e); // NULL on error
// Of whole lines [from, to) of a source, which must outlive it.
linesource *linesource_of_slice(linesource *whole, uint64_t from, uint64_t to);
void linesource_free(linesource *s); // NULL is fine
// Is it this text, perhaps with more at its end? Then it becomes that text. A stream's text may now
// go on in a spool; a slice is of the same source and start.
bool linesource_follow_text(linesource *s, const char *bytes, size_t n);
bool linesource_follow_stream(linesource *s, const struct linestream *stream);
bool linesource_follow_slice(linesource *s, const linesource *whole, uint64_t from, uint64_t to);
void linesource_append(linesource *s, const char *bytes, size_t n); // to a text

uint64_t linesource_size(const linesource *s);
// The number of lines; bytes behind the last newline count as one.
uint64_t linesource_lines(linesource *s);
// The start of a line (or the size, if there is no such line); below: the line that contains an
// offset.
uint64_t linesource_find_line(linesource *s, uint64_t line);
uint64_t linesource_line_at(linesource *s, uint64_t offset);
// Appends up to n bytes from an offset on; bytes that cannot be read are left out.
void linesource_read(linesource *s, uint64_t offset, size_t n, buf *out);
