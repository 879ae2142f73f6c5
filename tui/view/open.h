// SPDX-License-Identifier: MIT
// The outputs of a cell on the full screen, one at a time: each display in the view that suits it;
// display 0 is all outputs as one text.
#pragma once
#include "tui/bench/view.h"

// Opens the output that `O` shows: the richest one that is live. If none is live, a table with
// actions; without such a table, curves; without curves, the text.
// false: the cell has no output.
bool open_output(bench *b, const char *id);
// Replaces v, the view of a display, by the view of the display that comes `step` further in the
// same cell; false: there is none. Display 0 needs the cell's `id`.
bool open_turn(view *v, const char *id, int64_t display, int step);
// Appends " 2 of 3" if the cell has more to show.
void open_place(bench *b, const char *id, int64_t display, buf *out);

// The table in a MIME bundle, or NULL; below: its kind for a title, such as "pods".
const cJSON *open_table(const cJSON *bundle);
const char *open_name(const cJSON *bundle);
