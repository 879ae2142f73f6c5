// SPDX-License-Identifier: MIT
// The notebook: cells one below the other, one of them selected, or edited. What is drawn starts at
// row `top_row` of cell `top` and ends with the screen, so its length costs nothing.
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "tui/grid/utf8.h"
#include "tui/view/cellview.h"
#include "tui/view/open.h"
#include "tui/view/structure.h"

#include <string.h>

struct notebook_view {
    view head;
    size_t at;    // the selected cell
    char *anchor; // its id
    size_t mark;  // the other end of the selection, the same when it is one cell
    bool editing, numbers;
    size_t top; // the first cell on the screen, and how many of its rows are above it
    int top_row;
    size_t last; // the last cell on the screen
    bool keep;   // the selected cell is kept on the screen
    int scroll;  // columns, of the cell that is edited
    rect area;
};

static int rows(struct notebook_view *v, size_t i)
{
    return cellview_rows(v->head.bench, i, v->area.w);
}

static void scroll_by(struct notebook_view *v, int n)
{
    bench *b = v->head.bench;
    v->top_row += n;
    while (v->top_row < 0 && v->top > 0)
        v->top_row += rows(v, --v->top);
    while (v->top + 1 < b->n_slots && v->top_row >= rows(v, v->top))
        v->top_row -= rows(v, v->top++);
    int last = b->n_slots ? rows(v, v->top) - 1 : 0;
    v->top_row = v->top_row < 0 ? 0 : v->top_row > last ? last : v->top_row;
}

// Screen row of a cell's row; beyond the screen's height when it is below.
static int screen_row(struct notebook_view *v, size_t i, int row)
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

// Scrolls as little as is needed to have these rows of a cell on the screen, the first above all.
static void show_rows(struct notebook_view *v, size_t i, int from, int n)
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
    scroll_by(v, -v->area.h);
}

static void keep_cursor(struct notebook_view *v)
{
    bench *b = v->head.bench;
    struct slot *s = b->slots[v->at];
    pos p = edit_cursor(s->edit);
    int column = cursor_column(edit_text(s->edit), p);
    int room = v->area.w - CELL_INDENT - cellview_numbers(b, v->at, v->numbers) - 1;
    if (column < v->scroll)
        v->scroll = column;
    if (column - v->scroll > room)
        v->scroll = column - room;
    if (v->scroll && column <= room / 2)
        v->scroll = 0;
    show_rows(v, v->at, cellview_source_row(b, v->at, p.line), 1);
}

// Remembers which cell is selected: others insert and move cells, too.
static void anchor(struct notebook_view *v)
{
    bench *b = v->head.bench;
    const char *id = v->at < b->n_slots ? b->slots[v->at]->id : NULL;
    if (v->anchor && id && str_eq(v->anchor, id))
        return;
    free(v->anchor);
    v->anchor = mem_strdup(id);
}

// What is to be selected, where the selected cell stands now, and that it may have gone.
static void follow_cells(struct notebook_view *v)
{
    bench *b = v->head.bench;
    size_t last = b->n_slots ? b->n_slots - 1 : 0, now;
    if (v->anchor && slot_by_id(b, v->anchor, &now)) {
        size_t mark = v->mark + now - v->at; // may wrap around
        v->mark = mark <= last ? mark : now;
        v->at = now;
    } else if (v->anchor && v->editing) {
        v->editing = false;
        bench_say(b, "the cell has been deleted");
    }
    if (b->select && slot_by_id(b, b->select, &v->at)) {
        v->mark = v->at;
        v->keep = true;
        free(STEAL(b->select));
    }
    v->at = v->at > last ? last : v->at;
    v->mark = v->mark > last ? last : v->mark;
    v->top = v->top > last ? last : v->top;
    v->editing = v->editing && b->n_slots;
    anchor(v);
}

static void settle(struct notebook_view *v)
{
    bench *b = v->head.bench;
    follow_cells(v);
    if (b->n_slots == 0)
        return;
    scroll_by(v, 0);
    if (!v->keep)
        return;
    int n = rows(v, v->at) - 1;
    if (v->editing)
        keep_cursor(v);
    else if (n <= v->area.h || screen_row(v, v->at, 0) < 0 || screen_row(v, v->at, 3) >= v->area.h)
        show_rows(v, v->at, 0, n);
}

static void draw(view *view_, grid *g, rect area)
{
    struct notebook_view *v = (struct notebook_view *)view_;
    bench *b = v->head.bench;
    v->area = area;
    settle(v);
    size_t lo = v->at < v->mark ? v->at : v->mark, hi = v->at < v->mark ? v->mark : v->at;
    int row = v->top_row, y = area.y;
    for (size_t i = v->top; i < b->n_slots && y < area.y + area.h; i++, row = 0) {
        struct cell_look look = {.selected = i >= lo && i <= hi,
            .editing = v->editing && i == v->at,
            .numbers = v->numbers,
            .scroll = v->editing && i == v->at ? v->scroll : 0};
        v->last = i;
        for (int n = rows(v, i); row < n && y < area.y + area.h; row++, y++)
            cellview_draw(b, g, area, i, row, y, &look);
    }
    output_forget(b, v->top, v->last + 1);
    if (b->n_slots == 0)
        grid_print(g, area, area.x + CELL_INDENT, area.y, LOOK_DIM,
            "No cells yet: b inserts one, ? shows all keys");
}

static unsigned mode(view *v)
{
    return ((struct notebook_view *)v)->editing ? MODE_EDIT : MODE_COMMAND;
}

static void select_cell(struct notebook_view *v, size_t i, bool extend)
{
    bench *b = v->head.bench;
    v->at = i < b->n_slots ? i : b->n_slots ? b->n_slots - 1 : 0;
    if (!extend)
        v->mark = v->at;
    v->keep = true;
    v->scroll = 0;
}

static void edit_cell(struct notebook_view *v, bool on)
{
    bench *b = v->head.bench;
    if (on && b->read_only) {
        remote_ready(b, true);
        return;
    }
    v->editing = on && b->n_slots;
    v->mark = v->at;
    v->scroll = 0;
    v->keep = true;
    if (v->editing)
        b->slots[v->at]->input_folded = false;
    else
        remote_flush(b);
}

static void run_cells(struct notebook_view *v, size_t from, size_t to)
{
    remote_execute(v->head.bench, from, to);
}

static void advance(struct notebook_view *v, bool insert)
{
    bench *b = v->head.bench;
    edit_cell(v, false);
    if (insert || v->at + 1 >= b->n_slots)
        structure_insert(b, v->at + 1);
    else
        select_cell(v, v->at + 1, false);
}

static bool act_running(struct notebook_view *v, enum action a)
{
    bench *b = v->head.bench;
    size_t lo = v->at < v->mark ? v->at : v->mark, hi = v->at < v->mark ? v->mark : v->at;
    switch ((int)a) {
    case ACT_RUN:
        run_cells(v, lo, hi + 1);
        edit_cell(v, false);
        return true;
    case ACT_RUN_ADVANCE:
        run_cells(v, lo, hi + 1);
        advance(v, false);
        return true;
    case ACT_RUN_INSERT:
        run_cells(v, lo, hi + 1);
        advance(v, true);
        return true;
    case ACT_RUN_ABOVE:
        run_cells(v, 0, v->at);
        return true;
    case ACT_RUN_BELOW:
        run_cells(v, v->at, b->n_slots);
        return true;
    case ACT_CLEAR_OUTPUT:
        remote_clear(b, lo, hi + 1);
        return true;
    }
    return false;
}

static bool act_moving(struct notebook_view *v, enum action a)
{
    bench *b = v->head.bench;
    bool extend = a == ACT_EXTEND_NEXT || a == ACT_EXTEND_PREVIOUS || a == ACT_EXTEND_FIRST ||
                  a == ACT_EXTEND_LAST;
    int page = v->area.h > 2 ? v->area.h - 2 : 1;
    switch ((int)a) {
    case ACT_CELL_NEXT:
    case ACT_EXTEND_NEXT:
        select_cell(v, v->at + 1, extend);
        return true;
    case ACT_CELL_PREVIOUS:
    case ACT_EXTEND_PREVIOUS:
        select_cell(v, v->at ? v->at - 1 : 0, extend);
        return true;
    case ACT_CELL_FIRST:
    case ACT_EXTEND_FIRST:
        select_cell(v, 0, extend);
        return true;
    case ACT_CELL_LAST:
    case ACT_EXTEND_LAST:
        select_cell(v, b->n_slots, extend);
        return true;
    case ACT_PAGE_UP:
    case ACT_PAGE_DOWN:
    case ACT_SCROLL_UP:
    case ACT_SCROLL_DOWN:
        if (v->editing)
            return false;
        v->keep = false;
        scroll_by(v, a == ACT_PAGE_UP     ? -page
                     : a == ACT_PAGE_DOWN ? page
                     : a == ACT_SCROLL_UP ? -1
                                          : 1);
        return true;
    }
    return false;
}

static bool act_looking(struct notebook_view *v, enum action a)
{
    bench *b = v->head.bench;
    struct slot *s = b->n_slots ? b->slots[v->at] : NULL;
    switch ((int)a) {
    case ACT_EDIT:
        edit_cell(v, true);
        return true;
    case ACT_COMMAND:
        edit_cell(v, false);
        return true;
    case ACT_LINE_NUMBERS:
        v->numbers = !v->numbers;
        return true;
    case ACT_FOLD_INPUT:
        if (s)
            s->input_folded = !s->input_folded;
        return true;
    case ACT_FOLD_OUTPUT:
        if (s)
            s->output_folded = !s->output_folded;
        return true;
    case ACT_OPEN_OUTPUT:
        if (s)
            open_output(b, s->id);
        return true;
    case ACT_PALETTE:
        prompt_push(b, PROMPT_PALETTE, "");
        return true;
    case ACT_SEARCH:
        prompt_push(b, PROMPT_SEARCH, "");
        return true;
    }
    return false;
}

// From the cursor on through all cells and around.
static bool search(struct notebook_view *v, bool backwards)
{
    bench *b = v->head.bench;
    if (b->search.len == 0 || b->n_slots == 0)
        return false;
    for (size_t step = 0; step <= b->n_slots; step++) {
        size_t i = (v->at + (backwards ? b->n_slots - step % b->n_slots : step)) % b->n_slots;
        struct slot *s = b->slots[i];
        const text *t = edit_text(s->edit);
        pos start, end, from = backwards ? text_end(t) : (pos){0};
        if (step == 0) // what was found last is selected
            from =
                backwards && edit_selection(s->edit, &start, &end) ? start : edit_cursor(s->edit);
        if (!cursor_search(t, from, buf_cstr(&b->search), backwards, &start, &end))
            continue;
        int side = pos_compare(start, from);
        if (step == 0 && (backwards ? side >= 0 : side <= 0) && b->n_slots > 1)
            continue; // it went around in this cell: others come first
        select_cell(v, i, false);
        s->input_folded = false;
        edit_select(s->edit, start, end);
        show_rows(v, i, cellview_source_row(b, i, start.line), 1);
        return true;
    }
    bench_say(b, "“%s” is nowhere", buf_cstr(&b->search));
    return true;
}

static bool act_editing(struct notebook_view *v, enum action a)
{
    bench *b = v->head.bench;
    struct slot *s = b->slots[v->at];
    uint64_t was = text_revision(edit_text(s->edit));
    v->keep = true;
    edit_set_page(s->edit, v->area.h > 2 ? (size_t)v->area.h - 2 : 1);
    if (a == ACT_SPLIT) {
        structure_split(b, v->at);
        v->keep = true;
        return true;
    }
    bool looks = (a == ACT_INSERT_TAB || a == ACT_INSPECT) && lookup_ask(b, s, a == ACT_INSPECT);
    bool done = looks || edit_act(s->edit, a, &b->clipboard);
    if (!done && (a == ACT_UP || a == ACT_DOWN)) {
        size_t to = a == ACT_UP ? (v->at ? v->at - 1 : 0) : v->at + 1;
        if (to == v->at || to >= b->n_slots)
            return true;
        remote_flush(b);
        select_cell(v, to, false);
        struct slot *next = b->slots[to];
        edit_set_cursor(next->edit, a == ACT_UP ? text_end(edit_text(next->edit)) : (pos){0});
        return true;
    }
    if (text_revision(edit_text(s->edit)) != was)
        b->edited_at = clock_mono();
    return done;
}

static bool act_structure(struct notebook_view *v, enum action a)
{
    struct selection s = {v->at, v->mark};
    if (!structure_act(v->head.bench, a, &s))
        return false;
    v->at = s.at;
    v->mark = s.mark;
    v->keep = true;
    return true;
}

static bool act_here(struct notebook_view *v, enum action a)
{
    if (act_running(v, a))
        return true;
    if (v->editing && a != ACT_COMMAND && a != ACT_SEARCH && a != ACT_PALETTE && act_editing(v, a))
        return true;
    if (act_looking(v, a))
        return true;
    if (a == ACT_SEARCH_NEXT || a == ACT_SEARCH_PREVIOUS)
        return search(v, a == ACT_SEARCH_PREVIOUS);
    if (v->editing && a != ACT_MOVE_UP && a != ACT_MOVE_DOWN)
        return false;
    return act_moving(v, a) || act_structure(v, a);
}

static bool act(view *view_, enum action a)
{
    struct notebook_view *v = (struct notebook_view *)view_;
    follow_cells(v);
    bool done = act_here(v, a);
    if (a != ACT_MOVE_UP &&
        a != ACT_MOVE_DOWN) // then it stays that cell, wherever it comes to stand
        anchor(v);
    return done;
}

static void typed(struct notebook_view *v, const char *words, size_t n, bool pasted)
{
    bench *b = v->head.bench;
    follow_cells(v);
    if (!v->editing)
        return;
    struct slot *s = b->slots[v->at];
    if (pasted)
        edit_paste(s->edit, words, n);
    else
        edit_type(s->edit, words, n);
    b->edited_at = clock_mono();
    v->keep = true;
}

static void type(view *v, key k)
{
    char words[4];
    uint32_t point = key_character(k);
    if (point)
        typed((struct notebook_view *)v, words, utf8_encode(point, words), false);
}

static void paste(view *v, const char *words, size_t n)
{
    typed((struct notebook_view *)v, words, n, true);
}

// A table that is live and on the screen shows ages.
static int wait_ms(const view *view_)
{
    const struct notebook_view *v = (const struct notebook_view *)view_;
    const bench *b = view_->bench;
    for (size_t i = v->top; i < b->n_slots && i <= v->last; i++)
        if (b->slots[i]->ages && !b->slots[i]->output_folded)
            return 1000;
    return -1;
}

static void done(view *v)
{
    free(((struct notebook_view *)v)->anchor);
}

static const struct view_ops ops = {
    .name = "notebook",
    .keys = &notebook_keys,
    .mode = mode,
    .draw = draw,
    .wait_ms = wait_ms,
    .act = act,
    .type = type,
    .paste = paste,
    .done = done,
};

void notebook_push(bench *b)
{
    struct notebook_view *v = view_push(b, &ops, sizeof *v);
    v->keep = true;
}
