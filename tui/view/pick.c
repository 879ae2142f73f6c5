// SPDX-License-Identifier: MIT
#include "tui/view/pick.h"

#include "base/mem.h"
#include "base/text/utf8.h"
#include "tui/grid/layout.h"
#include "tui/part/scroll.h"
#include "tui/view/views.h"

#include <string.h>

enum { COLUMNS = 5, GAP = 2 };

struct pick_view {
    view head;
    char *title;
    char **cells; // COLUMNS entries for each row
    struct scroll scroll;
    void (*picked)(void *arg, size_t row);
    void *arg;
};

static const char *const names[COLUMNS] = {"NOTEBOOK", "STATE", "AGE", "FOLDER", "RUN"};

static const char *cell_of(const struct pick_view *v, size_t row, size_t column)
{
    return v->cells[row * COLUMNS + column];
}

static void measure(const struct pick_view *v, int width, int *widths)
{
    struct column columns[COLUMNS];
    for (size_t k = 0; k < COLUMNS; k++) {
        columns[k] = (struct column){.want = (int)strlen(names[k])};
        for (size_t i = 0; i < v->scroll.n; i++) {
            int w = text_width(cell_of(v, i, k), strlen(cell_of(v, i, k)), 0);
            columns[k].want = w > columns[k].want ? w : columns[k].want;
        }
        columns[k].min = columns[k].want < 8 ? columns[k].want : 8;
    }
    layout_columns(columns, COLUMNS, GAP, width, widths);
}

static void put_row(
    grid *g, rect area, int y, const int *widths, const char *const *cells, style st)
{
    for (int k = 0, x = area.x + 1; k < COLUMNS; x += widths[k++] + GAP)
        grid_put_short(g, area, x, y, widths[k], cells[k], strlen(cells[k]), st);
}

static void settle(view *view_, rect area)
{
    struct pick_view *v = (struct pick_view *)view_;
    scroll_fit(&v->scroll, v->scroll.n, area.h - 2);
}

static void draw(const view *view_, grid *g, rect area)
{
    const struct pick_view *v = (const struct pick_view *)view_;
    int widths[COLUMNS];
    rect body = {area.x, area.y + 2, area.w, area.h - 2};
    measure(v, area.w - 2, widths);
    grid_print(g, area, area.x + 1, area.y, LOOK_ACCENT, "%s", v->title);
    put_row(g, area, area.y + 1, widths, names, LOOK_BOLD);
    for (int y = 0; y < body.h && v->scroll.top + (size_t)y < v->scroll.n; y++) {
        size_t i = v->scroll.top + (size_t)y;
        const char *const *cells = (const char *const *)v->cells + i * COLUMNS;
        put_row(g, body, body.y + y, widths, cells, (style){0});
        if (i == v->scroll.at)
            grid_restyle(g, (rect){body.x, body.y + y, body.w, 1}, LOOK_SELECTED);
    }
}

static bool act(view *view_, enum action a)
{
    struct pick_view *v = (struct pick_view *)view_;
    if (a == ACT_BACK) {
        bench_quit(view_->bench);
        return true;
    }
    if (a != ACT_OPEN || v->scroll.n == 0)
        return scroll_act(&v->scroll, a);
    void (*picked)(void *arg, size_t row) = v->picked;
    void *arg = v->arg;
    size_t row = v->scroll.at;
    view_pop(view_);
    picked(arg, row);
    return true;
}

static void done(view *view_)
{
    struct pick_view *v = (struct pick_view *)view_;
    for (size_t i = 0; i < v->scroll.n * COLUMNS; i++)
        free(v->cells[i]);
    free(v->cells);
    free(v->title);
}

void pick_push(bench *b, const char *title, const struct pick_row *rows, size_t n,
    void (*picked)(void *arg, size_t row), void *arg)
{
    struct pick_view *v = view_push(b, &pick_view_ops, sizeof *v);
    v->title = mem_strdup(title);
    v->picked = picked;
    v->arg = arg;
    v->scroll.n = n;
    v->cells = mem_array(n * COLUMNS + 1, sizeof(char *));
    for (size_t i = 0; i < n; i++) {
        const char *cells[] = {
            rows[i].notebook, rows[i].state, rows[i].age, rows[i].folder, rows[i].run};
        for (size_t k = 0; k < COLUMNS; k++)
            v->cells[i * COLUMNS + k] = mem_strdup(cells[k] ? cells[k] : "");
    }
}

static const struct binding bindings[] = {
    {MODE_VIEW, "Enter", ACT_OPEN},
    {MODE_VIEW, "C-c", ACT_BACK},
};
static const struct keymap keys = KEYMAP(bindings);
const struct view_ops pick_view_ops = {.name = "attach",
    .keys = &keys,
    .more = &scroll_keys,
    .settle = settle,
    .draw = draw,
    .act = act,
    .done = done};
