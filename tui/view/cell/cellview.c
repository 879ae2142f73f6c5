// SPDX-License-Identifier: MIT
//   ▌[3] Local mode ───────────────────────────────── trainer.lua  2.1s     title
//   ▌ job = trainer.run { "trainer.lua" }                                   source
//     │ Expected prediction for index 100: 6                                output
//   ⋯ 12 cells, 1 failed                                                    of a folded section
//                                                                           an empty row
#include "tui/view/cell/cellview.h"

#include "tui/bench/drawing.h"
#include "tui/view/find/section.h"

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
    if (section_hidden(b, i))
        return 0;
    return title_rows(b, i) + cellsource_rows(b, i, width) + shown_rows(b, i, width) +
           (section_hides(b, i) > 0) + 1;
}

int cellview_output_row(bench *b, size_t i, int width, int row)
{
    return title_rows(b, i) + cellsource_rows(b, i, width) + row;
}

int cellview_source_row(bench *b, size_t i, int width, size_t line)
{
    return title_rows(b, i) + cellsource_row(b, i, width, line);
}

int cellview_place_row(bench *b, size_t i, int width, pos p)
{
    return title_rows(b, i) + cellsource_cursor_row(b, i, width, p);
}

// What the search finds in a row of an output, if that has the words of its line.
static void mark_output(bench *b, grid *g, rect area, const grid *out, int row, int y)
{
    AUTO_BUF words = {0};
    if (!bench_marks(b))
        return;
    grid_row_text(out, row, &words);
    cellsource_mark_hits(b, g, area, area.x + OUTPUT_INDENT, y, buf_cstr(&words), words.len, NULL);
}

// "⋯ 12 cells, 1 failed, 2 run"
static void draw_folded(bench *b, grid *g, rect area, size_t i, int y)
{
    size_t hides = section_hides(b, i), failed = 0, busy = 0;
    for (size_t k = i + 1; k <= i + hides; k++) {
        const struct run_cell *r = slot_run(b, k);
        failed += r && r->state == STATE_FAILED;
        busy += r && (r->state == STATE_RUNNING || r->state == STATE_QUEUED);
    }
    int x = area.x + CELL_INDENT;
    x += grid_print(g, area, x, y, LOOK_DIM, "⋯ %zu cell%s", hides, hides == 1 ? "" : "s");
    if (failed)
        x += grid_print(g, area, x, y, LOOK_ERROR, ", %zu failed", failed);
    if (busy)
        grid_print(g, area, x, y, LOOK_WARN, ", %zu run%s", busy, busy == 1 ? "s" : "");
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
    if (!slot_drawing(slot_at(b, i))->output_folded)
        mark_output(b, g, area, out, row, y);
}

void cellview_draw(
    bench *b, grid *g, rect area, size_t i, int row, int y, const struct cell_look *look)
{
    int titles = title_rows(b, i), sources = cellsource_rows(b, i, area.w);
    int outputs = shown_rows(b, i, area.w);
    if (row < titles)
        celltitle_draw(b, g, area, i, y, look);
    else if (row < titles + sources)
        cellsource_draw(b, g, area, i, row - titles, y, look);
    else if (row < titles + sources + outputs)
        draw_output(b, g, area, i, row - titles - sources, y);
    else if (row == titles + sources + outputs && section_hides(b, i))
        draw_folded(b, g, area, i, y);
    if (look->selected && row < titles + sources + outputs)
        grid_print(g, area, area.x, y, look->editing ? LOOK_GOOD : LOOK_ACCENT, "▌");
}
