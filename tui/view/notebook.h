// SPDX-License-Identifier: MIT
// What the notebook view's drawing (notebook.c) and its actions (notebook_act.c) share. Private to
// them.
#pragma once
#include "tui/bench/structure.h"
#include "tui/view/cellview.h"
#include "tui/view/drawing.h"
#include "tui/view/views.h"

struct notebook_view {
    view head;
    size_t at;    // the selected cell
    char *anchor; // its id
    size_t mark;  // the other end of the selection, the same when it is one cell
    bool editing, numbers;
    size_t top; // the first cell on the screen, and how many of its rows are above it
    int top_row;
    size_t last; // the last cell on the screen
    bool keep;   // the selected cell is kept on the screen
    bool follow; // the cell that runs gets selected, until a person selects one
    int scroll;  // columns, of the cell that is edited
    rect area;
};

// notebook.c
void notebook_follow(struct notebook_view *v); // cells may have come and gone
void notebook_scroll(struct notebook_view *v, int rows);
// Scrolls as little as is needed to have these rows of a cell on the screen, the first above all.
void notebook_show(struct notebook_view *v, size_t i, int from, int n);

// notebook_act.c
bool notebook_act(struct notebook_view *v, enum action a);
