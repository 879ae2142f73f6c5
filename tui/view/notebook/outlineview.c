// SPDX-License-Identifier: MIT
// The outline with a cursor: beside the cells on wide screens, else over them. What is typed
// filters it; Enter goes to the cell.
#include "base/mem.h"
#include "base/str.h"
#include "tui/part/line.h"
#include "tui/part/scroll.h"
#include "tui/view/notebook/notebook.h"

#include <string.h>

struct outline_view {
    view head;
    line *filter;
    struct outline rows;
    struct scroll scroll;
    size_t cell, line; // of the row with the cursor
    rect area;         // of the rows
};

static struct notebook_view *below(const struct outline_view *v)
{
    return (struct notebook_view *)v->head.below;
}

static void build(struct outline_view *v)
{
    CLEANUP(pattern_done) struct pattern filter = {0};
    pattern_set_filter(&filter, line_text(v->filter));
    outline_build(v->head.bench, &filter, &v->rows);
    v->scroll.n = v->rows.n;
    v->scroll.at = outline_row_of(&v->rows, v->cell);
    while (v->scroll.at && v->rows.rows[v->scroll.at].cell == v->cell &&
           v->rows.rows[v->scroll.at].line > v->line)
        v->scroll.at--;
}

static void note(struct outline_view *v)
{
    if (v->scroll.at < v->rows.n) {
        v->cell = v->rows.rows[v->scroll.at].cell;
        v->line = v->rows.rows[v->scroll.at].line;
    }
}

static rect pane_of(const struct outline_view *v, rect area)
{
    rect pane = outline_pane(area);
    return pane.w ? pane : area;
}

static void settle(view *view_, rect area)
{
    struct outline_view *v = (struct outline_view *)view_;
    rect pane = pane_of(v, area);
    v->area =
        (rect){pane.x + (pane.w < area.w), pane.y + 2, pane.w - (pane.w < area.w), pane.h - 2};
    build(v);
    scroll_fit(&v->scroll, v->rows.n, v->area.h);
}

static void draw(const view *view_, grid *g, rect area)
{
    const struct outline_view *v = (const struct outline_view *)view_;
    rect pane = pane_of(v, area), rows = v->area;
    AUTO_BUF count = {0};
    grid_fill(g, pane, ' ', (style){0});
    if (pane.w < area.w)
        grid_vline(g, pane, pane.x, pane.y, pane.h, LOOK_ACCENT);
    buf_fmt(&count, v->rows.n == v->rows.all ? "%zu" : "%zu of %zu", v->rows.n, v->rows.all);
    grid_print(g, pane, rows.x + 1, pane.y, LOOK_ACCENT, "Outline");
    grid_print(
        g, pane, rows.x + rows.w - (int)count.len - 1, pane.y, LOOK_DIM, "%s", buf_cstr(&count));
    grid_print(g, pane, rows.x + 1, pane.y + 1, LOOK_BOLD, "/");
    line_draw(v->filter, g, (rect){rows.x + 2, pane.y + 1, rows.w - 2, 1}, false);
    if (!v->rows.n)
        grid_print(g, rows, rows.x + 3, rows.y, LOOK_DIM, "%s",
            v->rows.all ? "no heading and no title is like that" : "no headings and no titles yet");
    outline_draw(&v->rows, view_->bench, g, rows, v->scroll.top, v->scroll.at, true);
}

static void go(struct outline_view *v)
{
    struct notebook_view *cells = below(v);
    bool any = v->scroll.at < v->rows.n;
    size_t to = v->cell, to_line = v->line;
    view_pop(&v->head);
    if (any)
        notebook_go(cells, to, to_line);
}

static bool act(view *view_, enum action a)
{
    struct outline_view *v = (struct outline_view *)view_;
    if (a == ACT_ACCEPT) {
        go(v);
        return true;
    }
    if (a == ACT_BACK) { // what was typed, then the list
        if (*line_text(v->filter)) {
            line_set(v->filter, "");
            return true;
        }
        below(v)->pane = false;
        return false;
    }
    if (scroll_act(&v->scroll, a)) {
        note(v);
        return true;
    }
    if (!line_act(v->filter, a, bench_clipboard(view_->bench), false))
        return false;
    build(v);
    note(v);
    return true;
}

static bool type(view *view_, key k)
{
    struct outline_view *v = (struct outline_view *)view_;
    line_type(v->filter, k);
    build(v);
    note(v);
    return key_character(k) != 0;
}

static bool paste(view *view_, const char *words, size_t n)
{
    struct outline_view *v = (struct outline_view *)view_;
    line_paste(v->filter, words, n);
    build(v);
    note(v);
    return true;
}

static bool mouse(view *view_, const struct mouse *m)
{
    struct outline_view *v = (struct outline_view *)view_;
    bool wheel = m->kind == MOUSE_UP || m->kind == MOUSE_DOWN;
    if (!wheel && (m->x < v->area.x || m->x >= v->area.x + v->area.w))
        return true;
    enum pointed p = scroll_point(&v->scroll, m, v->area.y);
    note(v);
    if (p == POINT_OPEN)
        go(v);
    return true;
}

static unsigned mode(const view *v)
{
    return MODE_VIEW | MODE_LINE;
}

static void hint(const view *v, buf *out)
{
    buf_str(out, "type to filter  Enter goes there  Esc closes");
}

static void done(view *view_)
{
    struct outline_view *v = (struct outline_view *)view_;
    line_free(v->filter);
    outline_done(&v->rows);
}

void outline_push(struct notebook_view *cells)
{
    struct outline_view *v = view_push(cells->head.bench, &outline_view_ops, sizeof *v);
    v->filter = line_new("");
    v->cell = cells->at;
    cells->pane = true;
    build(v);
}

static const struct binding bindings[] = {
    {MODE_VIEW, "Down", ACT_ROW_NEXT},
    {MODE_VIEW, "Tab", ACT_ROW_NEXT},
    {MODE_VIEW, "Up", ACT_ROW_PREVIOUS},
    {MODE_VIEW, "S-Tab", ACT_ROW_PREVIOUS},
    {MODE_VIEW, "PgDn", ACT_PAGE_DOWN},
    {MODE_VIEW, "PgUp", ACT_PAGE_UP},
    {MODE_VIEW, "C-c", ACT_BACK},
};
static const struct keymap keys = KEYMAP(bindings);
const struct view_ops outline_view_ops = {.name = "outline",
    .keys = &keys,
    .overlay = true,
    .mode = mode,
    .settle = settle,
    .draw = draw,
    .act = act,
    .type = type,
    .paste = paste,
    .mouse = mouse,
    .hint = hint,
    .done = done};
