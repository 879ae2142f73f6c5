// SPDX-License-Identifier: MIT
// Draws one cell of a grid with curses on this terminal: reduces colours to those that it has, and
// replaces characters that it cannot show. It keeps what it has found out about the terminal.
#pragma once
#include "tui/grid/grid.h"

struct draw {
    int colors;       // 0, 8, 16, 88, 256, 1 << 24
    bool ascii;       // only ASCII characters, and curses' line drawing
    bool has_default; // the terminal can select "its own colours"
    bool is_direct;   // colours are RGB values
};
// Call it after newterm. wanted_colors: false for NO_COLOR.
void draw_init(struct draw *d, bool utf8, bool wanted_colors);
// Draws the cell at (x, y) of curses's stdscr.
void draw_cell(const struct draw *d, int x, int y, const grid_cell *c);
// Draws the cell of a picture. number: of kitty's protocol; 0: a blank, over which pixels will lie.
// The blank is none that a text can have, so that curses writes over it what comes after it, and
// does not write it itself to get the cursor to somewhere.
void draw_part(int x, int y, const struct grid_part *part, uint32_t number);
