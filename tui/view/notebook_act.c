// SPDX-License-Identifier: MIT
// The effects of the notebook's actions on the selection, the cells and their text.
#include "base/clock.h"
#include "base/str.h"
#include "script/journal/text.h"
#include "tui/bench/loss.h"
#include "tui/bench/remote.h"
#include "tui/view/notebook.h"
#include "tui/view/open.h"

void notebook_select(struct notebook_view *v, size_t i, bool extend)
{
    bench *b = v->head.bench;
    v->at = i < slot_count(b) ? i : slot_count(b) ? slot_count(b) - 1 : 0;
    v->follow = v->error = false;
    if (!extend)
        v->mark = v->at;
    v->keep = true;
    v->scroll = 0;
}

static void edit_cell(struct notebook_view *v, bool on)
{
    bench *b = v->head.bench;
    if (on && bench_read_only(b)) { // typing would lead nowhere
        remote_ready(b, true);
        return;
    }
    if (!on && bench_selects_to_edit(b))
        bench_select_none(b);
    v->editing = on && slot_count(b);
    slot_set_edited(b, v->editing ? slot_at(b, v->at) : NULL);
    v->follow = v->follow && !on;
    v->mark = v->at;
    v->scroll = 0;
    v->keep = true;
    if (v->editing)
        slot_drawing(slot_at(b, v->at))->input_folded = false;
    else
        remote_flush(b);
}

// If several cells run, the selection follows them.
static void run_cells(struct notebook_view *v, size_t from, size_t to)
{
    bool any = remote_execute(v->head.bench, from, to);
    v->follow = any && to > from + 1;
    v->keep = v->keep || v->follow;
}

static void advance(struct notebook_view *v, bool insert)
{
    bench *b = v->head.bench;
    edit_cell(v, false);
    if (insert || v->at + 1 >= slot_count(b))
        structure_insert(b, v->at + 1, true); // as Jupyter has it, for typing
    else
        notebook_select(v, v->at + 1, false);
}

// The selected cells' texts, or what is below them as `show` prints it.
static void clip(struct notebook_view *v, bool output)
{
    bench *b = v->head.bench;
    size_t lo = v->at < v->mark ? v->at : v->mark, hi = v->at < v->mark ? v->mark : v->at;
    AUTO_BUF words = {0};
    err e = {0};
    for (size_t i = lo; i <= hi && i < slot_count(b); i++) {
        struct slot_past past;
        const struct run_cell *run = slot_outputs(b, i, &past);
        const char *spools = past.run ? past.spools : bench_spool_dir(b);
        for (size_t k = 0; output && run && k < run->n_outputs; k++) {
            output_heading(run, k, &words);
            output_text(&run->outputs[k], spools, 0, &words, &e);
        }
        if (!output) {
            text_all(edit_text(slot_edit(slot_at(b, i))), &words);
            if (words.len && words.data[words.len - 1] != '\n')
                buf_char(&words, '\n');
        }
    }
    if (e.code)
        bench_complain(b, "%s", e.text);
    else
        bench_clip(b, buf_cstr(&words), words.len,
            output     ? "the output"
            : lo == hi ? "the cell"
                       : "the cells");
}

static bool act_running(struct notebook_view *v, enum action a)
{
    bench *b = v->head.bench;
    size_t lo = v->at < v->mark ? v->at : v->mark, hi = v->at < v->mark ? v->mark : v->at;
    switch ((int)a) {
    case ACT_CLIP:
    case ACT_CLIP_OUTPUT:
        clip(v, a == ACT_CLIP_OUTPUT);
        return true;
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
    case ACT_RUN_ALL:
        if (loss_agreed(b, a, NULL))
            run_cells(v, 0, slot_count(b));
        return true;
    case ACT_RUN_ABOVE:
        run_cells(v, 0, v->at);
        return true;
    case ACT_RUN_BELOW:
        run_cells(v, v->at, slot_count(b));
        return true;
    case ACT_CLEAR_OUTPUT:
        if (loss_agreed_cells(b, a, lo, hi))
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
        notebook_select(v, v->at + 1, extend);
        return true;
    case ACT_CELL_PREVIOUS:
    case ACT_EXTEND_PREVIOUS:
        notebook_select(v, v->at ? v->at - 1 : 0, extend);
        return true;
    case ACT_CELL_FIRST:
    case ACT_EXTEND_FIRST:
        notebook_select(v, 0, extend);
        return true;
    case ACT_CELL_LAST:
    case ACT_EXTEND_LAST:
        notebook_select(v, slot_count(b), extend);
        return true;
    case ACT_GO_RUNNING:
        notebook_go_running(v);
        return true;
    case ACT_GO_FAILED:
        notebook_go_failed(v);
        return true;
    case ACT_PAGE_UP:
    case ACT_PAGE_DOWN:
    case ACT_SCROLL_UP:
    case ACT_SCROLL_DOWN:
        if (v->editing)
            return false;
        v->keep = v->follow = false;
        notebook_scroll(v, a == ACT_PAGE_UP     ? -page
                           : a == ACT_PAGE_DOWN ? page
                           : a == ACT_SCROLL_UP ? -1
                                                : 1);
        return true;
    }
    return false;
}

// Folds or unfolds the whole selection, depending on its first cell.
static void fold_cells(struct notebook_view *v, bool input)
{
    bench *b = v->head.bench;
    size_t lo = v->at < v->mark ? v->at : v->mark, hi = v->at < v->mark ? v->mark : v->at;
    for (size_t i = lo; i <= hi && i < slot_count(b); i++) {
        struct drawing *first = slot_drawing(slot_at(b, lo)), *d = slot_drawing(slot_at(b, i));
        if (input)
            d->input_folded = i == lo ? !d->input_folded : first->input_folded;
        else
            d->output_folded = i == lo ? !d->output_folded : first->output_folded;
    }
    v->keep = true;
}

static bool act_looking(struct notebook_view *v, enum action a)
{
    bench *b = v->head.bench;
    struct slot *s = slot_count(b) ? slot_at(b, v->at) : NULL;
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
    case ACT_FOLD_OUTPUT:
        fold_cells(v, a == ACT_FOLD_INPUT);
        return true;
    case ACT_SEARCH_CLEAR:
        bench_show_marks(b, false);
        return true;
    case ACT_OPEN_OUTPUT:
        if (s && !open_output(b, slot_id(s)))
            bench_say(b, "this cell has no output yet");
        return true;
    case ACT_PROPERTIES:
        if (s)
            properties_push(b, s);
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

// The next place in cell i, NULL-terminated by *start: false when there is none on this side of
// the cursor, which the cell has that the search starts in.
static bool search_cell(struct notebook_view *v, size_t i, const struct pattern *what, bool first,
    bool backwards, pos *start, pos *end)
{
    const bench *b = v->head.bench;
    struct slot *s = slot_at(b, i);
    const text *t = edit_text(slot_edit(s));
    pos from = backwards ? text_end(t) : (pos){0}, to;
    if (first &&
        // A backward search starts before the last match.
        !(edit_selection(slot_edit(s), &from, &to) && backwards))
        from = edit_cursor(slot_edit(s));
    if (!cursor_search(t, from, what, backwards, start, end))
        return false;
    int side = pos_compare(*start, from);
    return !first || (backwards ? side < 0 : side > 0); // otherwise it has gone around
}

// "“loss” 3 of 12": which of the places in all cells it has come to.
static void say_place(
    bench *b, const struct pattern *what, size_t at, pos start, const char *around)
{
    size_t count = 0, before = 0, some;
    for (size_t i = 0; i < slot_count(b); i++) {
        pos until = i < at ? (pos){SIZE_MAX, 0} : i == at ? start : (pos){0};
        count += cursor_count(edit_text(slot_edit(slot_at(b, i))), what, until, &some);
        before += some;
    }
    bench_say(b, "“%s” %zu of %zu%s", what->text, before + 1, count, around);
}

static void show_place(struct notebook_view *v, size_t i, pos start, pos end)
{
    bench *b = v->head.bench;
    if (i != v->at)
        notebook_select(v, i, false);
    slot_drawing(slot_at(b, i))->input_folded = false;
    edit_select(slot_edit(slot_at(b, i)), start, end);
    v->mark = v->at;
    v->keep = v->editing;
    notebook_show(v, i, cellview_source_row(b, i, v->area.w, start.line), 1);
}

// From the cursor on through all cells, and around.
static bool search_all(struct notebook_view *v, const struct pattern *what, bool backwards)
{
    size_t n = slot_count(v->head.bench);
    for (size_t step = 0; n && step <= n; step++) {
        size_t i = (v->at + (backwards ? n - step % n : step)) % n;
        pos start, end;
        if (!search_cell(v, i, what, step == 0, backwards, &start, &end))
            continue;
        bool around = step == n || (backwards ? i > v->at : i < v->at);
        say_place(v->head.bench, what, i, start,
            !around     ? ""
            : backwards ? "; the search went around to the end"
                        : "; the search went around to the start");
        show_place(v, i, start, end);
        return true;
    }
    return false;
}

static bool search(struct notebook_view *v, bool backwards)
{
    bench *b = v->head.bench;
    struct pattern what = {0};
    pattern_set(&what, bench_searched(b));
    bench_show_marks(b, !pattern_is_empty(&what));
    if (pattern_is_empty(&what))
        bench_say(b, "nothing is searched for yet: / searches");
    else if (!search_all(v, &what, backwards))
        bench_say(b, "“%s” is nowhere", what.text);
    pattern_done(&what);
    return true;
}

// C-c copies, as everywhere but in terminals; there it interrupts. It may come of habit, so what
// another cell has run for hours is not ended by one press.
static bool copy_or_interrupt(struct notebook_view *v, struct slot *s)
{
    enum { AGAIN_MS = 2000 };
    bench *b = v->head.bench;
    pos from, to;
    size_t at;
    AUTO_BUF name = {0};
    const struct run_cell *r = fold_running(bench_fold(b));
    bool other = r && !str_eq(r->id, slot_id(s)) && slot_by_id(b, r->id, &at);
    if (edit_selection(slot_edit(s), &from, &to)) {
        edit_act(slot_edit(s), ACT_COPY_TEXT, bench_clipboard(b));
        bench_say(b, "copied; C-v inserts it");
    } else if (other && (!v->warned || clock_mono() - v->warned > AGAIN_MS * CLOCK_MS)) {
        v->warned = clock_mono();
        slot_name(b, at, &name);
        bench_say(b, "[%ld] %s runs: C-c again within two seconds interrupts it", r->count,
            buf_cstr(&name));
    } else {
        v->warned = 0;
        remote_interrupt(b);
    }
    return true;
}

static bool act_editing(struct notebook_view *v, enum action a)
{
    bench *b = v->head.bench;
    struct slot *s = slot_at(b, v->at);
    uint64_t was = text_revision(edit_text(slot_edit(s)));
    if (a == ACT_COPY_OR_INTERRUPT)
        return copy_or_interrupt(v, s);
    v->keep = true;
    edit_set_page(slot_edit(s), v->area.h > 2 ? (size_t)v->area.h - 2 : 1);
    if (a == ACT_SPLIT) {
        structure_split(b, v->at);
        v->keep = true;
        return true;
    }
    bool looks = (a == ACT_INSERT_TAB || a == ACT_INSPECT) && lookup_ask(b, s, a == ACT_INSPECT);
    a = a == ACT_INSPECT ? ACT_UNINDENT : a; // where there is no name
    bool done = looks || edit_act(slot_edit(s), a, bench_clipboard(b));
    if (!done && (a == ACT_UP || a == ACT_DOWN)) {
        size_t to = a == ACT_UP ? (v->at ? v->at - 1 : 0) : v->at + 1;
        if (to == v->at || to >= slot_count(b))
            return true;
        remote_flush(b);
        notebook_select(v, to, false);
        struct slot *next = slot_at(b, to);
        slot_drawing(next)->input_folded = false;
        edit_set_cursor(
            slot_edit(next), a == ACT_UP ? text_end(edit_text(slot_edit(next))) : (pos){0});
        return true;
    }
    if (text_revision(edit_text(slot_edit(s))) != was)
        slot_typed(b);
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

bool notebook_act(struct notebook_view *v, enum action a)
{
    if (act_running(v, a))
        return true;
    if (v->editing && a != ACT_COMMAND && a != ACT_SEARCH && a != ACT_PALETTE && act_editing(v, a))
        return true;
    if (act_looking(v, a))
        return true;
    if (a == ACT_SEARCH_NEXT || a == ACT_SEARCH_PREVIOUS)
        return search(v, a == ACT_SEARCH_PREVIOUS);
    return (!v->editing && act_moving(v, a)) || act_structure(v, a);
}
