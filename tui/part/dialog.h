// SPDX-License-Identifier: MIT
// A framed box in the middle of the screen with a question in it. Nothing is owned.
#pragma once
#include "base/text/style.h"
#include "tui/grid/grid.h"
#include "tui/part/scroll.h"

// A row of it: "context  kind-dev". Without a label it is a text of its own. Long ones are wrapped.
struct dialog_row {
    const char *label, *text;
    style look;
};
struct dialog {
    const char *title;
    const struct dialog_row *rows;
    size_t n;
    const char *keys, *short_keys; // the last row; the short one (or NULL) where it is too long
    style frame;
    bool input;                  // a free row stands before the keys
    const struct scroll *scroll; // when not all fits; NULL: its end is cut
};
// Before it is shown: fits its `scroll`, which this is, to what it has.
void dialog_settle(rect area, const struct dialog *d, struct scroll *scroll);
// Returns the free row, {0} without one.
rect dialog_show(grid *g, rect area, const struct dialog *d);

// The same for a plain text; *rest (may be NULL) gets the free row.
void dialog_draw(
    grid *g, rect area, const char *title, const char *text, const char *keys, rect *rest);
