// SPDX-License-Identifier: MIT
// Widths of a table's columns, and wrapped lines. Pure arithmetic; nothing is owned.
#pragma once
#include <stddef.h>

struct column {
    int min;    // it is never narrower, unless the whole table does not fit
    int want;   // width of its widest entry
    int weight; // share of the remaining room; 0: none
};
// Widths of n columns with `gap` blanks between them in `total` columns. If there is too little
// room for all wanted widths, the widest columns get narrower first. If even the minimum widths do
// not fit, the last columns get 0 (hidden).
void layout_columns(const struct column *columns, size_t n, int gap, int total, int *widths);

// Bytes in the first screen line of a text that is wrapped at `columns`: it is broken after a blank
// if possible, else anywhere; at least one character.
size_t layout_wrap(const char *s, size_t n, int columns);
// The same for the row that begins at byte `from` of a line: a continued row is indented like the
// line, plus two columns, which shows that it continues. *indent: its indentation.
size_t layout_wrap_on(const char *line, size_t n, size_t from, int columns, int *indent);
