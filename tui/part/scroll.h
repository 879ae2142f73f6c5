// SPDX-License-Identifier: MIT
// A place among n rows, of which h are on the screen. The keys of scroll_keys move it, in tables,
// lists and texts. A plain value.
#pragma once
#include "tui/edit/action.h"
#include "tui/edit/mouse.h"

#include <stdbool.h>

struct scroll {
    size_t n;       // number of rows
    size_t at, top; // the row with the cursor, and the first row on the screen
    int h;          // rows on the screen
};

// Call it after n or h have changed: clamps, and moves `top` as little as possible to keep `at` on
// the screen.
void scroll_fit(struct scroll *s, size_t n, int h);
// The same for a text without a cursor: `at` is its first row on the screen.
void scroll_fit_text(struct scroll *s, size_t n, int h);
// The wheel, and a click on one of the rows, of which the first stands at screen row `y`.
enum pointed { POINT_NONE, POINT_MOVED, POINT_OPEN }; // OPEN: a double click on a row
enum pointed scroll_point(struct scroll *s, const struct mouse *m, int y);
// Moves `at`; false: the action is none of these.
bool scroll_act(struct scroll *s, enum action a);
