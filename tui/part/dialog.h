// SPDX-License-Identifier: MIT
// A framed box in the middle of the screen with a question in it. Nothing is owned.
#pragma once
#include "base/text/style.h"
#include "tui/grid/grid.h"
#include "tui/part/scroll.h"

// A row of it: "context kind-dev". A row without a label is a text of its own. Long rows are
// wrapped.
struct dialog_row {
    const char *label, *text;
    style look;
};
struct dialog {
    const char *title;
    const struct dialog_row *rows;
    size_t n;
    const char *keys, *short_keys; // the last row; short_keys (or NULL) is used if keys is too long
    style frame;
    bool input;                  // a free row stands before the keys
    bool waits;                  // it takes no key yet: keys are dim
    const struct scroll *scroll; // for rows that do not all fit: its view has Down and Up for them
};
// Call it before drawing: fits the dialog's `scroll` to its content.
void dialog_settle(rect area, const struct dialog *d, struct scroll *scroll);
// Draws it and returns the free row; {0} without one.
rect dialog_show(grid *g, rect area, const struct dialog *d);

// The same for a plain text with its keys in it.
void dialog_settle_text(rect area, const char *words, struct scroll *scroll);
void dialog_draw(grid *g, rect area, const char *title, const char *words, bool waits,
    const struct scroll *scroll);
