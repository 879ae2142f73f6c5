// SPDX-License-Identifier: MIT
// Shared by the notebook view's drawing (notebook.c), its actions (notebook_act.c), and those who
// find a way in it (find/). Private to them.
#pragma once
#include "tui/bench/drawing.h"
#include "tui/bench/structure.h"
#include "tui/bench/views.h"
#include "tui/edit/vi.h"
#include "tui/view/cell/cellview.h"
#include "tui/view/find/jumps.h"
#include "tui/view/find/search.h"
#include "tui/view/find/section.h"
#include "tui/view/notebook/outline.h"

// A place that a search has led to, and the id of its cell; NULL: none.
struct look {
    char *id;
    struct place place;
};

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
    struct vi vi;   // of the cell that is edited, where a person wants vi's keys
    struct look look;
    struct seeking *seeking; // a search is being typed (notebook/seek.c)
    struct jumps jumps;
    char *came; // id of the cell where a definition was asked for; NULL: none
    pos came_at;
    bool jumping;           // what selects now is no jump to come back from
    bool pane;              // the outline stands beside the cells, where there is room
    struct outline outline; // what it shows, and its first row on the screen
    size_t outline_top;
    rect area; // of the cells
};

// notebook.c
// Takes note that another cell is selected; after an action the notebook does so itself.
void notebook_anchor(struct notebook_view *v);
void notebook_scroll(struct notebook_view *v, int rows);
// Scrolls as little as possible to show these rows of a cell; the first of them matters most.
void notebook_show(struct notebook_view *v, size_t i, int from, int n);

// notebook_goto.c
// Where a person who comes to a run looks first: what asks, runs, or has ended last.
void notebook_land(struct notebook_view *v);
void notebook_go_running(struct notebook_view *v);
void notebook_go_failed(struct notebook_view *v);  // the next one, and around
void notebook_go_changed(struct notebook_view *v); // the next that differs from git's HEAD
// The next place, or the one before, where something is wrong; all cells are checked first.
void notebook_go_problem(struct notebook_view *v, bool back);
// Where the name at the cursor is set; and back to where that was asked. false: it was not.
void notebook_go_definition(struct notebook_view *v);
bool notebook_come_back(struct notebook_view *v);

// notebook/seek.c
bool notebook_search(struct notebook_view *v, bool backwards);
void notebook_seek(view *v, const char *words, buf *said); // as view_ops has it
// Shows a place without selecting its cell; it is marked until another one is looked at.
void notebook_look_at(
    struct notebook_view *v, size_t i, enum part part, size_t line, size_t from, size_t to);
void notebook_look_nowhere(struct notebook_view *v);
// The place in cell i that is looked at; NULL: it is in another one.
const struct place *notebook_looked_at(const struct notebook_view *v, size_t i);

// notebook/outlineview.c, notebook/letters.c
void outline_push(struct notebook_view *v);
void problem_push(struct notebook_view *v);
void marks_push(struct notebook_view *v, bool sets);

// notebook_act.c
bool notebook_in_vi(
    const struct notebook_view *v); // is a cell edited by vi's commands, not typed in?
// Types a key of these; false: it means nothing.
bool notebook_vi_type(struct notebook_view *v, uint32_t point);
// The first and the last of the selected cells, with those that a folded heading hides.
void notebook_selected(const struct notebook_view *v, size_t *lo, size_t *hi);
// Selects a cell and shows this line of its source, near the top of the screen.
void notebook_go(struct notebook_view *v, size_t i, size_t line);
// Goes into a cell, at a place of its text.
void notebook_go_to(struct notebook_view *v, size_t i, pos at);
void notebook_select(struct notebook_view *v, size_t i, bool extend);
bool notebook_act(struct notebook_view *v, enum action a);
