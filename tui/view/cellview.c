// SPDX-License-Identifier: MIT
//   ▌[3] Local mode ───────────────────────────────── trainer.lua  2.1s     title
//   ▌ job = trainer.run { "trainer.lua" }                                   source
//     │ Expected prediction for index 100: 6                                output
//                                                                           an empty row
#include "tui/view/cellview.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "tui/grid/utf8.h"

#include <stdio.h>
#include <string.h>

enum { OUTPUT_INDENT = 4, NUMBERS = 4 };

static int title_rows(bench *b, size_t i)
{
    return slot_cell(b, i)->kind != CELL_MARKDOWN;
}

static int source_rows(const struct slot *s)
{
    return s->input_folded ? 1 : (int)text_lines(edit_text(s->edit));
}

static int shown_rows(bench *b, size_t i, int width)
{
    int rows = output_rows(b, i, width - OUTPUT_INDENT);
    return rows && b->slots[i]->output_folded ? 1 : rows;
}

int cellview_rows(bench *b, size_t i, int width)
{
    return title_rows(b, i) + source_rows(b->slots[i]) + shown_rows(b, i, width) + 1;
}

int cellview_source_row(bench *b, size_t i, size_t line)
{
    return title_rows(b, i) + (b->slots[i]->input_folded ? 0 : (int)line);
}

int cellview_numbers(bench *b, size_t i, bool numbers)
{
    return numbers && slot_cell(b, i)->kind == CELL_CODE ? NUMBERS : 0;
}

// Has it been changed since it ran?
static bool is_stale(struct slot *s, const struct run_cell *r)
{
    if (r->state == STATE_STALE)
        return true;
    if (!r->hash[0] || r->state == STATE_RUNNING || r->state == STATE_QUEUED)
        return false;
    return slot_changed(s, r->hash);
}

static bool is_live(const struct run_cell *r)
{
    for (size_t i = 0; i < r->n_outputs; i++)
        if (r->outputs[i].live)
            return true;
    return false;
}

static style state_text(struct slot *s, const struct run_cell *r, char *out, size_t size)
{
    if (r && (r->state == STATE_QUEUED || r->state == STATE_RUNNING)) {
        snprintf(out, size, "[*]");
        return LOOK_WARN;
    }
    if (r && is_live(r)) {
        snprintf(out, size, "[●]");
        return LOOK_ACCENT;
    }
    if (!r || r->count == 0) {
        snprintf(out, size, "[ ]");
        return LOOK_DIM;
    }
    snprintf(out, size, "[%ld%s]", r->count, is_stale(s, r) ? "~" : "");
    return r->state == STATE_FAILED ? LOOK_ERROR : (style){.fg = COLOR_INDEX(2)};
}

// What stands at the right end of a title: file, tags, and how it went.
static style remark(const cell *c, const struct run_cell *r, buf *out)
{
    AUTO_BUF took = {0};
    const char *file = c->options.file ? c->options.file : c->options.template_;
    if (c->problem)
        buf_fmt(out, "%s  ", c->problem);
    if (c->kind == CELL_RAW)
        buf_str(out, "raw  ");
    if (file)
        buf_fmt(out, "%s  ", file);
    else if (c->options.language)
        buf_fmt(out, "%s  ", c->options.language);
    for (char **e = c->options.effects; e && *e; e++)
        buf_fmt(out, "%s  ", *e);
    if (!r)
        return LOOK_DIM;
    if (r->ended && r->mono_end > r->mono_start)
        duration_format(&took, r->mono_end - r->mono_start);
    else if (r->state == STATE_RUNNING)
        duration_format(&took, (clock_wall() - r->started) / CLOCK_SEC * CLOCK_SEC);
    if (r->state == STATE_QUEUED || r->state == STATE_FAILED || r->state == STATE_CANCELLED)
        buf_fmt(out, "%s  ", cell_state_name(r->state));
    if (took.len)
        buf_fmt(out, "%s  ", buf_cstr(&took));
    return r->state == STATE_FAILED ? LOOK_ERROR : LOOK_DIM;
}

static void draw_title(bench *b, grid *g, rect area, size_t i, int y, bool selected)
{
    const cell *c = slot_cell(b, i);
    const struct run_cell *r = slot_run(b, i);
    char state[32];
    style look = state_text(b->slots[i], r, state, sizeof state);
    AUTO_BUF right = {0};
    style right_look = remark(c, r, &right);
    const char *title = c->title ? c->title : cell_has_tag(c, "parameters") ? "Parameters" : "";
    int x = area.x + 1;
    x += grid_put(g, area, x, y, state, strlen(state), look) + 1;
    int room = area.x + area.w - x;
    int wide = text_width(buf_cstr(&right), right.len, 0);
    wide = wide > room / 2 ? room / 2 : wide;
    int w = grid_put_short(g, area, x, y, room - wide - 1, title, strlen(title), LOOK_BOLD);
    x += w + (w > 0);
    style line = selected ? LOOK_ACCENT : LOOK_DIM;
    grid_hline(g, area, x, y, area.x + area.w - wide - x - (wide > 0), line);
    grid_put_short(
        g, area, area.x + area.w - wide, y, wide, buf_cstr(&right), right.len, right_look);
}

static const char *line_of(const void *text_, size_t line, size_t *n)
{
    return text_line(text_, line, n);
}

static void draw_selection(grid *g, rect area, const struct slot *s, size_t line, int x, int y)
{
    pos from, to;
    size_t n;
    if (!edit_selection(s->edit, &from, &to) || line < from.line || line > to.line)
        return;
    const char *words = text_line(edit_text(s->edit), line, &n);
    size_t a = line == from.line ? from.byte : 0, z = line == to.line ? to.byte : n;
    int left = text_width(words, a, 0), right = text_width(words, z, 0) + (line < to.line);
    grid_restyle(g, rect_clip((rect){x + left, y, right - left, 1}, area), LOOK_SELECTED);
}

// The line where its last run failed, 0: none.
static int64_t error_line(const struct run_cell *r)
{
    for (size_t i = 0; r && i < r->n_outputs; i++)
        if (r->outputs[i].kind == OUTPUT_ERROR)
            return json_int_or(r->outputs[i].data, "line", 0);
    return 0;
}

static void draw_source(
    bench *b, grid *g, rect area, size_t i, size_t line, int y, const struct cell_look *look)
{
    struct slot *s = b->slots[i];
    const text *t = edit_text(s->edit);
    int numbers = cellview_numbers(b, i, look->numbers);
    if (numbers)
        grid_print(g, area, area.x + CELL_INDENT, y, LOOK_DIM, "%3zu", line + 1);
    if (error_line(slot_run(b, i)) == (int64_t)line + 1)
        grid_print(g, area, area.x + 1, y, LOOK_ERROR, "✗");
    rect body = rect_clip((rect){area.x + CELL_INDENT + numbers, area.y, area.w, area.h}, area);
    int x = body.x - look->scroll;
    size_t n;
    struct span spans[SYNTAX_SPANS];
    const char *source = text_line(t, line, &n);
    size_t dirty = text_take_dirty(edit_text(s->edit));
    if (dirty != SIZE_MAX)
        syntax_cache_touch(s->syntax, dirty);
    size_t count = syntax_cache_spans(s->syntax, s->language, line_of, t, line, spans);
    grid_put(g, body, x, y, source, n, (style){0});
    for (size_t k = 0; k < count; k++) // over it, where it is: tabs before it count from x
        grid_restyle(g,
            rect_clip(
                (rect){x + text_width(source, spans[k].from, 0), y,
                    text_width(source, spans[k].to, 0) - text_width(source, spans[k].from, 0), 1},
                body),
            syntax_style(spans[k].class));
    draw_selection(g, body, s, line, x, y);
    pos at = edit_cursor(s->edit);
    if (look->editing && at.line == line)
        grid_set_cursor(g, x + cursor_column(t, at), y);
}

static void draw_folded(bench *b, grid *g, rect area, size_t i, int y)
{
    size_t n;
    const text *t = edit_text(b->slots[i]->edit);
    const char *first = text_line(t, 0, &n);
    int x = area.x + CELL_INDENT;
    x += grid_put_short(g, area, x, y, area.w - CELL_INDENT - 16, first, n, LOOK_DIM);
    grid_print(g, area, x, y, LOOK_DIM, " ⋯ %zu lines", text_lines(t));
}

static void draw_output(bench *b, grid *g, rect area, size_t i, int row, int y)
{
    const grid *out = output_grid(b, i, area.w - OUTPUT_INDENT);
    grid_print(g, area, area.x + CELL_INDENT, y, LOOK_DIM, "│");
    if (b->slots[i]->output_folded)
        grid_print(
            g, area, area.x + OUTPUT_INDENT, y, LOOK_DIM, "⋯ %d rows of output", grid_area(out).h);
    else
        grid_blit(g, area, area.x + OUTPUT_INDENT, y, out, row);
}

void cellview_draw(
    bench *b, grid *g, rect area, size_t i, int row, int y, const struct cell_look *look)
{
    struct slot *s = b->slots[i];
    int titles = title_rows(b, i), sources = source_rows(s);
    int outputs = shown_rows(b, i, area.w);
    if (row < titles)
        draw_title(b, g, area, i, y, look->selected);
    else if (row < titles + sources && s->input_folded)
        draw_folded(b, g, area, i, y);
    else if (row < titles + sources)
        draw_source(b, g, area, i, (size_t)(row - titles), y, look);
    else if (row < titles + sources + outputs)
        draw_output(b, g, area, i, row - titles - sources, y);
    if (look->selected && row < titles + sources + outputs)
        grid_print(g, area, area.x, y, look->editing ? LOOK_GOOD : LOOK_ACCENT, "▌");
}
