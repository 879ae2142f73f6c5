// SPDX-License-Identifier: MIT
// Lines are kept in a ring so that dropping the oldest costs nothing:
//
//   lines  [ 5 | 6 | 7 | 3 | 4 ]   start = 3, count = 5, dropped = 3
//                    ^ row         where the next text goes, in `column`
//
// Sequences that move the cursor reach back as far as a terminal's screen would: to `page` or for
// ANSI_WINDOW lines, whichever is less. What is older is settled. A line has any number of columns.
#include "base/mem.h"
#include "base/str.h"
#include "base/text/ansi_line.h"
#include "base/text/utf8.h"

#include <string.h>

// EDGE: the least column that a jump to the right edge ("\e[999C") reaches. COLUMNS_MAX: the
// farthest that tabs and text move the cursor.
enum { EDGE = 80, COLUMNS_MAX = 1 << 28 };

struct ansi_text {
    struct ansi parser;
    size_t limit, start, count, cap, dropped;
    struct line *lines;
    size_t row, page;
    int column;
    struct line_place place; // the bytes of `column`, while they are known
    bool placed;
    size_t calm;
    struct {
        uint64_t row; // from the first of all lines
        int column;
    } saved;
};

ansi_text *ansi_text_new(size_t limit)
{
    ansi_text *t = mem_alloc(sizeof *t);
    t->limit = limit;
    t->calm = SIZE_MAX;
    return t;
}

void ansi_text_free(ansi_text *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->cap; i++)
        line_done(&t->lines[i]);
    free(t->lines);
    free(t);
}

static struct line *line_at(const ansi_text *t, size_t i)
{
    return &t->lines[(t->start + i) % t->cap];
}

static void grow(ansi_text *t)
{
    size_t cap = t->cap ? 2 * t->cap : 16;
    struct line *lines = mem_array(cap, sizeof *lines);
    for (size_t i = 0; i < t->count; i++)
        lines[i] = *line_at(t, i);
    free(t->lines);
    t->lines = lines;
    t->cap = cap;
    t->start = 0;
}

static void drop_first(ansi_text *t)
{
    line_done(line_at(t, 0));
    t->start = (t->start + 1) % t->cap;
    t->count--;
    t->dropped++;
    t->row -= t->row > 0;
    t->page -= t->page > 0;
}

// How many lines must be kept: those shown, the open one, and those that can still be reached.
static size_t kept(const ansi_text *t)
{
    return (t->limit > ANSI_WINDOW ? t->limit : ANSI_WINDOW) + 1;
}

static void place_cursor(ansi_text *t, size_t row, int column)
{
    t->row = row;
    t->column = column;
    t->placed = false;
}

static void open_line(ansi_text *t)
{
    if (t->limit && t->count == kept(t))
        drop_first(t);
    if (t->count == t->cap)
        grow(t);
    place_cursor(t, t->count++, 0);
    t->calm += t->calm != SIZE_MAX;
}

static struct line *cursor_line(ansi_text *t)
{
    if (!t->count)
        open_line(t);
    return line_at(t, t->row);
}

// The cursor stands behind the line's end after it was moved there.
static void fill_up(ansi_text *t, struct line *l)
{
    for (; l->columns < t->column; t->placed = false)
        line_append(l, " ", 1, 1, (style){0});
}

static struct line_place find_place(ansi_text *t, const struct line *l)
{
    return t->placed ? t->place : line_seek(l, t->column);
}

static void write_text(ansi_text *t, const char *s, size_t n, int columns, style st)
{
    struct line *l = cursor_line(t);
    fill_up(t, l);
    struct line_place p = find_place(t, l);
    bool alone = !columns && (p.inside || !p.at || l->text.data[p.at - 1] == '\t');
    if (alone || t->column >= COLUMNS_MAX - columns)
        return; // a mark without a character to combine with
    if (t->column == l->columns) {
        line_append(l, s, n, columns, st);
        t->place = (struct line_place){l->text.len, 0};
    } else {
        t->place = (struct line_place){line_write(l, p, s, n, columns, st), 0};
    }
    t->column += columns;
    t->placed = true;
}

static size_t ascii_length(const char *s, size_t n)
{
    size_t i = 0;
    while (i < n && (unsigned char)s[i] < 0x80)
        i++;
    return i;
}

// ASCII is written in one go, everything else code point by code point: so the result does not
// depend on how the text was cut on its way.
static void on_text(void *arg, const char *s, size_t n, style st)
{
    ansi_text *t = arg;
    for (size_t i = 0, len; i < n; i += len) {
        len = ascii_length(s + i, n - i < COLUMNS_MAX / 2 ? n - i : COLUMNS_MAX / 2);
        int columns = (int)len;
        if (!len)
            columns = point_width(utf8_decode(s + i, n - i, &len));
        write_text(t, s + i, len, columns < 0 ? 1 : columns, st);
    }
}

static void tab(ansi_text *t)
{
    struct line *l = cursor_line(t);
    int stop = t->column - t->column % TAB_COLUMNS + TAB_COLUMNS;
    if (t->column < l->columns && stop > l->columns)
        place_cursor(t, t->row, l->columns);
    if (t->column < l->columns)
        place_cursor(t, t->row, stop);
    else
        write_text(t, "\t", 1, stop - t->column, t->parser.style);
}

static void on_control(void *arg, char c)
{
    ansi_text *t = arg;
    cursor_line(t);
    if (c == '\n' && t->row + 1 == t->count)
        open_line(t);
    else if (c == '\n')
        place_cursor(t, t->row + 1, 0);
    else if (c == '\r')
        place_cursor(t, t->row, 0);
    else if (c == '\b')
        place_cursor(t, t->row, t->column - (t->column > 0));
    else if (c == '\t')
        tab(t);
}

static void go_up(ansi_text *t, unsigned n)
{
    size_t top = t->count > ANSI_WINDOW ? t->count - ANSI_WINDOW : 0;
    top = top > t->page ? top : t->page;
    size_t room = t->row > top ? t->row - top : 0;
    if (n && room)
        t->calm = 0;
    place_cursor(t, t->row - (n < room ? n : room), t->column);
}

static void go_down(ansi_text *t, unsigned n)
{
    size_t room = t->count - 1 - t->row;
    place_cursor(t, t->row + (n < room ? n : room), t->column);
}

static void go_to_column(ansi_text *t, long column)
{
    const struct line *l = line_at(t, t->row);
    long edge = l->columns >= EDGE ? l->columns : EDGE - 1;
    edge = edge > t->column ? edge : t->column;
    place_cursor(t, t->row, (int)(column < 0 ? 0 : column < edge ? column : edge));
}

static void erase_in_line(ansi_text *t, unsigned how)
{
    struct line *l = line_at(t, t->row);
    t->placed = false;
    if (how == 0)
        line_cut(l, t->column);
    else if (how == 1)
        line_blank(l, t->column + 1);
    else if (how == 2)
        line_cut(l, 0);
}

// Text that a program clears from its screen stays above: it may be the last the program said.
static void next_page(ansi_text *t)
{
    place_cursor(t, t->count - 1, 0);
    if (line_at(t, t->row)->text.len)
        open_line(t);
    t->page = t->row;
}

static void erase_in_display(ansi_text *t, unsigned how)
{
    if (how == 2) {
        next_page(t);
        return;
    }
    size_t top = t->count > ANSI_WINDOW ? t->count - ANSI_WINDOW : 0;
    if (how == 0)
        while (t->count > t->row + 1)
            line_done(line_at(t, --t->count));
    for (size_t i = t->page > top ? t->page : top; how == 1 && i < t->row; i++)
        line_cut(line_at(t, i), 0);
    erase_in_line(t, how);
}

static void save_cursor(ansi_text *t)
{
    t->saved.row = t->dropped + t->row;
    t->saved.column = t->column;
}

static void restore_cursor(ansi_text *t)
{
    uint64_t now = t->dropped + t->row;
    if (t->saved.row < now)
        go_up(t, now - t->saved.row < ANSI_WINDOW ? (unsigned)(now - t->saved.row) : ANSI_WINDOW);
    else
        go_down(t, (unsigned)(t->saved.row - now));
    go_to_column(t, t->saved.column);
}

static void on_sequence(void *arg, char final, unsigned parameter)
{
    ansi_text *t = arg;
    long n = parameter ? (long)parameter : 1;
    cursor_line(t);
    switch (final) {
    case 'F':
    case 'A':
        go_up(t, (unsigned)n);
        break;
    case 'E':
    case 'B':
        go_down(t, (unsigned)n);
        break;
    case 'C':
        go_to_column(t, t->column + n);
        break;
    case 'D':
        go_to_column(t, t->column - n);
        break;
    case 'G':
    case '`':
        go_to_column(t, n - 1);
        break;
    case 'J':
        erase_in_display(t, parameter);
        break;
    case 'K':
        erase_in_line(t, parameter);
        break;
    case 's':
        save_cursor(t);
        break;
    case 'u':
        restore_cursor(t);
        break;
    }
    if (final == 'E' || final == 'F')
        place_cursor(t, t->row, 0);
}

void ansi_text_feed(ansi_text *t, const char *bytes, size_t n)
{
    static const struct ansi_ops ops = {
        .text = on_text, .control = on_control, .sequence = on_sequence};
    ansi_feed(&t->parser, bytes, n, &ops, t);
}

// Lines without the empty ones at the end, but at least up to the cursor.
static size_t lines_there(const ansi_text *t)
{
    size_t n = t->count;
    while (n > 0 && n - 1 >= t->row && !line_at(t, n - 1)->text.len)
        n--;
    return n;
}

static size_t hidden(const ansi_text *t)
{
    size_t n = lines_there(t);
    return t->limit && n > t->limit ? n - t->limit : 0;
}

size_t ansi_text_lines(const ansi_text *t)
{
    return lines_there(t) - hidden(t);
}

size_t ansi_text_dropped(const ansi_text *t)
{
    return t->dropped + hidden(t);
}

size_t ansi_text_calm(const ansi_text *t)
{
    return t->calm;
}

void ansi_text_take(ansi_text *t, void (*line)(void *arg, struct ansi_line line), void *arg)
{
    while (t->count > ANSI_WINDOW) {
        line(arg, ansi_text_line(t, 0));
        drop_first(t);
    }
}

style ansi_text_style(const ansi_text *t)
{
    return t->parser.style;
}

bool ansi_text_is_open(const ansi_text *t)
{
    return t->count > 0 && lines_there(t) == t->count;
}

struct ansi_line ansi_text_line(const ansi_text *t, size_t i)
{
    i += hidden(t);
    if (i >= t->count)
        return (struct ansi_line){.text = ""};
    const struct line *l = line_at(t, i);
    return (struct ansi_line){buf_cstr(&l->text), l->text.len, l->spans, l->spans_n};
}
