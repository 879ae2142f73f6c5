// SPDX-License-Identifier: MIT
// Shared by the notebook view's drawing (notebook.c) and its actions (notebook_act.c). Private to
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
    size_t mark;  // the other end of the selection; equal to `at` for one cell
    bool editing, numbers;
    size_t top; // the first cell on the screen, and how many of its rows are above the screen
    int top_row;
    size_t last; // the last cell on the screen
    bool keep;   // keep the selected cell on the screen
    bool follow; // select the running cell, until a person selects one
    bool landed; // went to what mattered when the kernel's past had arrived
    bool error;  // keep the line that failed on the screen, of a cell that is longer than that
    int scroll;  // columns by which the edited cell is shifted
    // A cell that asks was selected for it, away from `back`, to which the selection returns when
    // nothing is asked any more; else NULL.
    char *asking, *back;
    bool back_edits; // it was edited
    int64_t warned;  // mono ns: C-c was told that it interrupts another cell; 0: not
    char *held;      // id of the cell that was edited when this was drawn, and the row of its title
    int held_y, held_w;
    size_t held_at; // then: its place among the cells
    rect area;
};

// notebook.c
void notebook_scroll(struct notebook_view *v, int rows);
// Scrolls as little as possible to show these rows of a cell; the first of them matters most.
void notebook_show(struct notebook_view *v, size_t i, int from, int n);

// notebook_goto.c
// Where a person who comes to a run looks first: what asks, runs, or has ended last.
void notebook_land(struct notebook_view *v);
void notebook_go_running(struct notebook_view *v);
void notebook_go_failed(struct notebook_view *v); // the next one, and around

// notebook_act.c
void notebook_select(struct notebook_view *v, size_t i, bool extend);
bool notebook_act(struct notebook_view *v, enum action a);
