// SPDX-License-Identifier: MIT
// Where the columns of a table stand in a given width. Pure; nothing is owned.
//
// At shift 0 all that matters is there: the widest entries are cut first, and where that is not
// enough, columns that the table does not keep go, from the right. Further shifts show every entry
// whole, a step of columns to the left each, while the first column stays.
#pragma once
#include "tui/grid/grid.h"

enum { TABLE_COLUMNS = 32, TABLE_STEP = 8 };

struct table_column {
    int width; // of its widest entry
    bool keep; // it stays when there is no room for all
};

struct table_layout {
    int x[TABLE_COLUMNS]; // from the left edge, which may lie beyond it
    int w[TABLE_COLUMNS]; // 0: hidden
    int gap;              // blanks between two
    int pinned;           // columns of the screen that the first one keeps when shifted, else 0
    int shift;            // as asked for, at most as far as there is something to see
};
void table_layout(
    const struct table_column *columns, int n, int width, int shift, struct table_layout *out);
// An entry in w columns. Names often differ at their end: what is too long loses its middle.
void table_put(grid *g, rect clip, int x, int y, int w, const char *words, bool is_name, style st);
