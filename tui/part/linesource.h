// SPDX-License-Identifier: MIT
// The bytes of one output and the places of its lines: a text in memory, or a range of a spool, of
// which only the requested parts are read. Offsets count from its start. A line source owns its
// text and its file.
#pragma once
#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct linesource linesource;

linesource *linesource_of_text(const char *bytes, size_t n);
linesource *linesource_of_spool(
    const char *dir, const char *spool, uint64_t from, uint64_t to, err *e); // NULL on error
void linesource_free(linesource *s);                                         // NULL is fine
// Is it this text, perhaps with more at its end? Then it becomes that text.
bool linesource_follow_text(linesource *s, const char *bytes, size_t n);
bool linesource_follow_spool(linesource *s, const char *spool, uint64_t from, uint64_t to);

uint64_t linesource_size(const linesource *s);
// The number of lines; bytes behind the last newline count as one.
uint64_t linesource_lines(linesource *s);
// The start of a line (or the size, if there is no such line); below: the line that contains an
// offset.
uint64_t linesource_find_line(linesource *s, uint64_t line);
uint64_t linesource_line_at(linesource *s, uint64_t offset);
// Appends up to n bytes from an offset on; bytes that cannot be read are left out.
void linesource_read(linesource *s, uint64_t offset, size_t n, buf *out);
