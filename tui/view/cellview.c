// SPDX-License-Identifier: MIT
//   ▌[3] Local mode ───────────────────────────────── trainer.lua  2.1s     title
//   ▌ job = trainer.run { "trainer.lua" }                                   source
//     │ Expected prediction for index 100: 6                                output
//                                                                           an empty row
#include "tui/view/cellview.h"

#include "tui/view/drawing.h"

enum { OUTPUT_INDENT = 4 };

static int title_rows(bench *b, size_t i)
{
    return slot_cell(b, i)->kind != CELL_MARKDOWN;
}

static int shown_rows(bench *b, size_t i, int width)
{
    bool code = slot_cell(b, i)->kind == CELL_CODE; // a text cell hides its old output
    int rows = code ? output_rows(b, i, width - OUTPUT_INDENT) : 0;
    return rows && slot_drawing(slot_at(b, i))->output_folded ? 1 : rows;
}

int cellview_rows(bench *b, size_t i, int width)
{
    return title_rows(b, i) + cellsource_rows(b, i, width) + shown_rows(b, i, width) + 1;
}

int cellview_source_row(bench *b, size_t i, int width, size_t line)
{
    return title_rows(b, i) + cellsource_row(b, i, width, line);
}

static void draw_output(bench *b, grid *g, rect area, size_t i, int row, int y)
{
    const grid *out = output_grid(b, i, area.w - OUTPUT_INDENT);
    grid_print(g, area, area.x + CELL_INDENT, y, LOOK_DIM, "│");
    if (slot_drawing(slot_at(b, i))->output_folded)
        grid_print(
            g, area, area.x + OUTPUT_INDENT, y, LOOK_DIM, "⋯ %d rows of output", grid_area(out).h);
    else
        grid_blit(g, area, area.x + OUTPUT_INDENT, y, out, row);
}

void cellview_draw(
    bench *b, grid *g, rect area, size_t i, int row, int y, const struct cell_look *look)
{
    int titles = title_rows(b, i), sources = cellsource_rows(b, i, area.w);
    int outputs = shown_rows(b, i, area.w);
    if (row < titles)
        celltitle_draw(b, g, area, i, y, look->selected);
    else if (row < titles + sources)
        cellsource_draw(b, g, area, i, row - titles, y, look);
    else if (row < titles + sources + outputs)
        draw_output(b, g, area, i, row - titles - sources, y);
    if (look->selected && row < titles + sources + outputs)
        grid_print(g, area, area.x, y, look->editing ? LOOK_GOOD : LOOK_ACCENT, "▌");
}
