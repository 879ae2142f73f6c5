// SPDX-License-Identifier: MIT
// How often each value of a column is there, or the statistics of all columns: a table of its own
// over the rows of the view below. The rows are read a few milliseconds at a time, so a million of
// them keeps nobody from leaving. Enter narrows the rows below to a value, or chooses a column
// there.
#include "tui/part/table/survey.h"
#include "base/clock.h"
#include "base/json/rowset.h"
#include "base/mem.h"
#include "base/str.h"
#include "tui/bench/views.h"
#include "tui/part/table/tabledata.h"
#include "tui/view/table/columns.h"

#include <stdlib.h>
#include <string.h>

enum { WORK_MS = 8, SHOW_MS = 500, ROWS_AT_ONCE = 64 };

struct survey_view {
    view head;
    struct columns of; // the view below
    char *name;        // the column's; NULL: of all columns
    int column;
    frequency *values;
    statistics **all;
    int n; // columns
    size_t row, count;
    int64_t shown; // mono ns of the last table
    tabledata *data;
    struct sheet sheet;
    struct scroll scroll;
    struct filter filter;
};

// Its own rows, as a sheet has them.

static int own_columns(const void *v)
{
    return tabledata_columns(((const struct survey_view *)v)->data);
}

static const char *own_column(const void *v, int i)
{
    return tabledata_column(((const struct survey_view *)v)->data, i);
}

static void own_measure(const void *v, struct table_column *out)
{
    tabledata_measure(((const struct survey_view *)v)->data, out);
}

static bool own_right(const void *v, int i)
{
    return tabledata_is_right(((const struct survey_view *)v)->data, i);
}

static size_t own_count(const void *v)
{
    return tabledata_count(((const struct survey_view *)v)->data);
}

static void own_entry(const void *v, size_t row, int i, buf *out)
{
    const struct table_row *r = tabledata_at(((const struct survey_view *)v)->data, row);
    buf_str(out, r ? r->cells[i] : "");
}

static style own_look(const void *v, int i, const char *words)
{
    return (style){0};
}

static void own_sort(void *v, int i, bool reverse)
{
    tabledata_sort(((struct survey_view *)v)->data, i, reverse);
}

static int own_sorted(const void *v, bool *reverse)
{
    return tabledata_sorted(((const struct survey_view *)v)->data, reverse);
}

static const struct sheet_ops own_ops = {.columns = own_columns,
    .column = own_column,
    .measure = own_measure,
    .is_right = own_right,
    .count = own_count,
    .entry = own_entry,
    .look = own_look,
    .sort = own_sort,
    .sorted = own_sorted};

// The rows below.

static void add_row(struct survey_view *v, buf *words)
{
    const struct sheet *s = v->of.sheet;
    int from = v->values ? v->column : 0, to = v->values ? v->column + 1 : v->n;
    for (int i = from; i < to && i < s->ops->columns(s->rows); i++) {
        buf_clear(words);
        s->ops->entry(s->rows, v->row, i, words);
        if (v->values)
            frequency_add(v->values, buf_cstr(words));
        else
            statistics_add(v->all[i], buf_cstr(words));
    }
    v->row++;
}

static cJSON *table_of(const struct survey_view *v)
{
    if (v->values)
        return frequency_table(v->values, v->name, ROWSET_TABLE);
    cJSON *table = statistics_table();
    const struct sheet *s = v->of.sheet;
    for (int i = 0; i < v->n && i < s->ops->columns(s->rows); i++)
        statistics_row(v->all[i], table, s->ops->column(s->rows, i), i);
    return table;
}

static void read_rows(struct survey_view *v)
{
    const struct sheet *s = v->of.sheet;
    int64_t until = clock_mono() + WORK_MS * CLOCK_MS;
    AUTO_BUF words = {0};
    bool was_read = v->row >= v->count && v->shown;
    v->count = was_read ? v->count : s->ops->count(s->rows);
    while (v->row < v->count && (v->row % ROWS_AT_ONCE || clock_mono() < until))
        add_row(v, &words);
    bool due = v->row >= v->count || clock_mono() - v->shown > SHOW_MS * CLOCK_MS;
    if (was_read || !due)
        return;
    AUTO_JSON *table = table_of(v);
    tabledata_load(v->data, table);
    v->shown = clock_mono();
}

static rect body_of(rect area)
{
    return (rect){area.x + 1, area.y + 1, area.w - 2, area.h - 1};
}

static rect rows_of(const struct survey_view *v, rect body)
{
    return (rect){body.x, body.y + 1, body.w, body.h - 1 - v->filter.typing};
}

static void settle(view *view_, rect area)
{
    struct survey_view *v = (struct survey_view *)view_;
    rect body = body_of(area);
    read_rows(v);
    sheet_settle(&v->sheet, body.w);
    scroll_fit(&v->scroll, tabledata_count(v->data), rows_of(v, body).h);
}

static void draw_title(const struct survey_view *v, grid *g, rect area)
{
    AUTO_BUF words = {0};
    const char *filter = filter_text(&v->filter);
    int x = area.x + 1;
    x += v->values ? grid_print(g, area, x, area.y, LOOK_BOLD, "How often: %s", v->name)
                   : grid_print(g, area, x, area.y, LOOK_BOLD, "Columns");
    if (*filter)
        x += grid_print(g, area, x, area.y, LOOK_WARN, "  /%s", filter);
    size_t n = tabledata_count(v->data);
    buf_fmt(&words, "  %zu %s%s in %zu", n, v->values ? "value" : "column", n == 1 ? "" : "s",
        v->count);
    if (v->row < v->count)
        buf_fmt(&words, " rows, %zu read", v->row);
    else
        buf_fmt(&words, " row%s", v->count == 1 ? "" : "s");
    sheet_say_order(&v->sheet, &words);
    sheet_say_columns(&v->sheet, &words);
    grid_put_short(g, area, x, area.y, area.x + area.w - x, buf_cstr(&words), words.len, LOOK_DIM);
}

static void draw(const view *view_, grid *g, rect area)
{
    const struct survey_view *v = (const struct survey_view *)view_;
    rect body = body_of(area), rows = rows_of(v, body);
    draw_title(v, g, area);
    sheet_draw_names(&v->sheet, g, body);
    sheet_draw_rows(&v->sheet, g, rows, v->scroll.top, v->scroll.at);
    filter_draw(&v->filter, g, (rect){area.x, area.y + area.h - 1, area.w, 1});
}

// The view below takes what was chosen; this one is gone then.
static void open_selected(struct survey_view *v)
{
    const struct table_row *r = tabledata_at(v->data, v->scroll.at);
    if (!r || !*r->uid) {
        bench_say(v->head.bench, "these are several values");
        return;
    }
    struct columns of = v->of;
    AUTO_FREE char *value = mem_strdup(v->values ? r->uid + 1 : NULL); // behind the "="
    int column = v->values ? v->column : atoi(r->uid);
    view_pop(&v->head);
    if (value)
        columns_narrow(&of, column, value);
    else
        sheet_choose(of.sheet, column);
}

static struct columns columns_of(struct survey_view *v)
{
    return (struct columns){
        &v->head, &v->sheet, &v->scroll, &v->filter, v->name ? v->name : "columns"};
}

static bool act(view *view_, enum action a)
{
    struct survey_view *v = (struct survey_view *)view_;
    struct columns own = columns_of(v);
    if (a == ACT_OPEN) {
        open_selected(v);
        return true;
    }
    return columns_act(&own, a) || scroll_act(&v->scroll, a);
}

static bool mouse(view *view_, const struct mouse *m)
{
    struct survey_view *v = (struct survey_view *)view_;
    struct columns own = columns_of(v);
    if (m->kind == MOUSE_CLICK && m->y == 1) {
        columns_point(&own, m->x - 1);
        return true;
    }
    enum pointed p = scroll_point(&v->scroll, m, 2);
    if (p == POINT_OPEN)
        open_selected(v);
    return p != POINT_NONE;
}

static void filtered(view *view_)
{
    struct survey_view *v = (struct survey_view *)view_;
    tabledata_filter(v->data, filter_text(&v->filter), 0);
    v->filter.wrong = tabledata_filtered(v->data)->wrong;
}

static int wait_ms(const view *view_)
{
    const struct survey_view *v = (const struct survey_view *)view_;
    return v->row < v->count ? 1 : -1;
}

static void hint(const view *view_, buf *out)
{
    const struct survey_view *v = (const struct survey_view *)view_;
    buf_fmt(out, "Enter %s  / filter  s sort  W CSV  q back",
        v->values ? "shows these rows alone" : "chooses the column");
}

static void done(view *view_)
{
    struct survey_view *v = (struct survey_view *)view_;
    for (int i = 0; v->all && i < v->n; i++)
        statistics_free(v->all[i]);
    free(v->all);
    frequency_free(v->values);
    sheet_done(&v->sheet);
    filter_done(&v->filter);
    tabledata_free(v->data);
    free(v->name);
}

void survey_push(const struct columns *of, int column)
{
    bench *b = of->view->bench;
    const struct sheet *s = of->sheet;
    struct survey_view *v = view_push(b, &survey_view_ops, sizeof *v);
    v->of = *of;
    v->of.title = NULL;
    v->column = column;
    v->n = s->ops->columns(s->rows);
    if (column >= 0) {
        v->name = mem_strdup(s->ops->column(s->rows, column));
        v->values = frequency_new();
    } else {
        v->all = mem_array((size_t)v->n + 1, sizeof *v->all);
        for (int i = 0; i < v->n; i++)
            v->all[i] = statistics_new();
    }
    v->data = tabledata_new();
    v->filter.past = bench_past(b);
    sheet_init(&v->sheet, &own_ops, v);
}

static const struct binding bindings[] = {
    {MODE_VIEW, "Enter", ACT_OPEN}, SHEET_KEYS, {MODE_VIEW, "W", ACT_SAVE_CSV}};
static const struct keymap keys = KEYMAP(bindings);
const struct view_ops survey_view_ops = {.name = "columns",
    .keys = &keys,
    .more = &scroll_keys,
    .settle = settle,
    .draw = draw,
    .act = act,
    .mouse = mouse,
    .filter = offsetof(struct survey_view, filter),
    .filtered = filtered,
    .wait_ms = wait_ms,
    .hint = hint,
    .done = done};
