// SPDX-License-Identifier: MIT
// A place in numbered lines, and the lines from there on in a rectangle: wrapped or shifted, with
// numbers, and with marks at searched words. A plain value; it borrows the lines and the words.
#pragma once
#include "base/data/pattern.h"
#include "tui/grid/grid.h"
#include "tui/part/lines/lines.h"

struct pane {
    lines *lines;
    uint64_t top; // the first line in the rectangle
    int row;      // how many of its rows are above the rectangle
    bool wrap, numbers;
    bool prefixed;                   // of a log: names of pods before the lines have colours
    int shift;                       // columns to the left of it; when lines are not wrapped
    rect area;                       // as settled last
    uint64_t last;                   // the last line that is in it
    const struct pattern *marked[2]; // of a search, of a filter; NULL: none
    uint64_t hit;                    // the line a search found, UINT64_MAX: none
};

// Call it before drawing: scrolls back if the rest of the lines does not fill the rectangle.
void pane_settle(struct pane *p, rect area);
void pane_draw(const struct pane *p, grid *g);
void pane_scroll(struct pane *p, int64_t rows);
void pane_to(struct pane *p, uint64_t line); // moves this line to the first row
void pane_to_end(struct pane *p);
bool pane_shows(const struct pane *p, uint64_t line);
void pane_shift(struct pane *p, int direction); // by half of the width; ends wrapping
