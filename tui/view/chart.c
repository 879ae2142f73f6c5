// SPDX-License-Identifier: MIT
// A display on the full screen that is a drawing: progress with its curves, or a plot.
#include "tui/bench/remote.h"
#include "tui/part/canvas.h"
#include "tui/view/open.h"
#include "tui/view/views.h"

enum { HEAD_ROWS = 3 };

struct chart_view {
    view head;
    int64_t display;
};

static void draw(const view *view_, grid *g, rect area)
{
    const struct chart_view *v = (const struct chart_view *)view_;
    bench *b = view_->bench;
    const struct output *o = fold_display(bench_fold(b), v->display);
    AUTO_BUF place = {0};
    open_place(b, NULL, v->display, &place);
    int x = grid_print(g, area, area.x + 1, area.y, LOOK_BOLD, "%s%s",
        o ? open_name(o->data) : "gone", buf_cstr(&place));
    if (o && !o->live)
        grid_print(g, area, area.x + 1 + x, area.y, LOOK_DIM, "  ended");
    if (!o || area.h <= HEAD_ROWS)
        return;
    // below 60 columns the two charts are one below the other
    int rows = area.h - HEAD_ROWS;
    rows = area.w < 62 && json_get(o->data, "application/vnd.firesteel.progress+json") ? rows / 2
                                                                                       : rows;
    grid *own = grid_new(area.w - 2, area.h - 1);
    struct canvas c = {
        .grid = own, .w = area.w - 2, .ascii = bench_ascii(b), .plot_rows = rows > 3 ? rows : 3};
    canvas_bundle(&c, o->data, o->live, 0);
    for (int y = 0; y < area.h - 1; y++)
        grid_blit(g, area, area.x + 1, area.y + 1 + y, own, y);
    grid_free(own);
}

static bool act(view *v, enum action a)
{
    int64_t display = ((struct chart_view *)v)->display;
    if (a == ACT_VIEW_NEXT || a == ACT_VIEW_PREVIOUS)
        return open_turn(v, NULL, display, a == ACT_VIEW_NEXT ? 1 : -1);
    if (a != ACT_INTERRUPT)
        return false;
    remote_interrupt(v->bench);
    return true;
}

void chart_push(bench *b, int64_t display)
{
    struct chart_view *v = view_push(b, &chart_view_ops, sizeof *v);
    v->display = display;
}

static const struct binding bindings[] = {
    {MODE_VIEW, "Tab", ACT_VIEW_NEXT},
    {MODE_VIEW, "S-Tab", ACT_VIEW_PREVIOUS},
    {MODE_VIEW, "C-c", ACT_INTERRUPT},
    {MODE_VIEW, "A", ACT_ANSWER},
    {MODE_VIEW, "C-l", ACT_REDRAW},
    {MODE_VIEW, "C-z", ACT_SUSPEND},
    {MODE_VIEW, "?", ACT_HELP},
    {MODE_VIEW, "F1", ACT_HELP},
    {MODE_VIEW, "q", ACT_BACK},
    {MODE_VIEW, "Esc", ACT_BACK},
};
static const struct keymap keys = KEYMAP(bindings);
const struct view_ops chart_view_ops = {.name = "chart", .keys = &keys, .draw = draw, .act = act};
