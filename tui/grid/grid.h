// SPDX-License-Identifier: MIT
// A screen as a grid of cells, drawn by views and shown by tui/term. The grid owns its cells; text
// is copied into them. Drawing outside of a rectangle or of the grid is clipped; it is never an
// error.
//
//   columns   0    1    2    3    4        "a漢é" : a wide character fills two cells, of which the
//           ┌────┬────┬────┬────┬────┐               second is its tail (width 0); combining marks
//           │ a  │ 漢 │tail│ é  │    │               share the cell of their base.
//           └────┴────┴────┴────┴────┘
//
// In a longer cluster (base/text/utf8.h) each code point with a width gets cells of its own. So the
// columns are right on terminals that join code points and on those that do not: without the
// joiners a family is four emoji side by side. A skin tone behind an emoji is blank, because a
// terminal that joins would colour the emoji and advance by 0 instead of 2 columns.
#pragma once
#include "base/buf.h"
#include "base/text/style.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CELL_POINTS = 4 }; // a base and up to 3 marks; more marks are dropped

typedef struct grid_cell {
    uint32_t points[CELL_POINTS]; // zero-terminated if shorter; a blank is ' '; a tail has none
    style style;
    uint8_t width; // 1 or 2; 0: the tail of the wide character to the left
} grid_cell;

// A cell may show a part of a picture instead of a character, where the terminal can (tui/picture).
// No text becomes such a cell.
struct grid_part {
    uint32_t picture; // its number; 0: the cell has a character
    int column, row;  // which of the cells of the picture it is
};

typedef struct rect {
    int x, y, w, h;
} rect;
rect rect_clip(rect r, rect by);

typedef struct grid grid;
grid *grid_new(int w, int h); // blank
void grid_free(grid *g);
void grid_resize(grid *g, int w, int h);               // also blanks it
rect grid_area(const grid *g);                         // {0, 0, w, h}
const grid_cell *grid_at(const grid *g, int x, int y); // NULL outside
void grid_copy(grid *to, const grid *from);

void grid_clear(grid *g);
// Copies a whole row of another grid to (x, y): for rows that are drawn once and shown often. Wide
// characters must not stand across the edges of the clip.
void grid_blit(grid *to, rect clip, int x, int y, const grid *from, int row);
// Fills with one character of width 1.
void grid_fill(grid *g, rect area, uint32_t point, style s);
// Draws one line of UTF-8 with its first column at (x, y), which may lie left of `clip`. Tabs go to
// columns of 8 counted from x; a control character is drawn as U+FFFD, so none gets any further.
// Returns the columns the whole text takes. A wide character half outside is drawn as blank.
int grid_put(grid *g, rect clip, int x, int y, const char *s, size_t n, style st);
// The same for a string, with printf.
int grid_print(grid *g, rect clip, int x, int y, style st, const char *fmt, ...)
    __attribute__((format(printf, 6, 7)));
// Draws text that ends in "…" when it does not fit in w columns; returns the columns it took.
int grid_put_short(grid *g, rect clip, int x, int y, int w, const char *s, size_t n, style st);
// Lays a style over a drawn area (a selection, a cursor line): see style_over.
void grid_restyle(grid *g, rect area, style over);
// Gives each cell the look that `as` makes of the one it has; it is asked once for a run of cells
// that look the same.
void grid_restyle_all(grid *g, style (*as)(void *arg, style s), void *arg);
// A frame of box-drawing characters along the inside of `area`, with a title in its top edge
// (or NULL).
void grid_box(grid *g, rect area, style s, const char *title);
// Fills an area with the first cells of a picture.
void grid_put_picture(grid *g, rect clip, rect area, uint32_t id);
struct grid_part grid_part_of(const grid_cell *c);
void grid_hline(grid *g, rect clip, int x, int y, int w, style s);
void grid_vline(grid *g, rect clip, int x, int y, int h, style s);

// Where the terminal's cursor stands; x < 0 hides it, as in a new grid.
void grid_set_cursor(grid *g, int x, int y);
bool grid_cursor(const grid *g, int *x, int *y); // false: it is hidden
// Where it stands while it is hidden: at what is selected, for screen readers and magnifiers.
void grid_park_cursor(grid *g, int x, int y);
void grid_parked(const grid *g, int *x, int *y); // the lower left corner by default

// Calls `run` for each run of cells that differ, row by row, left to right. A run never begins or
// ends within a wide character of `now`. Grids of different size differ everywhere.
void grid_diff(
    const grid *was, const grid *now, void (*run)(void *arg, int x, int y, int n), void *arg);
// A row as UTF-8 without trailing blanks, for tests and the clipboard.
void grid_row_text(const grid *g, int y, buf *out);
