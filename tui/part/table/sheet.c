// SPDX-License-Identifier: MIT
#include "tui/part/table/sheet.h"

#include "base/json/csvtext.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text/utf8.h"
#include "tui/grid/look.h"
#include "tui/part/table/tablevalue.h"

#include <string.h>

void sheet_init(struct sheet *s, const struct sheet_ops *ops, void *rows)
{
    *s = (struct sheet){.ops = ops, .rows = rows, .chosen = -1};
}

void sheet_done(struct sheet *s)
{
    strv_free(STEAL(s->hidden));
}

bool sheet_is_hidden(const struct sheet *s, int column)
{
    for (char **name = s->hidden; name && *name; name++)
        if (str_eq(*name, s->ops->column(s->rows, column)))
            return true;
    return false;
}

void sheet_settle(struct sheet *s, int width)
{
    struct table_column columns[TABLE_COLUMNS];
    int n = s->ops->columns(s->rows);
    s->ops->measure(s->rows, columns);
    s->chosen = s->chosen < n ? s->chosen : n - 1;
    for (int i = 0; i < n; i++)
        columns[i].hidden = sheet_is_hidden(s, i);
    table_layout(columns, n, width, s->chosen, s->layout.first, &s->layout);
}

static bool is_right(const struct sheet *s, int column)
{
    return s->ops->is_right && s->ops->is_right(s->rows, column);
}

static rect column_of(const struct sheet *s, rect area, int column, int y)
{
    return (rect){area.x + s->layout.x[column], y, s->layout.w[column], 1};
}

static int columns_of(const struct sheet *s)
{
    int n = s->ops->columns(s->rows); // there may be fewer since they were placed
    return n < s->layout.n ? n : s->layout.n;
}

void sheet_draw_names(const struct sheet *s, grid *g, rect area)
{
    bool reverse;
    int sorted = s->ops->sorted ? s->ops->sorted(s->rows, &reverse) : -1;
    for (int i = 0; i < columns_of(s); i++) {
        style st = i == sorted ? style_over(LOOK_BOLD, LOOK_ACCENT) : LOOK_BOLD;
        rect column = column_of(s, area, i, area.y);
        if (!s->layout.w[i])
            continue;
        table_put(g, area, column,
            &(struct table_entry){.words = s->ops->column(s->rows, i), .look = st});
        if (i == s->chosen)
            grid_restyle(g, rect_clip(column, area), LOOK_SELECTED);
    }
}

void sheet_draw_row(const struct sheet *s, grid *g, rect area, int y, size_t row,
    void (*mark)(const void *rows, grid *g, rect area, int x, int y, const char *words))
{
    AUTO_BUF words = {0};
    for (int i = 0; i < columns_of(s); i++) {
        if (!s->layout.w[i])
            continue;
        buf_clear(&words);
        s->ops->entry(s->rows, row, i, &words);
        style st = s->ops->look ? s->ops->look(s->rows, i, buf_cstr(&words))
                   : i == 0     ? (style){0}
                                : tablevalue_look(buf_cstr(&words));
        int x = table_put(g, area, column_of(s, area, i, y),
            &(struct table_entry){buf_cstr(&words), st, is_right(s, i), i == 0});
        if (mark && text_width(buf_cstr(&words), words.len, 0) <= s->layout.w[i])
            mark(s->rows, g, area, x, y, buf_cstr(&words));
    }
}

void sheet_draw_rows(const struct sheet *s, grid *g, rect area, size_t top, size_t at)
{
    size_t count = s->ops->count(s->rows);
    for (int y = area.y; y < area.y + area.h; y++) {
        size_t i = top + (size_t)(y - area.y);
        if (i >= count)
            return;
        sheet_draw_row(s, g, area, y, i, NULL);
        if (i != at)
            continue;
        grid_restyle(g, (rect){area.x - 1, y, area.w + 2, 1}, LOOK_SELECTED);
        grid_park_cursor(g, area.x, y);
    }
}

void sheet_say_order(const struct sheet *s, buf *out)
{
    bool reverse;
    int sorted = s->ops->sorted ? s->ops->sorted(s->rows, &reverse) : -1;
    if (sorted >= 0)
        buf_fmt(out, "  by %s %s", s->ops->column(s->rows, sorted), reverse ? "↓" : "↑");
}

static int count_hidden(const struct sheet *s)
{
    int n = 0;
    for (int i = 0; s->hidden && i < columns_of(s); i++)
        n += sheet_is_hidden(s, i);
    return n;
}

void sheet_say_columns(const struct sheet *s, buf *out)
{
    int all = columns_of(s), hidden = count_hidden(s);
    if (s->layout.missing)
        buf_fmt(out, "  %d of %d columns, %d more", all - hidden - s->layout.missing, all,
            s->layout.missing);
    if (hidden)
        buf_fmt(out, "  %d hidden", hidden);
}

int sheet_column_at(const struct sheet *s, int x)
{
    int at = -1;
    for (int i = 0; i < columns_of(s); i++)
        if (s->layout.w[i] && x >= s->layout.x[i])
            at = i;
    return at;
}

void sheet_choose(struct sheet *s, int column)
{
    s->chosen = column;
}

// Those that are hidden are passed, and so are those that stand nowhere in this layout although
// others are not missing.
static void step(struct sheet *s, int by)
{
    int n = s->ops->columns(s->rows), at = s->chosen < 0 && by > 0 ? -1 : s->chosen;
    for (int i = at + by; i >= 0 && i < n; i += by) {
        bool absent = !s->layout.w[i] && !s->layout.missing;
        if (sheet_is_hidden(s, i) || absent)
            continue;
        s->chosen = i;
        return;
    }
}

static void hide(struct sheet *s, buf *said)
{
    int at = s->chosen;
    if (at < 0) {
        buf_str(said, "Right chooses the column first");
        return;
    }
    step(s, 1);
    if (s->chosen == at)
        step(s, -1);
    if (s->chosen == at)
        buf_str(said, "it is the last column that is shown");
    else
        s->hidden = strv_add(s->hidden, s->ops->column(s->rows, at));
}

// By the chosen column, once more the other way round. Without one by the next column, and after
// the last one as they came.
static void sort(struct sheet *s, bool turn)
{
    bool reverse;
    int at = s->ops->sorted(s->rows, &reverse), n = s->ops->columns(s->rows);
    if (turn && at >= 0)
        s->ops->sort(s->rows, at, !reverse);
    else if (s->chosen >= 0)
        s->ops->sort(s->rows, s->chosen, turn || (at == s->chosen && !reverse));
    else
        s->ops->sort(s->rows, at < -1 ? 0 : at + 1 < n ? at + 1 : -1, false);
}

bool sheet_act(struct sheet *s, enum action a, buf *said)
{
    switch ((int)a) {
    case ACT_COLUMN_NEXT:
    case ACT_COLUMN_PREVIOUS:
        step(s, a == ACT_COLUMN_NEXT ? 1 : -1);
        return true;
    case ACT_COLUMN_FIRST:
        s->chosen = -1;
        step(s, 1);
        return true;
    case ACT_COLUMN_LAST:
        s->chosen = s->ops->columns(s->rows);
        step(s, -1);
        return true;
    case ACT_COLUMN_HIDE:
        hide(s, said);
        return true;
    case ACT_COLUMN_SHOW:
        strv_free(STEAL(s->hidden));
        return true;
    case ACT_SORT:
    case ACT_SORT_REVERSE:
        if (s->ops->sort)
            sort(s, a == ACT_SORT_REVERSE);
        else
            buf_str(said, "these rows have an order of their own");
        return true;
    }
    return false;
}

static void csv_row(const struct sheet *s, size_t row, bool names, buf *out)
{
    AUTO_BUF words = {0};
    bool more = false;
    for (int i = 0; i < s->ops->columns(s->rows); i++) {
        if (sheet_is_hidden(s, i))
            continue;
        buf_clear(&words);
        if (names)
            buf_str(&words, s->ops->column(s->rows, i));
        else
            s->ops->entry(s->rows, row, i, &words);
        buf_str(out, more ? "," : "");
        if (words.len || names)
            csvtext_print_field(out, buf_cstr(&words), words.len, ',');
        more = true;
    }
    buf_char(out, '\n');
}

bool sheet_csv(const struct sheet *s, size_t *row, size_t most, buf *out)
{
    size_t n = s->ops->count(s->rows);
    if (*row == 0)
        csv_row(s, 0, true, out);
    while (*row < n && out->len < most)
        csv_row(s, (*row)++, false, out);
    return *row < n;
}
