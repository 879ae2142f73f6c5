// SPDX-License-Identifier: MIT
// The places of a table's columns in a given width. Pure; nothing is owned.
//
// At shift 0 all that matters is there: the widest entries are cut first, and where that is not
// enough, columns that the table does not keep go, from the right. What room is left takes the wide
// columns that have something to say, from the left. Further shifts show every entry whole, a step
// of columns to the left each, while the first column stays.
#pragma once
#include "tui/grid/grid.h"

enum { TABLE_COLUMNS = 32, TABLE_STEP = 8 };

struct table_column {
    int width; // of its widest entry
    bool keep; // it stays when there is no room for all
    bool wide; // only where there is room, once all others have theirs
    bool late; // of wide ones: only once these have theirs
    bool bare; // no entry says anything
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
