// SPDX-License-Identifier: MIT
#include "tui/view/table/columns.h"

#include "base/mem.h"
#include "base/str.h"
#include "tui/part/table/tablefilter.h"

#include <string.h>

static const char *chosen_name(const struct columns *c)
{
    struct sheet *s = c->sheet;
    int n = s->ops->columns(s->rows);
    if (s->chosen < 0 && n)
        sheet_choose(s, 0);
    return s->chosen >= 0 ? s->ops->column(s->rows, s->chosen) : NULL;
}

static void retype(const struct columns *c, const char *words, bool typing)
{
    filter_done(c->filter);
    c->filter->line = line_new(words);
    c->filter->typing = typing;
    c->view->ops->filtered(c->view);
}

static void filter_by(const struct columns *c)
{
    const char *name = chosen_name(c);
    AUTO_BUF words = {0};
    if (!name)
        return;
    tablefilter_write(&words, name, "", "");
    retype(c, buf_cstr(&words), true);
}

static bool is_condition(const char *words)
{
    struct condition condition = {0};
    bool is = condition_parse(&condition, words, NULL) == 0;
    condition_done(&condition);
    return is;
}

void columns_narrow(const struct columns *c, int column, const char *value)
{
    AUTO_BUF words = {0};
    const char *before = filter_text(c->filter);
    if (*before && is_condition(before))
        buf_fmt(&words, "%s and ", before);
    tablefilter_write(&words, c->sheet->ops->column(c->sheet->rows, column), "=", value);
    retype(c, buf_cstr(&words), false);
}

static void open_form(const struct columns *c)
{
    if (c->sheet->ops->count(c->sheet->rows) > c->scroll->at)
        form_push(c, c->scroll->at);
    else
        bench_say(c->view->bench, "there is no row");
}

static bool opens(const struct columns *c, enum action a)
{
    switch ((int)a) {
    case ACT_COLUMN_FILTER:
        filter_by(c);
        return true;
    case ACT_COLUMN_LIST:
        survey_push(c, -1);
        return true;
    case ACT_FREQUENCY:
        if (chosen_name(c))
            survey_push(c, c->sheet->chosen);
        return true;
    case ACT_ROW_FORM:
        open_form(c);
        return true;
    case ACT_SAVE_CSV:
        csv_save(c);
        return true;
    }
    return false;
}

bool columns_act(const struct columns *c, enum action a)
{
    AUTO_BUF said = {0};
    if (opens(c, a))
        return true;
    if (!sheet_act(c->sheet, a, &said))
        return false;
    if (said.len)
        bench_say(c->view->bench, "%s", buf_cstr(&said));
    return true;
}

void columns_point(const struct columns *c, int x)
{
    struct sheet *s = c->sheet;
    bool reverse;
    int column = sheet_column_at(s, x);
    if (column < 0)
        return;
    sheet_choose(s, column);
    if (s->ops->sort)
        s->ops->sort(s->rows, column, s->ops->sorted(s->rows, &reverse) == column && !reverse);
}
