// SPDX-License-Identifier: MIT
#include "tui/edit/edit.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/text/utf8.h"
#include "tui/edit/indent.h"

#include <ctype.h>
#include <string.h>

struct edit {
    text *text;
    undo *undo;
    pos cursor, anchor;
    bool selecting; // the text between anchor and cursor is selected
    bool marking;   // movements extend the selection (ACT_MARK)
    int goal;       // screen column for vertical movements, -1: the cursor's
    size_t page;
    struct edit_language language;
};

edit *edit_new(const char *s, size_t n)
{
    edit *e = mem_alloc(sizeof *e);
    e->text = text_new();
    e->undo = undo_new();
    e->goal = -1;
    e->page = 10;
    e->language = (struct edit_language){"--", "", "", 4};
    text_set(e->text, s, n);
    return e;
}

void edit_free(edit *e)
{
    if (!e)
        return;
    text_free(e->text);
    undo_free(e->undo);
    free(e);
}

text *edit_text(edit *e)
{
    return e->text;
}

void edit_reset(edit *e, const char *s, size_t n)
{
    text_set(e->text, s, n);
    undo_forget(e->undo);
    edit_set_cursor(e, e->cursor);
}

pos edit_cursor(const edit *e)
{
    return e->cursor;
}

void edit_set_cursor(edit *e, pos p)
{
    e->cursor = text_clamp(e->text, p);
    e->selecting = e->marking = false;
    e->goal = -1;
    undo_break(e->undo);
}

bool edit_selection(const edit *e, pos *from, pos *to)
{
    bool forward = pos_compare(e->anchor, e->cursor) <= 0;
    *from = forward && e->selecting ? e->anchor : e->cursor;
    *to = forward || !e->selecting ? e->cursor : e->anchor;
    return e->selecting && pos_compare(e->anchor, e->cursor) != 0;
}

void edit_select(edit *e, pos from, pos to)
{
    pos end = text_clamp(e->text, to);
    int goal = -1;
    edit_set_cursor(e, pos_compare(end, to) < 0 && to.line == end.line
                           ? cursor_move(e->text, end, MOVE_RIGHT, 1, &goal)
                           : end);
    e->anchor = text_clamp(e->text, from);
    e->selecting = true;
}

void edit_set_page(edit *e, size_t lines)
{
    e->page = lines;
}

void edit_set_language(edit *e, const struct edit_language *language)
{
    e->language = *language;
    if (e->language.indent <= 0)
        e->language.indent = 4;
}

// The only function that changes the text.
static void replace(edit *e, pos from, pos to, const char *s, size_t n)
{
    AUTO_BUF removed = {0};
    text_copy(e->text, from, to, &removed);
    undo_record(e->undo, e->cursor, from, removed.data, removed.len, s, n);
    text_delete(e->text, from, to);
    e->cursor = text_insert(e->text, from, s, n);
    e->selecting = e->marking = false;
    e->goal = -1;
}

static void edit_move(edit *e, enum move m, bool select)
{
    select = select || e->marking;
    pos from, to;
    bool had = edit_selection(e, &from, &to);
    if (had && !select && (m == MOVE_LEFT || m == MOVE_RIGHT)) {
        edit_set_cursor(e, m == MOVE_LEFT ? from : to); // goes to the end of the selection
        return;
    }
    if (select && !e->selecting)
        e->anchor = e->cursor;
    e->selecting = select;
    e->cursor = cursor_move(e->text, e->cursor, m, e->page, &e->goal);
    undo_break(e->undo);
}

void edit_insert(edit *e, const char *s, size_t n)
{
    pos from, to;
    edit_selection(e, &from, &to);
    replace(e, from, to, s, n);
}

void edit_paste(edit *e, const char *s, size_t n)
{
    AUTO_BUF clean = {0};
    text_clean(s, n, &clean);
    undo_group_begin(e->undo);
    edit_insert(e, buf_cstr(&clean), clean.len);
    undo_group_end(e->undo);
}

void edit_type(edit *e, const char *s, size_t n)
{
    edit_insert(e, s, n);
    pos at = e->cursor;
    size_t length, excess = indent_excess(&e->language, e->text, at.line);
    text_line(e->text, at.line, &length);
    if (excess == 0 || at.byte != length)
        return;
    replace(e, (pos){at.line, 0}, (pos){at.line, excess}, "", 0);
    edit_set_cursor(e, (pos){at.line, at.byte - excess});
}

// Starts a new line with this one's indentation, or deeper after "function …", "then", "do", "{",
// "(", ":".
static void edit_newline(edit *e)
{
    pos from, to;
    edit_selection(e, &from, &to);
    const char *line = text_line(e->text, from.line, NULL);
    size_t indent = strspn(line, " \t");
    AUTO_BUF fresh = {0};
    buf_char(&fresh, '\n');
    buf_add(&fresh, line, indent < from.byte ? indent : from.byte);
    if (indent_opens(e->language.opens, line, from.byte))
        for (int i = 0; i < e->language.indent; i++)
            buf_char(&fresh, ' ');
    replace(e, from, to, fresh.data, fresh.len);
}

// Calls fn for each selected line (or the cursor's), and keeps cursor and selection at their
// characters.
static void each_line(edit *e, void (*fn)(edit *e, size_t line, void *arg), void *arg)
{
    pos from, to;
    bool selected = edit_selection(e, &from, &to), was_selecting = e->selecting;
    size_t last = selected && to.byte == 0 && to.line > from.line ? to.line - 1 : to.line;
    pos cursor = e->cursor, anchor = e->anchor;
    undo_group_begin(e->undo);
    for (size_t line = from.line; line <= last; line++) {
        size_t before, after;
        text_line(e->text, line, &before);
        fn(e, line, arg);
        text_line(e->text, line, &after);
        pos *ends[] = {&cursor, &anchor};
        for (int i = 0; i < 2; i++)
            if (ends[i]->line == line && ends[i]->byte > 0)
                ends[i]->byte = ends[i]->byte + after > before ? ends[i]->byte + after - before : 0;
    }
    undo_group_end(e->undo);
    e->cursor = text_clamp(e->text, cursor);
    e->anchor = text_clamp(e->text, anchor);
    e->selecting = was_selecting && selected;
}

static void indent_line(edit *e, size_t line, void *arg)
{
    size_t n;
    text_line(e->text, line, &n);
    AUTO_BUF blanks = {0};
    for (int i = 0; i < e->language.indent; i++)
        buf_char(&blanks, ' ');
    if (n)
        replace(e, (pos){line, 0}, (pos){line, 0}, blanks.data, blanks.len);
}

void edit_indent(edit *e)
{
    pos from, to;
    if (edit_selection(e, &from, &to)) {
        each_line(e, indent_line, NULL);
        return;
    }
    int column = cursor_column(e->text, e->cursor);
    AUTO_BUF blanks = {0};
    for (int i = column % e->language.indent; i < e->language.indent; i++)
        buf_char(&blanks, ' ');
    edit_insert(e, blanks.data, blanks.len);
}

static void unindent_line(edit *e, size_t line, void *arg)
{
    const char *s = text_line(e->text, line, NULL);
    size_t n = *s == '\t' ? 1 : strspn(s, " ");
    if (n > (size_t)e->language.indent)
        n = (size_t)e->language.indent;
    if (n)
        replace(e, (pos){line, 0}, (pos){line, n}, "", 0);
}

void edit_unindent(edit *e)
{
    each_line(e, unindent_line, NULL);
}

struct comment_range {
    bool remove;
    size_t indent; // the smallest of all lines: comment marks go there
};

static void look_at_line(edit *e, size_t line, void *arg)
{
    struct comment_range *r = arg;
    const char *s = text_line(e->text, line, NULL);
    size_t indent = strspn(s, " \t");
    if (!s[indent])
        return;
    r->remove = r->remove && str_starts(s + indent, e->language.comment);
    if (indent < r->indent)
        r->indent = indent;
}

static void comment_line(edit *e, size_t line, void *arg)
{
    const struct comment_range *r = arg;
    const char *s = text_line(e->text, line, NULL);
    size_t indent = strspn(s, " \t"), length = strlen(e->language.comment);
    if (!s[indent])
        return;
    if (r->remove) {
        size_t blank = s[indent + length] == ' ';
        replace(e, (pos){line, indent}, (pos){line, indent + length + blank}, "", 0);
        return;
    }
    AUTO_FREE char *mark = str_fmt("%s ", e->language.comment);
    replace(e, (pos){line, r->indent}, (pos){line, r->indent}, mark, length + 1);
}

void edit_toggle_comment(edit *e)
{
    struct comment_range r = {.remove = true, .indent = SIZE_MAX};
    if (!*e->language.comment)
        return;
    each_line(e, look_at_line, &r);
    if (r.indent != SIZE_MAX)
        each_line(e, comment_line, &r);
}

// Deletes the selection; without one, from the cursor as far as a movement leads.
static bool delete_by(edit *e, enum move m, buf *clipboard)
{
    pos from, to;
    if (!edit_selection(e, &from, &to)) {
        int goal = -1;
        pos there = cursor_move(e->text, e->cursor, m, 1, &goal);
        bool back = pos_compare(there, e->cursor) < 0;
        from = back ? there : e->cursor;
        to = back ? e->cursor : there;
    }
    if (pos_compare(from, to) == 0)
        return false;
    if (clipboard) {
        buf_clear(clipboard);
        text_copy(e->text, from, to, clipboard);
    }
    replace(e, from, to, "", 0);
    return true;
}

// In a line's indentation, Backspace removes a whole step.
static bool backspace(edit *e)
{
    pos from, to;
    const char *line = text_line(e->text, e->cursor.line, NULL);
    size_t step = (size_t)e->language.indent, at = e->cursor.byte;
    if (edit_selection(e, &from, &to) || !at || at % step || strspn(line, " ") < at)
        return delete_by(e, MOVE_LEFT, NULL);
    replace(e, (pos){e->cursor.line, at - step}, e->cursor, "", 0);
    return true;
}

// Kills to the end of the line; at the end, kills the newline, as bash and Emacs do.
static bool kill_line(edit *e, buf *clipboard)
{
    pos from, to;
    size_t n;
    text_line(e->text, e->cursor.line, &n);
    bool at_end = e->cursor.byte == n && !edit_selection(e, &from, &to);
    return delete_by(e, at_end ? MOVE_RIGHT : MOVE_LINE_END, clipboard);
}

static bool kill_line_back(edit *e, buf *clipboard)
{
    pos from, to;
    if (!edit_selection(e, &from, &to)) {
        pos cursor = e->cursor;
        edit_select(e, (pos){cursor.line, 0}, cursor);
    }
    return edit_selection(e, &from, &to) && delete_by(e, MOVE_LEFT, clipboard);
}

static bool copy(edit *e, buf *clipboard)
{
    pos from, to;
    if (!edit_selection(e, &from, &to))
        return false;
    buf_clear(clipboard);
    text_copy(e->text, from, to, clipboard);
    e->marking = false;
    return true;
}

static bool move_cursor(edit *e, enum move m, bool select)
{
    pos from, to, was = e->cursor;
    bool selected = edit_selection(e, &from, &to);
    edit_move(e, m, select);
    return selected || pos_compare(was, e->cursor) != 0;
}

static bool step_undo(edit *e, bool (*step)(undo *u, text *t, pos *cursor))
{
    pos cursor = e->cursor;
    if (!step(e->undo, e->text, &cursor))
        return false;
    edit_set_cursor(e, cursor);
    return true;
}

static bool change(edit *e, enum action a, buf *clipboard)
{
    pos from, to;
    switch (a) {
    case ACT_INSERT_NEWLINE:
        edit_newline(e);
        return true;
    case ACT_INSERT_TAB:
        edit_indent(e);
        return true;
    case ACT_UNINDENT:
        edit_unindent(e);
        return true;
    case ACT_DELETE_BACK:
        return backspace(e);
    case ACT_DELETE_FORWARD:
        return delete_by(e, MOVE_RIGHT, NULL);
    case ACT_DELETE_WORD_BACK:
        return delete_by(e, MOVE_WORD_LEFT, clipboard);
    case ACT_DELETE_WORD_FORWARD:
        return delete_by(e, MOVE_WORD_RIGHT, clipboard);
    case ACT_KILL_LINE:
        return kill_line(e, clipboard);
    case ACT_KILL_LINE_BACK:
        return kill_line_back(e, clipboard);
    case ACT_CUT_TEXT:
        return edit_selection(e, &from, &to) && delete_by(e, MOVE_LEFT, clipboard);
    case ACT_COPY_TEXT:
        return copy(e, clipboard);
    case ACT_YANK:
        edit_paste(e, buf_cstr(clipboard), clipboard->len);
        return clipboard->len > 0;
    case ACT_UNDO:
        return step_undo(e, undo_undo);
    case ACT_REDO:
        return step_undo(e, undo_redo);
    case ACT_SELECT_ALL:
        edit_select(e, (pos){0, 0}, text_end(e->text));
        return true;
    case ACT_TOGGLE_COMMENT:
        edit_toggle_comment(e);
        return true;
    case ACT_MARK:
        e->marking = e->selecting = !e->marking;
        e->anchor = e->cursor;
        return true;
    default:
        return false;
    }
}

static const struct {
    enum action action;
    enum move move;
    bool select;
} moves[] = {
    {ACT_LEFT, MOVE_LEFT, false},
    {ACT_RIGHT, MOVE_RIGHT, false},
    {ACT_UP, MOVE_UP, false},
    {ACT_DOWN, MOVE_DOWN, false},
    {ACT_PAGE_UP, MOVE_PAGE_UP, false},
    {ACT_PAGE_DOWN, MOVE_PAGE_DOWN, false},
    {ACT_WORD_LEFT, MOVE_WORD_LEFT, false},
    {ACT_WORD_RIGHT, MOVE_WORD_RIGHT, false},
    {ACT_LINE_START, MOVE_LINE_START, false},
    {ACT_LINE_END, MOVE_LINE_END, false},
    {ACT_TEXT_START, MOVE_TEXT_START, false},
    {ACT_TEXT_END, MOVE_TEXT_END, false},
    {ACT_SELECT_LEFT, MOVE_LEFT, true},
    {ACT_SELECT_RIGHT, MOVE_RIGHT, true},
    {ACT_SELECT_UP, MOVE_UP, true},
    {ACT_SELECT_DOWN, MOVE_DOWN, true},
    {ACT_SELECT_WORD_LEFT, MOVE_WORD_LEFT, true},
    {ACT_SELECT_WORD_RIGHT, MOVE_WORD_RIGHT, true},
    {ACT_SELECT_LINE_START, MOVE_LINE_START, true},
    {ACT_SELECT_LINE_END, MOVE_LINE_END, true},
};

bool edit_act(edit *e, enum action a, buf *clipboard)
{
    for (size_t i = 0; i < ARRAY_LEN(moves); i++)
        if (moves[i].action == a)
            return move_cursor(e, moves[i].move, moves[i].select);
    return change(e, a, clipboard);
}
