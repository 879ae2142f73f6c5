// SPDX-License-Identifier: MIT
// A place in numbered lines, and the lines from there on in the rows of a rectangle: wrapped or
// shifted, with numbers, with marks where searched words stand. A plain value; the lines and the
// words are somebody else's.
#pragma once
#include "base/needle.h"
#include "tui/grid/grid.h"
#include "tui/part/lines.h"

struct pane {
    lines *lines;
    uint64_t top; // the first line in the rectangle
    int row;      // of its rows, those above the rectangle
    bool wrap, numbers;
    int shift;                      // columns to the left of it; when lines are not wrapped
    rect area;                      // as settled last
    uint64_t last;                  // the last line that is in it
    const struct needle *marked[2]; // of a search, of a filter; NULL: none
    uint64_t hit;                   // the line a search found, UINT64_MAX: none
};

// Before it is drawn there: no further down than what there is fills it.
void pane_settle(struct pane *p, rect area);
void pane_draw(const struct pane *p, grid *g);
void pane_scroll(struct pane *p, int64_t rows);
void pane_to(struct pane *p, uint64_t line); // to the first row
void pane_to_end(struct pane *p);
bool pane_shows(const struct pane *p, uint64_t line);
void pane_shift(struct pane *p, int direction); // half of the width; ends wrapping
