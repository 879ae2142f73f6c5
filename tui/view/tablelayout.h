// SPDX-License-Identifier: MIT
// Where the columns of a table stand in a given width. Pure; nothing is owned.
//
// At shift 0 all that matters is there: the widest entries are cut first, and where that is not
// enough, columns that the table does not keep go, from the right. Further shifts show every entry
// whole, a step of columns to the left each, while the first column stays.
#pragma once
#include "tui/view/tabledata.h"

enum { TABLE_STEP = 8 };

struct table_layout {
    int x[TABLE_COLUMNS]; // from the left edge, which may lie beyond it
    int w[TABLE_COLUMNS]; // 0: hidden
    int gap;              // blanks between two
    int pinned;           // columns of the screen that the first one keeps when shifted, else 0
    int shift;            // as asked for, at most as far as there is something to see
};
void table_layout(const tabledata *t, int width, int shift, struct table_layout *out);
