// SPDX-License-Identifier: MIT
// Where rows and fields of a text end, read as leniently as a viewer must: a quote that is not
// closed within ROWTEXT_QUOTED bytes is a character as any other. Pure.
#pragma once
#include "base/buf.h"

#include <stdbool.h>

enum { ROWTEXT_QUOTED = 64 << 10 };              // the longest field in quotes
enum rowtext_kind { ROWTEXT_CSV, ROWTEXT_LINE }; // LINE: a row is a line, whatever is quoted

// Bytes of the row at the start of the text, with its line end; SIZE_MAX: it has none in the text.
size_t rowtext_end(const char *text, size_t n, enum rowtext_kind kind, char separator);
// Appends the field at *at of a row and moves *at behind it and its separator. true: another field
// follows. At the row's end nothing is appended.
bool rowtext_field(const char *row, size_t n, size_t *at, char separator, buf *out);
// The separator of a CSV text: what its first line has most of, of , ; | and a tab, outside quotes.
char rowtext_separator(const char *text, size_t n);
