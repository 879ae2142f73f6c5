// SPDX-License-Identifier: MIT
// Widths of a table's columns, and wrapped lines. Pure arithmetic; nothing is owned.
#pragma once
#include <stddef.h>

struct column {
    int min;    // never narrower, unless the whole table does not fit
    int want;   // width of its widest entry
    int weight; // share of the room that is left; 0: takes none
};
// Widths of n columns with `gap` blanks between them in `total` columns. When not all can have what
// they want, the widest give first; when not even the least fits, the last columns get 0 (hidden).
void layout_columns(const struct column *columns, size_t n, int gap, int total, int *widths);

// Bytes of the first screen line of a text that is wrapped at `columns`: broken after a blank where
// there is one, else anywhere; at least one character.
size_t layout_wrap(const char *s, size_t n, int columns);
