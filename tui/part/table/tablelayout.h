// SPDX-License-Identifier: MIT
// The places of a table's columns in a given width. Pure; nothing is owned.
//
// At first all that matters is there: the widest entries are cut first, and where that is not
// enough, columns that the table does not keep go, from the right. What room is left takes the wide
// columns that have something to say, from the left. A person who chooses a column that is cut or
// missing sees whole columns instead: the first one stays, and so many are passed that the chosen
// one fits.
#pragma once
#include "tui/grid/grid.h"

enum { TABLE_COLUMNS = 1024 };

struct table_column {
    int width;   // of its widest entry
    bool keep;   // it stays when there is no room for all
    bool wide;   // it is shown only if there is room left after the other columns
    bool late;   // of a wide one: it comes after the other wide ones
    bool bare;   // no entry says anything
    bool hidden; // by a person
};

struct table_layout {
    int n;
    int x[TABLE_COLUMNS]; // from the left edge
    int w[TABLE_COLUMNS]; // 0: not shown
    int gap;              // blanks between two columns
    int first;            // the column after the one that stays; 0: all that matters is there
    int missing;          // columns that are not shown, without wide ones and those that are hidden
};
// chosen: it is shown as whole as it can be; -1: none. first: as in the last layout, 0 at first.
void table_layout(const struct table_column *columns, int n, int width, int chosen, int first,
    struct table_layout *out);
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
