// SPDX-License-Identifier: MIT
// One cell in rows: its title line, its source, its output, an empty row. Its slot's drawing keeps
// what is drawn once.
#pragma once
#include "tui/bench/find/head.h"
#include "tui/bench/view.h"
#include "tui/view/find/search.h"

struct cell_look {
    bool selected, editing, numbers;
    int scroll;  // columns by which the source is shifted to the left
    bool paired; // the cursor is at a bracket: `pair` is it and its partner
    pos pair[2];
    int64_t failed;            // line of its source, from 1, 0: none
    const struct place *found; // where the search is in this cell; NULL: elsewhere
};
enum {
    CELL_INDENT = 2,
    OUTPUT_INDENT = 4
}; // columns before the text: the mark of the selected cell

int cellview_rows(bench *b, size_t i, int width);
// How many of the cell's rows are above the line that failed; -1: no line failed.
int cellview_error_row(bench *b, size_t i, int width);
// How many of its rows are above a line of its source.
int cellview_source_row(bench *b, size_t i, int width, size_t line);
// The same for a place in it, which may be in a later row of its line.
int cellview_place_row(bench *b, size_t i, int width, pos p);
// How many of its rows are above a row of its output.
int cellview_output_row(bench *b, size_t i, int width, int row);
// Draws row `row` of cell i at the screen row y of the area.
void cellview_draw(
    bench *b, grid *g, rect area, size_t i, int row, int y, const struct cell_look *look);
// Number of columns for line numbers.
int cellview_numbers(bench *b, size_t i, bool numbers);

// celltitle.c, cellsource.c: parts of the cell. Rows count from the start of the part.
void celltitle_draw(bench *b, grid *g, rect area, size_t i, int y, const struct cell_look *look);
// What the search finds in words that are drawn at x, as long as its marks are wanted; found: the
// place that it is at, if that is in these words.
void cellsource_mark_hits(bench *b, grid *g, rect clip, int x, int y, const char *words, size_t n,
    const struct place *found);
// "≠" or "+": how the cell differs from git's HEAD; "" when it does not.
const char *head_mark(const bench *b, enum head_state s);
int cellsource_rows(bench *b, size_t i, int width);
// The line at which the cell's last run failed. If the cell has written a file, also the line at
// which another cell failed in that file. 0: none failed, or the text was changed since.
int64_t cellsource_failed(bench *b, size_t i);
int cellsource_row(bench *b, size_t i, int width, size_t line); // row of a line of its text
// Row of a place of its text; and the place at a row and a column of the text.
int cellsource_cursor_row(bench *b, size_t i, int width, pos p);
pos cellsource_place(bench *b, size_t i, int width, int row, int column);
void cellsource_draw(
    bench *b, grid *g, rect area, size_t i, int row, int y, const struct cell_look *look);

// output.c: a cell's output, drawn again when it has changed; NULL: it has none. The number of rows
// is still known after the drawing was forgotten.
const grid *output_grid(bench *b, size_t i, int width);
int output_rows(bench *b, size_t i, int width);
