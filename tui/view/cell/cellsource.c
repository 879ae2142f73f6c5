// SPDX-License-Identifier: MIT
// The source of a cell in rows: with its colours, the error of its last run at its line, what the
// search finds, brackets that belong together; or, of a text cell that is not edited, as it is
// read.
#include "base/data/pattern.h"
#include "base/str.h"
#include "base/text/utf8.h"
#include "tui/bench/document/problems.h"
#include "tui/bench/drawing.h"
#include "tui/syntax/markdown_layout.h"
#include "tui/view/cell/cellview.h"
#include "tui/view/cell/cellwrap.h"

#include <limits.h>
#include <string.h>

enum { NUMBERS = 4, READ_WIDTH = 100 };

static const style look_hit = {.attrs = ATTR_REVERSE};
static const style look_here = {.fg = COLOR_INDEX(3), .attrs = ATTR_BOLD | ATTR_UNDERLINE};
static const style look_bracket = {.fg = COLOR_INDEX(6), .attrs = ATTR_BOLD | ATTR_UNDERLINE};

int cellview_numbers(bench *b, size_t i, bool numbers)
{
    return numbers && slot_cell(b, i)->kind == CELL_CODE ? NUMBERS : 0;
}

// A text cell, formatted again when it or the width has changed; NULL: it shows its source.
static const markdown *rendered(bench *b, size_t i, int width)
{
    struct slot *s = slot_at(b, i);
    struct drawing *d = slot_drawing(s);
    const text *t = edit_text(slot_edit(s));
    if (slot_cell(b, i)->kind != CELL_MARKDOWN || slot_is_edited(b, s))
        return NULL;
    width = width - CELL_INDENT < READ_WIDTH ? width - CELL_INDENT : READ_WIDTH;
    if (!d->rendered || d->rendered_width != width || d->rendered_text != text_revision(t)) {
        AUTO_BUF words = {0};
        text_all(t, &words);
        markdown_free(d->rendered);
        d->rendered = markdown_new(buf_cstr(&words), words.len, width, bench_ascii(b));
        d->rendered_width = width;
        d->rendered_text = text_revision(t);
    }
    return markdown_lines(d->rendered) ? d->rendered : NULL;
}

// Columns of the text, beside the mark of the selected cell and line numbers.
static int text_columns(bench *b, size_t i, int width)
{
    return width - CELL_INDENT - cellview_numbers(b, i, bench_numbers(b));
}

int cellsource_rows(bench *b, size_t i, int width)
{
    struct slot *s = slot_at(b, i);
    const text *t = edit_text(slot_edit(s));
    bool folded = slot_drawing(s)->input_folded;
    const markdown *m = folded ? NULL : rendered(b, i, width);
    if (!folded && !m && bench_wraps(b))
        return wrap_rows(slot_drawing(s), t, text_columns(b, i, width));
    return folded ? 1 : m ? (int)markdown_lines(m) : (int)text_lines(t);
}

int cellsource_cursor_row(bench *b, size_t i, int width, pos p)
{
    size_t n;
    const text *t = edit_text(slot_edit(slot_at(b, i)));
    int row = cellsource_row(b, i, width, p.line);
    if (!bench_wraps(b) || slot_drawing(slot_at(b, i))->input_folded)
        return row;
    const char *words = text_line(t, p.line, &n);
    return row + wrap_within(words, n, text_columns(b, i, width), cursor_column(t, p));
}

pos cellsource_place(bench *b, size_t i, int width, int row, int column)
{
    const text *t = edit_text(slot_edit(slot_at(b, i)));
    struct drawing *d = slot_drawing(slot_at(b, i));
    int within = 0, columns = text_columns(b, i, width), ignored;
    size_t n, lines = text_lines(t), line = row < 0 ? 0 : (size_t)row;
    if (bench_wraps(b))
        line = wrap_line(d, t, columns, row < 0 ? 0 : row, &within);
    line = line < lines ? line : lines - 1;
    const char *words = text_line(t, line, &n);
    if (!bench_wraps(b))
        return (pos){line, column > 0 ? text_fit(words, n, column, &ignored) : 0};
    struct wrapped w = wrap_part(words, n, columns, within);
    column -= within ? WRAP_INDENT : 0;
    column = column > w.to - w.from ? w.to - w.from : column;
    return (pos){
        line, w.byte + (column > 0 ? text_fit(words + w.byte, n - w.byte, column, &ignored) : 0)};
}

int cellsource_row(bench *b, size_t i, int width, size_t line)
{
    const markdown *m = rendered(b, i, width);
    if (slot_drawing(slot_at(b, i))->input_folded)
        return 0;
    struct slot *s = slot_at(b, i);
    if (!m && bench_wraps(b))
        return wrap_row(slot_drawing(s), edit_text(slot_edit(s)), text_columns(b, i, width), line);
    if (!m)
        return (int)line;
    size_t row = 0;
    while (row + 1 < markdown_lines(m) && markdown_source(m, row + 1) <= line)
        row++;
    return (int)row;
}

static const char *line_of(const void *text_, size_t line, size_t *n)
{
    return text_line(text_, line, n);
}

// Lays a style over the bytes [from, to) of a line that is drawn at x.
static void restyle(
    grid *g, rect clip, int x, int y, const char *words, size_t from, size_t to, style look)
{
    int left = text_width(words, from, 0), right = text_width(words, to, 0);
    grid_restyle(g, rect_clip((rect){x + left, y, right - left, 1}, clip), look);
}

void cellsource_mark_hits(bench *b, grid *g, rect clip, int x, int y, const char *words, size_t n,
    const struct place *found)
{
    const struct pattern *pattern = bench_search_pattern(b);
    size_t next = 0, length;
    if (!bench_marks(b) || pattern_is_empty(pattern))
        return;
    for (const char *hit; (hit = pattern_find(pattern, words, n, next, &length));) {
        size_t from = (size_t)(hit - words);
        restyle(g, clip, x, y, words, from, from + length, look_hit);
        if (found && found->from == from)
            restyle(g, clip, x, y, words, from, from + length, look_here);
        next = from + length + !length;
    }
}

static void draw_selection(grid *g, rect clip, const struct slot *s, size_t line, int x, int y)
{
    pos from, to;
    size_t n;
    if (!edit_selection(slot_edit(s), &from, &to) || line < from.line || line > to.line)
        return;
    const char *words = text_line(edit_text(slot_edit(s)), line, &n);
    size_t a = line == from.line ? from.byte : 0, z = line == to.line ? to.byte : n;
    restyle(g, clip, x, y, words, a, z, LOOK_SELECTED);
    if (line < to.line)
        grid_restyle(
            g, rect_clip((rect){x + text_width(words, z, 0), y, 1, 1}, clip), LOOK_SELECTED);
}

static void draw_brackets(
    grid *g, rect clip, const struct cell_look *look, size_t line, int x, int y, const char *words)
{
    for (int k = 0; k < 2 && look->paired; k++)
        if (look->pair[k].line == line)
            restyle(g, clip, x, y, words, look->pair[k].byte, look->pair[k].byte + 1, look_bracket);
}

static void underline(
    bench *b, grid *g, rect clip, size_t i, size_t line, int x, int y, const char *words)
{
    struct problem p;
    for (size_t k = 0; slot_problem(b, i, k, &p); k++)
        if (p.line == line)
            restyle(g, clip, x, y, words, p.from, p.to,
                style_over((style){.attrs = ATTR_UNDERLINE}, p.warning ? LOOK_WARN : LOOK_ERROR));
}

static const cJSON *error_of(const struct run_cell *r)
{
    for (size_t i = 0; r && i < r->n_outputs; i++)
        if (r->outputs[i].kind == OUTPUT_ERROR)
            return r->outputs[i].data;
    return NULL;
}

// The line of its file at which another cell failed that used it.
static int64_t origin_line(bench *b, struct slot *s)
{
    for (size_t i = 0; i < slot_count(b); i++) {
        const struct run_cell *r = slot_run(b, i);
        const cJSON *error = r && r->state == STATE_FAILED ? error_of(r) : NULL;
        if (error && str_eq(json_str(error, "origin"), slot_id(s)))
            return json_int_or(error, "origin_line", 0);
    }
    return 0;
}

int64_t cellsource_failed(bench *b, size_t i)
{
    struct slot *s = slot_at(b, i);
    const struct run_cell *r = slot_run(b, i);
    const cJSON *error = error_of(r);
    if (!r || slot_changed(s, r->hash))
        return 0;
    return error ? json_int_or(error, "line", 0) : origin_line(b, s);
}

int cellview_error_row(bench *b, size_t i, int width)
{
    struct slot *s = slot_at(b, i);
    int64_t line = cellsource_failed(b, i);
    bool there = line > 0 && (size_t)line <= text_lines(edit_text(slot_edit(s)));
    return there ? cellview_source_row(b, i, width, (size_t)line - 1) : -1;
}

// Marks a line that continues beyond the edges.
static void draw_edges(bench *b, grid *g, rect body, int y, int scroll, const char *words, size_t n)
{
    if (scroll > 0 && n)
        grid_print(g, body, body.x, y, LOOK_DIM, bench_ascii(b) ? "<" : "‹");
    if (text_width(words, n, 0) - scroll > body.w)
        grid_print(g, body, body.x + body.w - 1, y, LOOK_DIM, bench_ascii(b) ? ">" : "›");
}

// The cursor, if it is in this part of the line; behind the last column it stands on that.
static void set_cursor(grid *g, rect body, const struct wrapped *part, int column, int x, int y)
{
    int at = x + column, edge = body.x + body.w - 1;
    if (column >= part->from && (column < part->to || part->last))
        grid_set_cursor(g, at > edge ? edge : at, y);
}

// The part of a line that a row has: within, which of its rows it is.
static void draw_line(bench *b, grid *g, rect area, size_t i, size_t line, int within, int y,
    const struct cell_look *look)
{
    struct slot *s = slot_at(b, i);
    const text *t = edit_text(slot_edit(s));
    int numbers = cellview_numbers(b, i, look->numbers);
    bool failed = look->failed == (int64_t)line + 1;
    struct problem p;
    bool wrong = slot_problem_at(b, i, (pos){line, 0}, &p);
    if (numbers && !within)
        grid_print(g, area, area.x + CELL_INDENT, y, LOOK_DIM, "%3zu", line + 1);
    if (failed && !within)
        grid_print(g, area, area.x + 1, y, LOOK_ERROR, "✗");
    else if (wrong && !within)
        grid_print(g, area, area.x + 1, y, p.warning ? LOOK_WARN : LOOK_ERROR, "!");
    rect body = rect_clip((rect){area.x + CELL_INDENT + numbers, area.y, area.w, area.h}, area);
    size_t n, dirty = text_take_dirty(edit_text(slot_edit(s)));
    struct span spans[SYNTAX_SPANS];
    const char *words = text_line(t, line, &n);
    struct wrapped part = {.to = INT_MAX, .last = true};
    if (bench_wraps(b)) {
        part = wrap_part(words, n, body.w, within);
        body.x += within ? WRAP_INDENT : 0;
        body.w -= within ? WRAP_INDENT : 0;
        if (!part.last && part.to - part.from < body.w)
            body.w = part.to - part.from;
    }
    int x = body.x - (bench_wraps(b) ? part.from : look->scroll);
    if (dirty != SIZE_MAX)
        syntax_cache_touch(slot_drawing(s)->syntax, dirty);
    size_t count =
        syntax_cache_spans(slot_drawing(s)->syntax, slot_language(s), line_of, t, line, spans);
    grid_put(g, body, x, y, words, n, (style){0});
    for (size_t k = 0; k < count; k++)
        restyle(g, body, x, y, words, spans[k].from, spans[k].to, syntax_style(spans[k].class));
    if (failed)
        restyle(g, body, x, y, words, strspn(words, " \t"), n, (style){.attrs = ATTR_UNDERLINE});
    if (wrong)
        underline(b, g, body, i, line, x, y, words);
    bool here = look->found && look->found->part == PART_SOURCE && look->found->line == line;
    cellsource_mark_hits(b, g, body, x, y, words, n, here ? look->found : NULL);
    if (look->editing || bench_marks(b))
        draw_selection(g, body, s, line, x, y);
    if (!bench_wraps(b))
        draw_edges(b, g, body, y, look->scroll, words, n);
    if (!look->editing)
        return;
    draw_brackets(g, body, look, line, x, y, words);
    if (edit_cursor(slot_edit(s)).line == line)
        set_cursor(g, body, &part, cursor_column(t, edit_cursor(slot_edit(s))), x, y);
}

static void draw_row(
    bench *b, grid *g, rect area, size_t i, int row, int y, const struct cell_look *look)
{
    struct slot *s = slot_at(b, i);
    int within = 0;
    size_t line = bench_wraps(b) ? wrap_line(slot_drawing(s), edit_text(slot_edit(s)),
                                       text_columns(b, i, area.w), row, &within)
                                 : (size_t)row;
    draw_line(b, g, area, i, line, within, y, look);
}

static void draw_read(bench *b, grid *g, rect area, const markdown *m, size_t row, int y)
{
    struct ansi_line line = markdown_line(m, row);
    rect body = rect_clip((rect){area.x + CELL_INDENT, area.y, area.w, area.h}, area);
    int x = body.x;
    for (size_t k = 0; k < line.spans_n; k++)
        x += grid_put(g, body, x, y, line.text + line.spans[k].from,
            line.spans[k].to - line.spans[k].from, line.spans[k].style);
    cellsource_mark_hits(b, g, body, body.x, y, line.text, line.n, NULL);
    draw_edges(b, g, body, y, 0, line.text, line.n);
}

static void draw_folded(bench *b, grid *g, rect area, size_t i, int y)
{
    size_t n;
    const text *t = edit_text(slot_edit(slot_at(b, i)));
    const char *first = text_line(t, 0, &n);
    int x = area.x + CELL_INDENT;
    x += grid_put_short(g, area, x, y, area.w - CELL_INDENT - 16, first, n, LOOK_DIM);
    grid_print(
        g, area, x, y, LOOK_DIM, " ⋯ %zu line%s", text_lines(t), text_lines(t) == 1 ? "" : "s");
}

void cellsource_draw(
    bench *b, grid *g, rect area, size_t i, int row, int y, const struct cell_look *look)
{
    const markdown *m = rendered(b, i, area.w);
    if (slot_drawing(slot_at(b, i))->input_folded)
        draw_folded(b, g, area, i, y);
    else if (m)
        draw_read(b, g, area, m, (size_t)row, y);
    else
        draw_row(b, g, area, i, row, y, look);
}
