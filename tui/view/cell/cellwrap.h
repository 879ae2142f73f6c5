// SPDX-License-Identifier: MIT
// Soft wrap: a line of a cell's text that is too long for a row goes on in the next ones, which are
// indented. Where rows begin is kept in the cell's drawing until the text or the width changes.
#pragma once
#include "tui/bench/drawing.h"
#include "tui/edit/text.h"

enum { WRAP_INDENT = 2 };
// In how many rows a text of so many lines is drawn in this width, and the first row of a line.
int wrap_rows(struct drawing *d, const text *t, int width);
int wrap_row(struct drawing *d, const text *t, int width, size_t line);
// The line that has this row, and which of its rows it is.
size_t wrap_line(struct drawing *d, const text *t, int width, int row, int *within);

// One row of a line: the columns [from, to) of it, and the byte where it begins.
struct wrapped {
    int from, to;
    size_t byte;
    bool last;
};
struct wrapped wrap_part(const char *words, size_t n, int width, int within);
// Which of its line's rows has this column.
int wrap_within(const char *words, size_t n, int width, int column);
