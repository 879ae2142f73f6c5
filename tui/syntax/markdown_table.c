// SPDX-License-Identifier: MIT
// Pipe tables: columns as wide as they need to be, or as there is room for; then entries wrap.
#include "base/mem.h"
#include "base/text/utf8.h"
#include "tui/grid/layout.h"
#include "tui/syntax/markdown_private.h"

#include <string.h>

enum { COLUMNS = 24, ROWS = 500, GAP = 3 };

struct entries {
    const char *at[COLUMNS];
    size_t n[COLUMNS];
    size_t count;
};

static size_t line_length(const char *s, size_t n)
{
    const char *newline = memchr(s, '\n', n);
    return newline ? (size_t)(newline - s) : n;
}

static size_t run_of(const char *s, size_t n, char c)
{
    size_t k = 0;
    while (k < n && s[k] == c)
        k++;
    return k;
}

static void trim(const char **s, size_t *n)
{
    while (*n && (**s == ' ' || **s == '\t'))
        (*s)++, (*n)--;
    while (*n && strchr(" \t\r", (*s)[*n - 1]))
        (*n)--;
}

static void add_entry(struct entries *e, const char *s, size_t n)
{
    if (e->count == COLUMNS)
        return;
    trim(&s, &n);
    e->at[e->count] = s;
    e->n[e->count++] = n;
}

// "| a | b \| c |" has two entries. false: there is no bar in it.
static bool split(const char *s, size_t n, struct entries *e)
{
    bool any = false;
    *e = (struct entries){0};
    trim(&s, &n);
    if (n && s[0] == '|')
        s++, n--, any = true;
    size_t from = 0;
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '\\' && i + 1 < n)
            i++;
        else if (s[i] == '|') {
            add_entry(e, s + from, i - from);
            from = i + 1;
            any = true;
        }
    }
    if (from < n)
        add_entry(e, s + from, n - from);
    return any && e->count;
}

enum side { SIDE_LEFT, SIDE_MIDDLE, SIDE_RIGHT };

// "| --- | :-: | --: |"
static bool delimiters(const char *s, size_t n, enum side *sides, size_t *count)
{
    struct entries e;
    if (!split(s, n, &e))
        return false;
    for (size_t i = 0; i < e.count; i++) {
        const char *c = e.at[i];
        size_t left = e.n[i] && c[0] == ':', right = e.n[i] > 1 && c[e.n[i] - 1] == ':';
        size_t dashes = e.n[i] - left - right;
        if (!dashes || run_of(c + left, dashes, '-') < dashes)
            return false;
        sides[i] = left && right ? SIDE_MIDDLE : right ? SIDE_RIGHT : SIDE_LEFT;
    }
    *count = e.count;
    return true;
}

struct table {
    struct styled *cells; // rows × columns
    size_t rows, columns;
    enum side sides[COLUMNS];
    int widths[COLUMNS];
};

static void add_row(struct table *t, const char *s, size_t n)
{
    struct entries e;
    split(s, n, &e);
    t->cells = mem_resize(t->cells, (t->rows + 1) * t->columns, sizeof *t->cells);
    for (size_t i = 0; i < t->columns; i++) {
        struct styled *cell = &t->cells[t->rows * t->columns + i];
        *cell = (struct styled){0};
        AUTO_BUF words = {0}; // "\|" is a bar, in code too
        for (size_t k = 0; i < e.count && k < e.n[i]; k++)
            if (e.at[i][k] != '\\' || k + 1 == e.n[i] || e.at[i][k + 1] != '|')
                buf_char(&words, e.at[i][k] == '\t' ? ' ' : e.at[i][k]);
        style head = {.attrs = t->rows ? 0 : ATTR_BOLD};
        styled_markdown(cell, buf_cstr(&words), words.len, head);
    }
    t->rows++;
}

static int width_of(const struct styled *s)
{
    return text_width(buf_cstr(&s->text), s->text.len, 0);
}

static void measure(struct table *t, int room)
{
    struct column columns[COLUMNS] = {0};
    for (size_t i = 0; i < t->columns; i++) {
        for (size_t k = 0; k < t->rows; k++) {
            int w = width_of(&t->cells[k * t->columns + i]);
            columns[i].want = w > columns[i].want ? w : columns[i].want;
        }
        columns[i].min = columns[i].want < 4 ? columns[i].want : 4;
    }
    layout_columns(columns, t->columns, GAP, room, t->widths);
    for (size_t i = 0; i < t->columns; i++) // columns without room are cut off on the right
        t->widths[i] = t->widths[i] < 1 ? 1 : t->widths[i];
}

static void blanks(struct styled *row, int n)
{
    while (n-- > 0)
        styled_add(row, " ", 1, (style){0});
}

static void put_entry(
    const struct table *t, size_t column, const struct styled *cell, size_t *at, struct styled *row)
{
    const char *s = buf_cstr(&cell->text) + *at;
    size_t n = cell->text.len - *at;
    size_t fit = n ? layout_wrap(s, n, t->widths[column]) : 0, shown = fit;
    while (shown && s[shown - 1] == ' ')
        shown--;
    int room = t->widths[column] - text_width(s, shown, 0);
    int before = t->sides[column] == SIDE_RIGHT    ? room
                 : t->sides[column] == SIDE_MIDDLE ? room / 2
                                                   : 0;
    blanks(row, before);
    styled_copy(row, cell, *at, *at + shown);
    blanks(row, column + 1 < t->columns ? room - before : 0);
    *at += fit;
}

// As many rows as its longest entry needs.
static void put_row(struct layout *l, const struct table *t, size_t r)
{
    const struct styled *cells = &t->cells[r * t->columns];
    size_t at[COLUMNS] = {0};
    bool more = true;
    while (more) {
        struct styled row = {0};
        more = false;
        for (size_t i = 0; i < t->columns; i++) {
            if (i)
                styled_add(
                    &row, l->ascii ? " | " : " │ ", l->ascii ? 3 : 5, (style){.attrs = ATTR_DIM});
            put_entry(t, i, &cells[i], &at[i], &row);
            more = more || at[i] < cells[i].text.len;
        }
        markdown_row(l, &row, 0, row.text.len);
        styled_done(&row);
    }
}

static void put_line(struct layout *l, const struct table *t)
{
    static const style dim = {.attrs = ATTR_DIM};
    struct styled row = {0};
    for (size_t i = 0; i < t->columns; i++) {
        if (i)
            styled_add(&row, l->ascii ? "-+-" : "─┼─", l->ascii ? 3 : 9, dim);
        for (int k = 0; k < t->widths[i]; k++)
            styled_add(&row, l->ascii ? "-" : "─", l->ascii ? 1 : 3, dim);
    }
    markdown_row(l, &row, 0, row.text.len);
    styled_done(&row);
}

static void put_table(struct layout *l, struct table *t)
{
    measure(t, markdown_room(l));
    markdown_begin(l);
    for (size_t r = 0; r < t->rows; r++) {
        put_row(l, t, r);
        if (r == 0)
            put_line(l, t);
        l->source += r ? 1 : 2;
    }
    for (size_t i = 0; i < t->rows * t->columns; i++)
        styled_done(&t->cells[i]);
    free(t->cells);
    l->gap_due = true;
}

size_t markdown_table(struct layout *l, const char *s, size_t n)
{
    struct table t = {0};
    struct entries head, row;
    size_t first = line_length(s, n), lines = 2, indent = run_of(s, n, ' ');
    if (l->words.len || l->quotes || first >= n || !split(s, first, &head))
        return 0;
    size_t at = first + 1, second = line_length(s + at, n - at);
    if (!delimiters(s + at, second, t.sides, &t.columns) || t.columns != head.count)
        return 0;
    markdown_leave_items(l, indent);
    add_row(&t, s, first);
    for (at += second + 1; at < n && t.rows < ROWS; lines++) {
        size_t length = line_length(s + at, n - at);
        if (!split(s + at, length, &row))
            break;
        add_row(&t, s + at, length);
        at += length + 1;
    }
    put_table(l, &t);
    return lines;
}
