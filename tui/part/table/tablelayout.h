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
    bool wide; // it is shown only if there is room left after the other columns
    bool late; // of a wide one: it comes after the other wide ones
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
// An entry, or a column's name.
struct table_entry {
    const char *words;
    style look;
    bool right;   // it stands at its column's right end
    bool is_name; // it is cut in its middle, because names often differ at their end
};
// Draws it in its column, a row of it, of which only what is in `clip` is seen: where a part of the
// words is outside, a … stands at the edge. Returns where the words start.
int table_put(grid *g, rect clip, rect column, const struct table_entry *e);
