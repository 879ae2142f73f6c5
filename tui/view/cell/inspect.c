// SPDX-License-Identifier: MIT
// The description of a name, in a box beside the cursor. It scrolls when it is long; any other key
// closes it and goes on to the cell.
#include "base/mem.h"
#include "tui/bench/views.h"
#include "tui/part/dialog.h"

struct inspect_view {
    view head;
    char *words;
    struct scroll scroll;
};

// The place on the side of the cursor that has more room.
static rect place(const struct inspect_view *v, rect area)
{
    int x, y;
    bench_caret(v->head.bench, &x, &y);
    int below = area.y + area.h - y - 1, above = y - area.y;
    if (y >= 0 && below >= above)
        return (rect){area.x, y + 1, area.w, below};
    if (y >= 0)
        area.h = above;
    return area;
}

static struct dialog dialog_of(const struct inspect_view *v, struct dialog_row *row)
{
    *row = (struct dialog_row){.text = v->words};
    return (struct dialog){.title = "What it is",
        .rows = row,
        .n = 1,
        .keys = "Esc closes",
        .frame = LOOK_ACCENT,
        .scroll = &v->scroll};
}

static void settle(view *view_, rect area)
{
    struct inspect_view *v = (struct inspect_view *)view_;
    struct dialog_row row;
    struct dialog d = dialog_of(v, &row);
    dialog_settle(place(v, area), &d, &v->scroll);
}

static void draw(const view *view_, grid *g, rect area)
{
    const struct inspect_view *v = (const struct inspect_view *)view_;
    struct dialog_row row;
    struct dialog d = dialog_of(v, &row);
    int x, y;
    dialog_show(g, place(v, area), &d);
    bench_caret(v->head.bench, &x, &y);
    grid_set_cursor(g, x, y);
}

static bool act(view *view_, enum action a)
{
    return scroll_act(&((struct inspect_view *)view_)->scroll, a);
}

static bool type(view *view_, key k)
{
    view_pop_key(view_, k);
    return true;
}

static bool paste(view *view_, const char *words, size_t n)
{
    view_pop_paste(view_, words, n);
    return true;
}

static void done(view *view_)
{
    free(((struct inspect_view *)view_)->words);
}

static void hint(const view *v, buf *out)
{
    buf_str(out, "Esc closes");
}

void inspect_push(bench *b, const char *words)
{
    struct inspect_view *v = view_push(b, &inspect_view_ops, sizeof *v);
    v->words = mem_strdup(words);
}

static const struct binding bindings[] = {
    {MODE_VIEW, "Down", ACT_ROW_NEXT},
    {MODE_VIEW, "Up", ACT_ROW_PREVIOUS},
    {MODE_VIEW, "PgDn", ACT_PAGE_DOWN},
    {MODE_VIEW, "PgUp", ACT_PAGE_UP},
    {MODE_VIEW, "Esc", ACT_BACK},
    {MODE_VIEW, "C-c", ACT_BACK},
};
static const struct keymap keys = KEYMAP(bindings);
const struct view_ops inspect_view_ops = {.name = "documentation",
    .keys = &keys,
    .overlay = true,
    .settle = settle,
    .draw = draw,
    .act = act,
    .type = type,
    .paste = paste,
    .hint = hint,
    .done = done};
