// SPDX-License-Identifier: MIT
// Rows and columns as a person looks at them: which column is chosen, which are hidden, where the
// columns stand. Live tables, runs and files are drawn by it and have its keys (SHEET_KEYS). What
// has the rows is the owner's; the sheet owns the names of what is hidden.
#pragma once
#include "base/buf.h"
#include "tui/edit/action.h"
#include "tui/part/table/tablelayout.h"

// Questions about the rows that are shown, in order. `rows` is what the sheet was made with.
struct sheet_ops {
    int (*columns)(const void *rows);
    const char *(*column)(const void *rows, int i);
    void (*measure)(const void *rows, struct table_column *out); // all of them
    bool (*is_right)(const void *rows, int i); // its entries stand at the right; may be NULL
    size_t (*count)(const void *rows);
    void (*entry)(const void *rows, size_t row, int i, buf *out); // appends its words
    style (*look)(const void *rows, int i, const char *words);    // may be NULL
    // By a column; -1: as they came. NULL: another has the order.
    void (*sort)(void *rows, int i, bool reverse);
    int (*sorted)(const void *rows, bool *reverse);
};
struct sheet {
    const struct sheet_ops *ops;
    void *rows;
    int chosen;    // a column; -1: none yet
    char **hidden; // their names, NULL: none
    struct table_layout layout;
};

void sheet_init(struct sheet *s, const struct sheet_ops *ops, void *rows);
void sheet_done(struct sheet *s);
// Places the columns in the width.
void sheet_settle(struct sheet *s, int width);
// The names, in the first row of the area; and a row of entries in the row at y. `mark`, if it is
// not NULL, is called where an entry stands whole.
void sheet_draw_names(const struct sheet *s, grid *g, rect area);
void sheet_draw_row(const struct sheet *s, grid *g, rect area, int y, size_t row,
    void (*mark)(const void *rows, grid *g, rect area, int x, int y, const char *words));
// The rows from `top` on. Row `at` looks selected, from a column before the area to one behind it.
void sheet_draw_rows(const struct sheet *s, grid *g, rect area, size_t top, size_t at);
// Appends "  by NAME ↓" and, when columns are missing, "  12 of 50 columns, 38 more".
void sheet_say_order(const struct sheet *s, buf *out);
void sheet_say_columns(const struct sheet *s, buf *out);
// The column at this place of the last layout; -1: none.
int sheet_column_at(const struct sheet *s, int x);
void sheet_choose(struct sheet *s, int column);
bool sheet_is_hidden(const struct sheet *s, int column);
// Moves, hides and sorts. false: none of its actions. said: what a person is told, if anything.
bool sheet_act(struct sheet *s, enum action a, buf *said);
// Appends the rows and columns that are shown as CSV (RFC 4180), with the names first: the rows
// from *row on until there are `most` bytes or none is left. false: that was the last one.
bool sheet_csv(const struct sheet *s, size_t *row, size_t most, buf *out);

#define SHEET_KEYS                                                                                 \
    {MODE_VIEW, "Left", ACT_COLUMN_PREVIOUS}, {MODE_VIEW, "Right", ACT_COLUMN_NEXT},               \
        {MODE_VIEW, "^", ACT_COLUMN_FIRST}, {MODE_VIEW, "$", ACT_COLUMN_LAST},                     \
        {MODE_VIEW, "C", ACT_COLUMN_LIST}, {MODE_VIEW, "H", ACT_COLUMN_HIDE},                      \
        {MODE_VIEW, "V", ACT_COLUMN_SHOW}, {MODE_VIEW, "|", ACT_COLUMN_FILTER},                    \
        {MODE_VIEW, "#", ACT_FREQUENCY}, {MODE_VIEW, "I", ACT_ROW_FORM},                           \
        {MODE_VIEW, "s", ACT_SORT}, {MODE_VIEW, "S", ACT_SORT_REVERSE},                            \
    {                                                                                              \
        MODE_VIEW, "/", ACT_FILTER                                                                 \
    }
