// SPDX-License-Identifier: MIT
// One cell in rows: its title line, its source, its output, an empty row. What is drawn once and
// kept is in the slot's drawing.
#pragma once
#include "tui/bench/slots.h"
#include "tui/view/view.h"

struct cell_look {
    bool selected, editing, numbers;
    int scroll;  // columns that the source is shifted to the left
    bool paired; // the cursor is at a bracket: these two belong together
    pos pair[2];
};
enum { CELL_INDENT = 2 }; // columns before the text: the mark of the selected cell

int cellview_rows(bench *b, size_t i, int width);
// Rows before a line of its source.
int cellview_source_row(bench *b, size_t i, int width, size_t line);
// Draws row `row` of cell i at the screen row y of the area.
void cellview_draw(
    bench *b, grid *g, rect area, size_t i, int row, int y, const struct cell_look *look);
// Columns that line numbers take.
int cellview_numbers(bench *b, size_t i, bool numbers);

// celltitle.c, cellsource.c: parts of it. A row counts from the part's start.
void celltitle_draw(bench *b, grid *g, rect area, size_t i, int y, bool selected);
int cellsource_rows(bench *b, size_t i, int width);
int cellsource_row(bench *b, size_t i, int width, size_t line); // of a line of its text
void cellsource_draw(
    bench *b, grid *g, rect area, size_t i, int row, int y, const struct cell_look *look);

// output.c: a cell's output, drawn anew when it has changed; NULL: it has none. Its rows are known
// after it is forgotten, too.
const grid *output_grid(bench *b, size_t i, int width);
int output_rows(bench *b, size_t i, int width);
