// SPDX-License-Identifier: MIT
// The effects of the notebook's actions on the selection, the cells and their text.
#include "base/clock.h"
#include "base/str.h"
#include "script/journal/text.h"
#include "tui/bench/loss.h"
#include "tui/bench/remote.h"
#include "tui/view/notebook/notebook.h"
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

size_t notebook_place(const view *view_)
{
    const struct notebook_view *v = (const struct notebook_view *)view_;
    size_t lo, hi;
    notebook_selected(v, &lo, &hi);
    return hi + 1 < slot_count(view_->bench) ? hi + 1 : slot_count(view_->bench);
}

void notebook_selected(const struct notebook_view *v, size_t *lo, size_t *hi)
{
    bench *b = v->head.bench;
    *lo = v->at < v->mark ? v->at : v->mark;
    *hi = v->at < v->mark ? v->mark : v->at;
    if (*hi < slot_count(b) && !v->editing)
        *hi += section_hides(b, *hi);
}

void notebook_go(struct notebook_view *v, size_t i, size_t line)
{
    enum { ABOVE = 1 };
    bench *b = v->head.bench;
    if (i >= slot_count(b))
        return;
    section_reveal(b, i);
    notebook_select(v, i, false);
    int row = line ? cellview_source_row(b, i, v->area.w, line) : 0;
    v->top = i;
    v->top_row = row;
    notebook_scroll(v, -ABOVE);
    v->keep = false;
    notebook_anchor(v);
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
    if (v->editing)
        vi_reset(&v->vi);
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

void notebook_go_to(struct notebook_view *v, size_t i, pos at)
{
    bench *b = v->head.bench;
    section_reveal(b, i);
    if (v->editing)
        edit_cell(v, false);
    notebook_select(v, i, false);
    notebook_anchor(v);
    edit_set_cursor(slot_edit(slot_at(b, i)), at);
    if (bench_read_only(b))
        notebook_go(v, i, at.line);
    else
        edit_cell(v, true);
}

// If several cells run, the selection follows them.
static void run_cells(struct notebook_view *v, size_t from, size_t to)
{
    bool any = remote_execute(v->head.bench, from, to);
    v->follow = any && to > from + 1;
    v->keep = v->keep || v->follow;
}

// Of a notebook without headings above, all cells up to the first heading.
static void run_section(struct notebook_view *v)
{
    bench *b = v->head.bench;
    size_t n = slot_count(b), from = n ? section_begin(b, v->at) : 0, to = 0;
    if (from == SIZE_MAX) {
        from = 0;
        while (to < n && !section_level(b, to))
            to++;
    } else if (n) {
        to = section_end(b, from);
    }
    run_cells(v, from, to);
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
    size_t lo, hi;
    notebook_selected(v, &lo, &hi);
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
    size_t lo, hi;
    notebook_selected(v, &lo, &hi);
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
    case ACT_RUN_SECTION:
        run_section(v);
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

static bool exists(void *b, const char *id)
{
    return slot_by_id(b, id, NULL);
}

static void jump(struct notebook_view *v, bool back)
{
    bench *b = v->head.bench;
    size_t at;
    const char *now = slot_count(b) ? slot_id(slot_at(b, v->at)) : NULL;
    const char *id = jumps_go(&v->jumps, now, back, exists, b);
    if (!id || !slot_by_id(b, id, &at)) {
        bench_say(b, back ? "there is no cell to go back to" : "there is no cell to go forward to");
        return;
    }
    notebook_select(v, at, false);
    v->jumping = true;
    notebook_anchor(v);
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
        notebook_select(v, section_shown(b, v->at + 1, true), extend);
        return true;
    case ACT_CELL_PREVIOUS:
    case ACT_EXTEND_PREVIOUS:
        notebook_select(v, v->at ? section_shown(b, v->at - 1, false) : 0, extend);
        return true;
    case ACT_CELL_FIRST:
    case ACT_EXTEND_FIRST:
        notebook_select(v, 0, extend);
        return true;
    case ACT_CELL_LAST:
    case ACT_EXTEND_LAST:
        notebook_select(v, slot_count(b) ? section_shown(b, slot_count(b) - 1, false) : 0, extend);
        return true;
    case ACT_GO_RUNNING:
        notebook_go_running(v);
        return true;
    case ACT_DEFINITION:
        if (v->editing)
            notebook_go_definition(v);
        return v->editing;
    case ACT_PROBLEM_NEXT:
    case ACT_PROBLEM_PREVIOUS:
        notebook_go_problem(v, a == ACT_PROBLEM_PREVIOUS);
        return true;
    case ACT_GO_CHANGED:
        notebook_go_changed(v);
        return true;
    case ACT_JUMP_BACK:
    case ACT_JUMP_FORWARD:
        if (v->editing && a == ACT_JUMP_BACK && notebook_come_back(v))
            return true;
        jump(v, a == ACT_JUMP_BACK);
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
    size_t lo, hi;
    notebook_selected(v, &lo, &hi);
    for (size_t i = lo; i <= hi && i < slot_count(b); i++) {
        struct drawing *first = slot_drawing(slot_at(b, lo)), *d = slot_drawing(slot_at(b, i));
        if (input)
            d->input_folded = i == lo ? !d->input_folded : first->input_folded;
        else
            d->output_folded = i == lo ? !d->output_folded : first->output_folded;
    }
    v->keep = true;
}

// The heading of the whole notebook, as its first cell: the only one of its level or a higher one.
static bool is_title(bench *b, size_t i)
{
    return i == 0 && section_level(b, 0) && section_end(b, 0) == slot_count(b);
}

// The section that the cell is in; or all of them, as the first one is not. The notebook's title
// stays open then: what is below it is worth seeing.
static void fold_sections(struct notebook_view *v, bool all)
{
    bench *b = v->head.bench;
    size_t n = slot_count(b), at = n ? section_begin(b, v->at) : SIZE_MAX;
    for (size_t i = n; all && i-- > 0;)
        at = section_level(b, i) && !is_title(b, i) ? i : at;
    if (at == SIZE_MAX) {
        bench_say(b, "no heading stands above: a section begins with a text cell with # a heading");
        return;
    }
    bool on = !section_is_folded(b, at);
    for (size_t i = all ? 0 : at; i < (all ? n : at + 1); i++)
        if (section_level(b, i) && (!all || !is_title(b, i) || !on))
            section_fold(b, i, on);
    size_t shown = section_shown(b, v->at, false);
    v->jumping = true; // it is the heading above
    notebook_select(v, shown, false);
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
        bench_show_numbers(v->head.bench, v->numbers);
        return true;
    case ACT_WRAP:
        bench_wrap(v->head.bench, !bench_wraps(v->head.bench));
        v->scroll = 0;
        v->keep = true;
        return true;
    case ACT_FOLD_INPUT:
    case ACT_FOLD_OUTPUT:
        fold_cells(v, a == ACT_FOLD_INPUT);
        return true;
    case ACT_SEARCH_CLEAR:
        bench_show_marks(b, false);
        search_forget(b);
        notebook_look_nowhere(v);
        return true;
    case ACT_OUTLINE:
        outline_push(v);
        return true;
    case ACT_PROBLEMS:
        problem_push(v);
        return true;
    case ACT_FOLD_SECTION:
    case ACT_FOLD_SECTIONS:
        fold_sections(v, a == ACT_FOLD_SECTIONS);
        return true;
    case ACT_SET_MARK:
    case ACT_GO_MARK:
        marks_push(v, a == ACT_SET_MARK);
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

bool notebook_in_vi(const struct notebook_view *v)
{
    return v->editing && v->vi.mode != VI_INSERT && settings_vi(bench_settings(v->head.bench)) &&
           !bench_selects_to_edit(v->head.bench);
}

bool notebook_vi_type(struct notebook_view *v, uint32_t point)
{
    bench *b = v->head.bench;
    edit *e = slot_edit(slot_at(b, v->at));
    uint64_t was = text_revision(edit_text(e));
    if (!vi_waits(&v->vi) && (point == '/' || point == ':')) {
        prompt_push(b, point == '/' ? PROMPT_SEARCH : PROMPT_PALETTE, "");
        return true;
    }
    if (!vi_waits(&v->vi) && (point == 'n' || point == 'N'))
        return notebook_search(v, point == 'N');
    bool done = vi_type(&v->vi, e, point, bench_clipboard(b));
    if (text_revision(edit_text(e)) != was)
        slot_typed(b);
    v->keep = true;
    return done;
}

// What keys that are no characters do in vi's normal mode; ACT_NONE: nothing.
static enum action in_normal_mode(enum action a)
{
    switch ((int)a) {
    case ACT_INSERT_NEWLINE:
        return ACT_DOWN;
    case ACT_DELETE_BACK:
        return ACT_LEFT;
    case ACT_DELETE_FORWARD: // C-d, and C-u
        return ACT_PAGE_DOWN;
    case ACT_KILL_LINE_BACK:
        return ACT_PAGE_UP;
    case ACT_INSERT_TAB:
    case ACT_YANK:
        return ACT_NONE;
    }
    return a;
}

static bool act_editing(struct notebook_view *v, enum action a)
{
    bench *b = v->head.bench;
    if (notebook_in_vi(v) && (a = in_normal_mode(a)) == ACT_NONE)
        return true;
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
    size_t lo, hi;
    notebook_selected(v, &lo, &hi);
    struct selection s = {v->at, v->mark};
    *(v->at > v->mark ? &s.at : &s.mark) = hi; // also what a folded heading hides
    const struct selection whole = s;
    if (!structure_act(v->head.bench, a, &s))
        return false;
    bool one = s.at == s.mark;
    v->at = one ? s.at : v->at + s.at - whole.at;
    v->mark = one ? s.mark : v->mark + s.mark - whole.mark;
    v->keep = true;
    return true;
}

bool notebook_act(struct notebook_view *v, enum action a)
{
    bool vi = v->editing && settings_vi(bench_settings(v->head.bench));
    if (vi && a == ACT_COMMAND && vi_escape(&v->vi, slot_edit(slot_at(v->head.bench, v->at)))) {
        v->keep = true;
        return true;
    }
    if (act_running(v, a))
        return true;
    if (v->editing && a != ACT_COMMAND && a != ACT_SEARCH && a != ACT_PALETTE && act_editing(v, a))
        return true;
    if (act_looking(v, a))
        return true;
    if (a == ACT_SEARCH_NEXT || a == ACT_SEARCH_PREVIOUS)
        return notebook_search(v, a == ACT_SEARCH_PREVIOUS);
    bool goes = a == ACT_PROBLEM_NEXT || a == ACT_PROBLEM_PREVIOUS || a == ACT_DEFINITION ||
                a == ACT_JUMP_BACK;
    return ((!v->editing || goes) && act_moving(v, a)) || act_structure(v, a);
}
