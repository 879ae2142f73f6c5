// SPDX-License-Identifier: MIT
// What a cell has left, one thing at a time on the full screen: each of its displays in the view
// that fits it, and all of it as a text, which display 0 stands for.
#pragma once
#include "tui/view/view.h"

// What `O` shows: what is live and richest; of what has ended, a table with actions or the text.
void open_output(bench *b, const char *id);
// The view v of a display gives way to the one `step` further of the same cell; false: there is
// none. `id`, of the cell, is needed for display 0.
bool open_turn(view *v, const char *id, int64_t display, int step);
// Appends "  2 of 3" when its cell has more to show.
void open_place(bench *b, const char *id, int64_t display, buf *out);

// The table in a MIME bundle, or NULL; and what kind it is, for a title: "pods".
const cJSON *open_table(const cJSON *bundle);
const char *open_name(const cJSON *bundle);
