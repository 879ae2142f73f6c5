// SPDX-License-Identifier: MIT
#include "tui/view/pick.h"

#include "base/data/pattern.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "tui/bench/views.h"
#include "tui/grid/layout.h"
#include "tui/part/filter.h"
#include "tui/part/scroll.h"

#include <string.h>

enum { COLUMNS = 5, FIELDS, GAP = 2, DETAIL_ROWS = 6, WITH_DETAIL = 14, WIDE = 110 };

struct pick_view {
    view head;
    char *title;
    char **fields; // FIELDS a row: the columns, and the detail
    size_t rows;
    size_t *shown; // the rows that match the filter
    struct scroll scroll;
    struct filter filter;
    void (*picked)(void *arg, size_t row);
    void *arg;
};

static const char *const names[COLUMNS] = {"NOTEBOOK", "STATE", "AGE", "ABOUT", "RUN"};

static const char *field_of(const struct pick_view *v, size_t row, size_t field)
{
    return v->fields[row * FIELDS + field];
}

static bool matches(const struct pick_view *v, const struct pattern *filter, size_t row)
{
    AUTO_BUF all = {0};
    for (size_t k = 0; k < FIELDS; k++)
        buf_fmt(&all, "%s ", field_of(v, row, k));
    return pattern_passes(filter, buf_cstr(&all), all.len);
}

// The cursor stays where it is, or goes to the last row that is left.
static void refilter(struct pick_view *v)
{
    struct pattern filter = {0};
    pattern_set_filter(&filter, filter_text(&v->filter));
    size_t n = 0, was = v->scroll.at < v->scroll.n ? v->shown[v->scroll.at] : 0, at = 0;
    for (size_t i = 0; i < v->rows; i++)
        if (matches(v, &filter, i)) {
            at = i <= was ? n : at;
            v->shown[n++] = i;
        }
    v->scroll.n = n;
    v->scroll.at = at;
    pattern_done(&filter);
}

static void measure(const struct pick_view *v, int width, int *widths)
{
    struct column columns[COLUMNS];
    for (size_t k = 0; k < COLUMNS; k++) {
        columns[k] = (struct column){.want = (int)strlen(names[k])};
        for (size_t i = 0; i < v->rows; i++) {
            int w = text_width(field_of(v, i, k), strlen(field_of(v, i, k)), 0);
            columns[k].want = w > columns[k].want ? w : columns[k].want;
        }
        columns[k].min = columns[k].want < 8 ? columns[k].want : 8;
    }
    int shown = width < WIDE ? COLUMNS - 1 : COLUMNS; // a run's name is in the detail, too
    widths[COLUMNS - 1] = 0;
    layout_columns(columns, shown, GAP, width, widths);
}

static void put_row(
    grid *g, rect area, int y, const int *widths, const char *const *cells, style st)
{
    for (int k = 0, x = area.x + 1; k < COLUMNS; x += widths[k++] + GAP)
        grid_put_short(g, area, x, y, widths[k], cells[k], strlen(cells[k]), st);
}

static int wrapped_rows(const char *words, int width)
{
    int rows = 0;
    for (size_t n = strlen(words), fit; n; words += fit, n -= fit, rows++)
        fit = layout_wrap(words, n, width);
    return rows;
}

// A line, and room below it for the longest detail, so that the list does not move with the cursor;
// where the list is long, DETAIL_ROWS at most.
static int detail_rows(const struct pick_view *v, rect area)
{
    int most = 0, left = area.h - 2 - (int)v->rows;
    if (area.h < WITH_DETAIL)
        return 0;
    left = left > DETAIL_ROWS ? left : DETAIL_ROWS;
    for (size_t i = 0; i < v->rows && 1 + most < left; i++) {
        int rows = wrapped_rows(field_of(v, i, COLUMNS), area.w - 2);
        most = rows > most ? rows : most;
    }
    return 1 + most < left ? 1 + most : left;
}

static rect body_of(const struct pick_view *v, rect area)
{
    int below = detail_rows(v, area) + v->filter.typing;
    return (rect){area.x, area.y + 2, area.w, area.h - 2 - below};
}

static void settle(view *view_, rect area)
{
    struct pick_view *v = (struct pick_view *)view_;
    scroll_fit(&v->scroll, v->scroll.n, body_of(v, area).h);
}

static void draw_detail(const struct pick_view *v, grid *g, rect area)
{
    if (v->scroll.at >= v->scroll.n || area.h < 2)
        return;
    const char *words = field_of(v, v->shown[v->scroll.at], COLUMNS);
    size_t n = strlen(words);
    grid_hline(g, area, area.x + 1, area.y, area.w - 2, LOOK_DIM);
    for (int y = area.y + 1; y < area.y + area.h && n; y++) {
        size_t fit = y + 1 < area.y + area.h ? layout_wrap(words, n, area.w - 2) : n;
        size_t shown = fit - (fit > 0 && words[fit - 1] == ' '); // it is broken after a blank
        grid_put_short(g, area, area.x + 1, y, area.w - 2, words, shown, (style){0});
        words += fit;
        n -= fit;
    }
}

// The title, what is filtered, and which rows are to be seen where not all are.
static void draw_head(const struct pick_view *v, grid *g, rect area)
{
    const struct scroll *s = &v->scroll;
    int x = area.x + 1;
    x += grid_print(g, area, x, area.y, LOOK_ACCENT, "%s", v->title);
    if (*filter_text(&v->filter))
        x += grid_print(g, area, x, area.y, LOOK_WARN, "  /%s  %zu of %zu", filter_text(&v->filter),
            s->n, v->rows);
    size_t end = s->top + (size_t)s->h;
    if (s->top || end < s->n)
        grid_print(g, area, x, area.y, LOOK_DIM, "  %zu–%zu of %zu", s->top + 1,
            end < s->n ? end : s->n, s->n);
}

static void draw(const view *view_, grid *g, rect area)
{
    const struct pick_view *v = (const struct pick_view *)view_;
    int widths[COLUMNS], below = detail_rows(v, area);
    rect body = body_of(v, area);
    measure(v, area.w - 2, widths);
    draw_head(v, g, area);
    put_row(g, area, area.y + 1, widths, names, LOOK_BOLD);
    for (int y = 0; y < body.h && v->scroll.top + (size_t)y < v->scroll.n; y++) {
        size_t i = v->scroll.top + (size_t)y;
        const char *const *cells = (const char *const *)v->fields + v->shown[i] * FIELDS;
        put_row(g, body, body.y + y, widths, cells, (style){0});
        if (i != v->scroll.at)
            continue;
        grid_restyle(g, (rect){body.x, body.y + y, body.w, 1}, LOOK_SELECTED);
        grid_park_cursor(g, body.x, body.y + y);
    }
    draw_detail(v, g, (rect){area.x, body.y + body.h, area.w, below});
    filter_draw(&v->filter, g, (rect){area.x, area.y + area.h - 1, area.w, 1});
}

static bool act(view *view_, enum action a)
{
    struct pick_view *v = (struct pick_view *)view_;
    if (a == ACT_BACK || a == ACT_CLOSE) {
        bench_quit(view_->bench);
        return true;
    }
    if (a != ACT_OPEN || v->scroll.n == 0)
        return scroll_act(&v->scroll, a);
    void (*picked)(void *arg, size_t row) = v->picked;
    void *arg = v->arg;
    size_t row = v->shown[v->scroll.at];
    view_pop(view_);
    picked(arg, row);
    return true;
}

static bool mouse(view *view_, const struct mouse *m)
{
    struct pick_view *v = (struct pick_view *)view_;
    enum pointed p = scroll_point(&v->scroll, m, 2);
    return p == POINT_OPEN ? act(view_, ACT_OPEN) : p == POINT_MOVED;
}

static void filtered(view *v)
{
    refilter((struct pick_view *)v);
}

static void hint(const view *v, buf *out)
{
    buf_str(out, "Enter opens  / filter  ? keys  q leaves");
}

static void done(view *view_)
{
    struct pick_view *v = (struct pick_view *)view_;
    for (size_t i = 0; i < v->rows * FIELDS; i++)
        free(v->fields[i]);
    filter_done(&v->filter);
    free(v->fields);
    free(v->shown);
    free(v->title);
}

void pick_push(bench *b, const char *title, const struct pick_row *rows, size_t n,
    void (*picked)(void *arg, size_t row), void *arg)
{
    struct pick_view *v = view_push(b, &pick_view_ops, sizeof *v);
    v->title = mem_strdup(title);
    v->picked = picked;
    v->arg = arg;
    v->rows = n;
    v->fields = mem_array(n * FIELDS + 1, sizeof(char *));
    v->shown = mem_array(n + 1, sizeof *v->shown);
    for (size_t i = 0; i < n; i++) {
        const char *fields[] = {rows[i].notebook, rows[i].state, rows[i].age, rows[i].about,
            rows[i].run, rows[i].detail};
        for (size_t k = 0; k < FIELDS; k++)
            v->fields[i * FIELDS + k] = mem_strdup(fields[k] ? fields[k] : "");
    }
    refilter(v);
}

static const struct binding bindings[] = {
    {MODE_VIEW, "Enter", ACT_OPEN},
    {MODE_VIEW, "/", ACT_FILTER},
    {MODE_VIEW, "C-c", ACT_BACK},
};
static const struct keymap keys = KEYMAP(bindings);
const struct view_ops pick_view_ops = {.name = "open",
    .keys = &keys,
    .more = &scroll_keys,
    .settle = settle,
    .draw = draw,
    .act = act,
    .mouse = mouse,
    .filter = offsetof(struct pick_view, filter),
    .filtered = filtered,
    .hint = hint,
    .done = done};
