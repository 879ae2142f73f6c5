// SPDX-License-Identifier: MIT
// One cell of a grid as curses draws it on this terminal: colours brought down to what it has,
// characters it cannot show replaced. Keeps what it has found out about the terminal.
#pragma once
#include "tui/grid/grid.h"

struct draw {
    int colors;       // 0, 8, 16, 88, 256, 1 << 24
    bool ascii;       // no character beyond ASCII but curses's line drawing
    bool has_default; // the terminal knows "its own colours"
    bool is_direct;   // colours are RGB values
};
// After newterm. wanted_colors: false for NO_COLOR.
void draw_init(struct draw *d, bool utf8, bool wanted_colors);
// Draws the cell at (x, y) of curses's stdscr.
void draw_cell(const struct draw *d, int x, int y, const grid_cell *c);
