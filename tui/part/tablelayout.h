// SPDX-License-Identifier: MIT
// Where the columns of a table stand in a given width. Pure; nothing is owned.
//
// At shift 0 the important columns are visible: the widest entries are cut first; if that is not
// enough, columns that the table does not keep are hidden, from the right. Each further shift moves
// the columns one step to the left and shows every entry whole; the first column stays.
#pragma once
#include "tui/grid/grid.h"

enum { TABLE_COLUMNS = 32, TABLE_STEP = 8 };

struct table_column {
    int width; // of its widest entry
    bool keep; // it stays if there is no room for all
};

struct table_layout {
    int x[TABLE_COLUMNS]; // from the left edge; may be outside of the screen
    int w[TABLE_COLUMNS]; // 0: hidden
    int gap;              // blanks between two columns
    int pinned;           // screen columns of the first one, which stays when shifted; else 0
    int shift;            // as requested, but not beyond the last column
};
void table_layout(
    const struct table_column *columns, int n, int width, int shift, struct table_layout *out);
// Draws an entry in w columns. If it is too long, its middle is left out, because names often
// differ at their end.
void table_put(grid *g, rect clip, int x, int y, int w, const char *words, bool is_name, style st);
