// SPDX-License-Identifier: MIT
// The notebook: cells one below the other; one of them is selected or edited. Drawing starts at row
// `top_row` of cell `top` and ends with the screen; of the cells beside it only headings are looked
// at.
#include "tui/view/notebook/notebook.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text/utf8.h"
#include "tui/bench/document/problems.h"
#include "tui/bench/questions.h"

#include <string.h>

static int rows(const struct notebook_view *v, size_t i)
{
    return cellview_rows(v->head.bench, i, v->area.w);
}

void notebook_scroll(struct notebook_view *v, int n)
{
    bench *b = v->head.bench;
    v->top_row += n;
    while (v->top_row < 0 && v->top > 0)
        v->top_row += rows(v, --v->top);
    while (v->top + 1 < slot_count(b) && v->top_row >= rows(v, v->top))
        v->top_row -= rows(v, v->top++);
    int last = slot_count(b) ? rows(v, v->top) - 1 : 0;
    v->top_row = v->top_row < 0 ? 0 : v->top_row > last ? last : v->top_row;
}

// The screen row of a cell's row; a row below the screen gives a number beyond its height.
static int screen_row(const struct notebook_view *v, size_t i, int row)
{
    if (i < v->top)
        return -1;
    int y = -v->top_row;
    for (size_t k = v->top; k < i; k++) {
        y += rows(v, k);
        if (y > v->area.h)
            return y;
    }
    return y + row;
}

void notebook_show(struct notebook_view *v, size_t i, int from, int n)
{
    int y = screen_row(v, i, from);
    if (y >= 0 && y + n <= v->area.h)
        return;
    if (y < 0 || n > v->area.h) {
        v->top = i;
        v->top_row = from;
        return;
    }
    v->top = i;
    v->top_row = from + n;
    notebook_scroll(v, -v->area.h);
}

static void keep_cursor(struct notebook_view *v)
{
    bench *b = v->head.bench;
    struct slot *s = slot_at(b, v->at);
    pos p = edit_cursor(slot_edit(s));
    int column = cursor_column(edit_text(slot_edit(s)), p);
    int room = v->area.w - CELL_INDENT - cellview_numbers(b, v->at, v->numbers) - 2;
    if (column < v->scroll + 1)
        v->scroll = column > 0 ? column - 1 : 0;
    if (column - v->scroll > room)
        v->scroll = column - room;
    if ((v->scroll && column <= room / 2) || bench_wraps(b))
        v->scroll = 0;
    notebook_show(v, v->at, cellview_place_row(b, v->at, v->area.w, p), 1);
}

// The next or the previous of the cells that are shown.
static bool is_neighbour(const struct notebook_view *v, size_t was)
{
    bench *b = v->head.bench;
    size_t i = v->at < was ? v->at : was, last = v->at < was ? was : v->at;
    while (++i < last && section_hidden(b, i))
        ;
    return i == last;
}

// Whoever goes further than to a neighbour may want to come back.
static void note_jump(struct notebook_view *v)
{
    size_t was;
    bool known = v->anchor && slot_by_id(v->head.bench, v->anchor, &was);
    if (known && !v->jumping && !v->follow && !is_neighbour(v, was))
        jumps_add(&v->jumps, v->anchor);
    v->jumping = false;
}

// Remembers the id of the selected cell: other clients insert and move cells, too.
void notebook_anchor(struct notebook_view *v)
{
    bench *b = v->head.bench;
    const char *id = v->at < slot_count(b) ? slot_id(slot_at(b, v->at)) : NULL;
    if (v->anchor && id && str_eq(v->anchor, id))
        return;
    note_jump(v);
    free(v->anchor);
    v->anchor = mem_strdup(id);
}

static void forget_back(struct notebook_view *v)
{
    free(STEAL(v->asking));
    free(STEAL(v->back));
}

// Remembers what was selected before a cell that asks.
static void note_asking(struct notebook_view *v)
{
    const char *id = slot_id(slot_at(v->head.bench, v->at));
    if (v->asking && str_eq(id, v->asking)) // it asks once more
        return;
    forget_back(v);
    if (!v->anchor || str_eq(id, v->anchor) || v->follow)
        return;
    v->asking = mem_strdup(id);
    v->back = STEAL(v->anchor);
    v->back_edits = v->editing;
}

// When the cell has its answer, unless a person has gone elsewhere, or into it.
static void go_back(struct notebook_view *v)
{
    bench *b = v->head.bench;
    size_t at;
    bool there = v->asking && v->anchor && str_eq(v->anchor, v->asking);
    if (!v->back || (there && question_of_cell(b, v->asking)))
        return;
    if (there && !v->editing && slot_by_id(b, v->back, &at)) {
        v->at = v->mark = at;
        v->keep = true;
        v->editing = v->back_edits;
        notebook_anchor(v);
    }
    forget_back(v);
}

// Follows the document: a cell to be selected, the new place of the selected cell, or its deletion.
static void notebook_follow(struct notebook_view *v)
{
    bench *b = v->head.bench;
    size_t last = slot_count(b) ? slot_count(b) - 1 : 0, now;
    const pos *cursor;
    bool asks = bench_selects_asking(b), edits = bench_selects_to_edit(b);
    if (v->anchor && slot_by_id(b, v->anchor, &now)) {
        size_t mark = v->mark + now - v->at; // may wrap around
        v->mark = mark <= last ? mark : now;
        v->at = now;
    } else if (v->anchor && v->editing && !bench_selects(b)) {
        v->editing = false;
        bench_say(b, "the cell has been deleted");
    }
    if (bench_take_selected(b, &v->at, &cursor)) {
        v->mark = v->at;
        v->keep = true;
        if (cursor && v->editing)
            edit_set_cursor(slot_edit(slot_at(b, v->at)), *cursor);
        if (asks)
            note_asking(v);
        v->editing = edits || (v->editing && !asks);
        if (edits)
            vi_insert(&v->vi, slot_edit(slot_at(b, v->at)));
        v->follow = v->follow && !edits;
        v->scroll = edits ? 0 : v->scroll;
    }
    v->at = v->at > last ? last : v->at;
    v->mark = v->mark > last ? last : v->mark;
    v->top = v->top > last ? last : v->top;
    v->editing = v->editing && slot_count(b);
    notebook_anchor(v);
    go_back(v);
    section_settle(b);
    if (slot_count(b))
        section_reveal(b, v->at);
    slot_set_edited(b, v->editing && !bench_rescues(b) ? slot_at(b, v->at) : NULL);
}

// The line that failed, with a few before it, and as much as fits of what comes after it.
static void show_error(struct notebook_view *v, int row, int n)
{
    int from = row - v->area.h / 4;
    from = from > n - v->area.h ? n - v->area.h : from;
    notebook_show(v, v->at, from > 0 ? from : 0, v->area.h);
}

// Scrolls so that the selected or running cell stays on the screen.
static void keep_selected(struct notebook_view *v)
{
    bench *b = v->head.bench;
    int n = rows(v, v->at) - 1;
    if (v->editing)
        keep_cursor(v);
    else if (v->error && n > v->area.h && cellview_error_row(b, v->at, v->area.w) >= 0)
        show_error(v, cellview_error_row(b, v->at, v->area.w), n);
    else if (v->follow && n > v->area.h) // its latest output
        notebook_show(v, v->at, n - v->area.h, v->area.h);
    else if (n <= v->area.h || screen_row(v, v->at, 0) < 0 || screen_row(v, v->at, 3) >= v->area.h)
        notebook_show(v, v->at, 0, n);
}

// Forgets the drawn outputs of cells off the screen; only their numbers of rows are kept.
static void find_last(struct notebook_view *v)
{
    bench *b = v->head.bench;
    int y = -v->top_row;
    for (size_t i = v->top; i < slot_count(b) && y < v->area.h; y += rows(v, i++))
        v->last = i;
    slot_forget_outputs(b, v->top, v->last + 1);
}

// The screen row of the edited cell's title, which may be above or below the screen. false: it is
// not known, because the screen begins below that cell.
static bool edited_row(const struct notebook_view *v, int *y)
{
    *y = -v->top_row;
    for (size_t k = v->top; k < v->at; k++)
        *y += rows(v, k);
    return v->editing && v->keep && v->top <= v->at;
}

// Output that grows or shrinks above the edited cell moves what is above it, not the line that a
// person types in. A cell that has got another place is followed there.
static void hold_edited(struct notebook_view *v)
{
    int y;
    bool moved = v->held_at != v->at;
    bool held = v->held && v->anchor && str_eq(v->held, v->anchor) && v->held_w == v->area.w;
    if (held && !moved && edited_row(v, &y))
        notebook_scroll(v, y - v->held_y);
}

// In a new cell there is no line yet that has to stay: what was run before it is to be seen.
static bool has_text(const struct notebook_view *v)
{
    const text *t = edit_text(slot_edit(slot_at(v->head.bench, v->at)));
    pos end = text_end(t);
    return end.line > 0 || end.byte > 0;
}

static void note_edited(struct notebook_view *v)
{
    bool known = edited_row(v, &v->held_y) && has_text(v);
    v->held_w = v->area.w;
    v->held_at = v->at;
    if (known && v->held && v->anchor && str_eq(v->held, v->anchor))
        return;
    free(v->held);
    v->held = known ? mem_strdup(v->anchor) : NULL;
}

static void settle_outline(struct notebook_view *v, rect pane)
{
    enum { TITLE = 2, AROUND = 3 };
    size_t h = pane.h > TITLE ? (size_t)(pane.h - TITLE) : 1;
    outline_build(v->head.bench, &(struct pattern){0}, &v->outline);
    size_t at = outline_row_of(&v->outline, v->at), n = v->outline.n;
    if (at < v->outline_top + AROUND)
        v->outline_top = at > AROUND ? at - AROUND : 0;
    if (at + AROUND >= v->outline_top + h)
        v->outline_top = at + AROUND + 1 > h ? at + AROUND + 1 - h : 0;
    v->outline_top = v->outline_top + h > n ? (n > h ? n - h : 0) : v->outline_top;
}

static void settle(view *view_, rect area)
{
    struct notebook_view *v = (struct notebook_view *)view_;
    rect pane = v->pane ? outline_pane(area) : (rect){0};
    area.w -= pane.w + (pane.w > 0);
    v->area = area;
    notebook_follow(v);
    if (pane.w)
        settle_outline(v, pane);
    if (slot_count(v->head.bench)) {
        hold_edited(v);
        notebook_scroll(v, 0);
        if (v->keep)
            keep_selected(v);
        note_edited(v);
    }
    find_last(v);
    problems_watch(v->head.bench, v->top, v->last + 1);
}

// One cell, and nothing in it: somebody begins.
static bool is_blank(bench *b)
{
    const text *t = slot_count(b) == 1 ? edit_text(slot_edit(slot_at(b, 0))) : NULL;
    const struct run_cell *r = t ? slot_run(b, 0) : NULL;
    pos end = t ? text_end(t) : (pos){0};
    return t && end.line == 0 && end.byte == 0 && !(r && r->count);
}

static bool is_lua(const cell *c)
{
    const struct cell_options *o = &c->options;
    return c->kind == CELL_CODE && !o->language && !o->file && !o->template_;
}

static void draw_first_steps(grid *g, rect area, const cell *c, bool editing)
{
    const char *const among[] = {
        is_lua(c)
            ? "Enter  edit the cell, which is Lua: sh \"make\", trainer.run {…}, k8s.get \"pods\""
            : "Enter  edit the cell",
        "C-e    run it          C-r  run it and go to the next", "b      insert a cell below",
        "m      make it a text cell", "s      save the notebook",
        ":insert s1    cells of a whole training job, ready to run; :insert lists more",
        ":sandbox      a cluster of this machine to run them on",
        "?      all keys        :    any action by its name", NULL};
    static const char *const inside[] = {"C-e  run the cell    C-r  run it and go on",
        "Tab  complete a name     S-Tab  what it is", "Esc  leave the cell, then ? shows all keys",
        NULL};
    int y = area.y + 4;
    for (const char *const *row = editing ? inside : among; *row; row++, y++)
        grid_put_short(
            g, area, area.x + CELL_INDENT, y, area.w - CELL_INDENT, *row, strlen(*row), LOOK_DIM);
}

static void draw_outline(const struct notebook_view *v, grid *g, rect pane)
{
    rect rows = {pane.x + 1, pane.y + 2, pane.w - 1, pane.h - 2};
    grid_vline(g, pane, pane.x, pane.y, pane.h, LOOK_DIM);
    grid_print(g, pane, pane.x + 2, pane.y, LOOK_DIM, "Outline");
    outline_draw(&v->outline, v->head.bench, g, rows, v->outline_top,
        outline_row_of(&v->outline, v->at), false);
}

static void draw(const view *view_, grid *g, rect area)
{
    const struct notebook_view *v = (const struct notebook_view *)view_;
    bench *b = v->head.bench;
    rect pane = v->pane ? outline_pane(area) : (rect){0};
    area.w -= pane.w + (pane.w > 0);
    if (pane.w)
        draw_outline(v, g, pane);
    size_t lo = v->at < v->mark ? v->at : v->mark, hi = v->at < v->mark ? v->mark : v->at;
    int row = v->top_row, y = area.y;
    for (size_t i = v->top; i < slot_count(b) && y < area.y + area.h; i++, row = 0) {
        struct cell_look look = {.selected = i >= lo && i <= hi,
            .editing = v->editing && i == v->at,
            .numbers = v->numbers,
            .scroll = v->editing && i == v->at ? v->scroll : 0,
            .failed = cellsource_failed(b, i),
            .found = notebook_looked_at(v, i)};
        edit *e = slot_edit(slot_at(b, i));
        if (look.editing)
            look.paired =
                cursor_bracket(edit_text(e), edit_cursor(e), &look.pair[0], &look.pair[1]);
        if (i == v->at)
            grid_park_cursor(g, area.x, y);
        for (int n = rows(v, i); row < n && y < area.y + area.h; row++, y++)
            cellview_draw(b, g, area, i, row, y, &look);
    }
    if (slot_count(b) == 0)
        grid_print(g, area, area.x + CELL_INDENT, area.y, LOOK_DIM,
            "No cells yet: b inserts one, :insert s1 a whole job, ? shows all keys");
    else if (is_blank(b))
        draw_first_steps(g, area, slot_cell(b, 0), v->editing);
}

static unsigned mode(const view *v)
{
    bool edits = ((struct notebook_view *)v)->editing || bench_selects_to_edit(v->bench);
    return edits ? MODE_EDIT : MODE_COMMAND;
}

static bool act(view *view_, enum action a)
{
    struct notebook_view *v = (struct notebook_view *)view_;
    notebook_follow(v);
    bool done = notebook_act(v, a);
    if (a != ACT_MOVE_UP && a != ACT_MOVE_DOWN) // the mark stays with that cell, wherever it moves
        notebook_anchor(v);
    return done;
}

// In the cell that is edited; false: the selected cell is not the one that was, or none is.
static bool typed(struct notebook_view *v, const char *words, size_t n, bool pasted)
{
    bench *b = v->head.bench;
    notebook_follow(v);
    if (!v->editing || bench_rescues(b))
        return false;
    struct slot *s = slot_at(b, v->at);
    if (pasted)
        edit_paste(slot_edit(s), words, n);
    else
        edit_type(slot_edit(s), words, n);
    slot_typed(b);
    v->keep = true;
    return true;
}

static const char *mode_name(const view *v)
{
    const struct notebook_view *notebook_ = (const struct notebook_view *)v;
    return notebook_in_vi(notebook_) ? vi_mode_name(&notebook_->vi) : NULL;
}

static bool type(view *v, key k)
{
    char words[4];
    uint32_t point = key_character(k);
    if (point && notebook_in_vi((struct notebook_view *)v)) {
        notebook_follow((struct notebook_view *)v);
        return notebook_vi_type((struct notebook_view *)v, point);
    }
    return point && (typed((struct notebook_view *)v, words, utf8_encode(point, words), false) ||
                        view_mode(v) == MODE_EDIT);
}

// Among cells a paste becomes cells: no byte of it is a key.
static bool paste(view *view_, const char *words, size_t n)
{
    struct notebook_view *v = (struct notebook_view *)view_;
    size_t last = v->at > v->mark ? v->at : v->mark;
    if (!typed(v, words, n, true) && view_mode(view_) == MODE_COMMAND)
        structure_insert_text(view_->bench, slot_count(view_->bench) ? last + 1 : 0, words, n);
    return true;
}

// The cell at a row of the screen, and which of its rows that is; false: below the last.
static bool cell_at(const struct notebook_view *v, int y, size_t *i, int *row)
{
    *i = v->top;
    *row = v->top_row + y - v->area.y;
    for (; *i < slot_count(v->head.bench); ++*i) {
        int n = rows(v, *i);
        if (*row < n)
            return true;
        *row -= n;
    }
    return false;
}

// The cursor goes where the mouse was, in the cell that is edited.
static void point_into_text(struct notebook_view *v, int x, int row)
{
    bench *b = v->head.bench;
    int first = cellview_source_row(b, v->at, v->area.w, 0);
    int column = x - v->area.x - CELL_INDENT - cellview_numbers(b, v->at, v->numbers) + v->scroll;
    edit_set_cursor(
        slot_edit(slot_at(b, v->at)), cellsource_place(b, v->at, v->area.w, row - first, column));
    v->keep = true;
}

static void point_into_outline(struct notebook_view *v, int y)
{
    enum { TITLE = 2 };
    size_t at = v->outline_top + (size_t)(y - TITLE);
    if (y >= TITLE && at < v->outline.n)
        notebook_go(v, v->outline.rows[at].cell, v->outline.rows[at].line);
}

// A click selects a cell, a double click goes into it, or opens its output.
static bool mouse(view *view_, const struct mouse *m)
{
    struct notebook_view *v = (struct notebook_view *)view_;
    bench *b = view_->bench;
    size_t i;
    int row;
    if (m->kind == MOUSE_UP || m->kind == MOUSE_DOWN) {
        v->keep = v->follow = false;
        notebook_scroll(v, m->kind == MOUSE_UP ? -3 : 3);
        return true;
    }
    notebook_follow(v);
    if (m->x >= v->area.x + v->area.w) {
        point_into_outline(v, m->y - v->area.y);
        return true;
    }
    if (!cell_at(v, m->y, &i, &row))
        return true;
    bool in_text = row < cellview_source_row(b, i, v->area.w, 0) + cellsource_rows(b, i, v->area.w);
    if (v->editing && i != v->at)
        notebook_act(v, ACT_COMMAND);
    v->follow = false;
    v->at = v->mark = i;
    notebook_anchor(v);
    if (m->kind == MOUSE_DOUBLE && !v->editing)
        notebook_act(v, in_text ? ACT_EDIT : ACT_OPEN_OUTPUT);
    if (v->editing && in_text)
        point_into_text(v, m->x, row);
    return true;
}

static bool is_selected(const struct notebook_view *v, const char *id)
{
    return v->anchor && str_eq(v->anchor, id);
}

// Of several cells that run, the one that does is looked at; of one that fails, its line.
static void heard(view *view_, const cJSON *event)
{
    struct notebook_view *v = (struct notebook_view *)view_;
    const char *id = json_str(event, "cell");
    const char *state = str_eq(json_str(event, "type"), "state") ? json_str(event, "state") : NULL;
    if (!event) {
        notebook_land(v);
        v->landed = true;
    }
    if (str_eq(state, "running") && v->follow && !v->editing)
        bench_select(view_->bench, id);
    if (state && (is_selected(v, id) || v->follow))
        v->error = str_eq(state, "failed");
}

// A live table on the screen shows ages, which grow.
static int wait_ms(const view *view_)
{
    const struct notebook_view *v = (const struct notebook_view *)view_;
    const bench *b = view_->bench;
    for (size_t i = v->top; i < slot_count(b) && i <= v->last; i++)
        if (slot_drawing(slot_at(b, i))->ages && !slot_drawing(slot_at(b, i))->output_folded)
            return 1000;
    return -1;
}

static void done(view *view_)
{
    struct notebook_view *v = (struct notebook_view *)view_;
    free(v->anchor);
    free(v->held);
    free(v->came);
    forget_back(v);
    notebook_seek(view_, NULL, NULL);
    notebook_look_nowhere(v);
    jumps_done(&v->jumps);
    vi_done(&v->vi);
    outline_done(&v->outline);
}

void notebook_push(bench *b)
{
    struct notebook_view *v = view_push(b, &notebook_view_ops, sizeof *v);
    v->keep = true;
    v->numbers = bench_settings(b)->line_numbers;
    bench_show_numbers(b, v->numbers);
    bench_wrap(b, bench_settings(b)->wrap);
    v->pane = bench_settings(b)->outline;
}

const struct view_ops notebook_view_ops = {
    .name = "notebook",
    .keys = &notebook_keys,
    .mode = mode,
    .mode_name = mode_name,
    .seek = notebook_seek,
    .settle = settle,
    .draw = draw,
    .wait_ms = wait_ms,
    .act = act,
    .type = type,
    .paste = paste,
    .mouse = mouse,
    .heard = heard,
    .done = done,
};
