// SPDX-License-Identifier: MIT
// Tables: columns as wide as they need to be, or as there is room for; then entries wrap.
#include "base/mem.h"
#include "base/text/utf8.h"
#include "tui/grid/layout.h"
#include "tui/syntax/markdown_private.h"

#include <string.h>

enum { GAP = 3 };

// An entry behind the last column is left out.
void markdown_entry(struct layout *l, MD_ALIGN side)
{
    struct markdown_table *t = &l->table;
    if (t->at < t->columns && t->rows) {
        t->cells[(t->rows - 1) * t->columns + t->at] = l->words;
        t->sides[t->at] = side;
        l->words = (struct styled){0};
    }
    t->at++;
    styled_clear(&l->words);
}

static int width_of(const struct styled *s)
{
    return text_width(buf_cstr(&s->text), s->text.len, 0);
}

static void measure(struct markdown_table *t, int room)
{
    struct column columns[MARKDOWN_COLUMNS] = {0};
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

static void put_entry(const struct markdown_table *t, size_t column, const struct styled *cell,
    size_t *at, struct styled *row)
{
    const char *s = buf_cstr(&cell->text) + *at;
    size_t n = cell->text.len - *at;
    size_t fit = n ? layout_wrap(s, n, t->widths[column]) : 0, shown = fit;
    while (shown && s[shown - 1] == ' ')
        shown--;
    int room = t->widths[column] - text_width(s, shown, 0);
    int before = t->sides[column] == MD_ALIGN_RIGHT    ? room
                 : t->sides[column] == MD_ALIGN_CENTER ? room / 2
                                                       : 0;
    blanks(row, before);
    styled_copy(row, cell, *at, *at + shown);
    blanks(row, column + 1 < t->columns ? room - before : 0);
    *at += fit;
}

// As many rows as its longest entry needs.
static void put_row(struct layout *l, const struct markdown_table *t, size_t r)
{
    const struct styled *cells = &t->cells[r * t->columns];
    size_t at[MARKDOWN_COLUMNS] = {0};
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

static void put_line(struct layout *l, const struct markdown_table *t)
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

void markdown_table_end(struct layout *l)
{
    struct markdown_table *t = &l->table;
    measure(t, markdown_room(l));
    for (size_t r = 0; r < t->rows; r++) {
        l->source = t->sources[r];
        put_row(l, t, r);
        if (r == 0)
            put_line(l, t);
    }
    for (size_t i = 0; i < t->rows * t->columns; i++)
        styled_done(&t->cells[i]);
    free(t->cells);
    free(t->sources);
    *t = (struct markdown_table){0};
    l->gap_due = true;
}
