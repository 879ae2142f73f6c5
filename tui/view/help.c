// SPDX-License-Identifier: MIT
// The keys of the view below, from its own table: what the help says is what works.
#include "tui/view/view.h"

#include <string.h>

enum { LINES = 128 };

struct help_view {
    view head;
    struct help_line lines[2 * LINES];
    size_t n, n_first; // of the first mode, before those of edit mode
    size_t top;
    int h;
};

static size_t rows(const struct help_view *v)
{
    return v->n + 2 * (v->n > v->n_first) + 2;
}

static void draw_row(struct help_view *v, grid *g, rect area, size_t row, int y)
{
    bool two = v->n > v->n_first;
    if (row == 0 || (two && row == v->n_first + 2)) {
        grid_print(g, area, area.x + 2, y, LOOK_BOLD, "%s",
            row   ? "While editing a cell"
            : two ? "Among cells (Esc comes here)"
                  : "Keys");
        return;
    }
    size_t i = row - 1 - (row > v->n_first + 1 ? 2 : 0);
    if (row == v->n_first + 1 || i >= v->n)
        return;
    int keys = area.w >= 60 ? 26 : 16;
    const struct help_line *l = &v->lines[i];
    grid_put_short(g, area, area.x + 2, y, keys - 1, l->keys, strlen(l->keys), LOOK_ACCENT);
    const char *words = action_help(l->action);
    grid_put_short(
        g, area, area.x + 2 + keys, y, area.w - keys - 2, words, strlen(words), (style){0});
}

static void draw(view *view_, grid *g, rect area)
{
    struct help_view *v = (struct help_view *)view_;
    v->h = area.h;
    size_t last = rows(v) > (size_t)area.h ? rows(v) - (size_t)area.h : 0;
    v->top = v->top > last ? last : v->top;
    for (int y = 0; y < area.h && v->top + (size_t)y < rows(v); y++)
        draw_row(v, g, area, v->top + (size_t)y, area.y + y);
}

static bool act(view *view_, enum action a)
{
    struct help_view *v = (struct help_view *)view_;
    size_t page = v->h > 2 ? (size_t)v->h - 2 : 1;
    switch ((int)a) {
    case ACT_ROW_NEXT:
        v->top++;
        return true;
    case ACT_ROW_PREVIOUS:
        v->top -= v->top > 0;
        return true;
    case ACT_PAGE_DOWN:
        v->top += page;
        return true;
    case ACT_PAGE_UP:
        v->top -= v->top < page ? v->top : page;
        return true;
    case ACT_ROW_FIRST:
        v->top = 0;
        return true;
    case ACT_ROW_LAST:
        v->top = rows(v);
        return true;
    }
    return false;
}

static const struct binding bindings[] = {
    {MODE_VIEW, "j", ACT_ROW_NEXT},
    {MODE_VIEW, "Down", ACT_ROW_NEXT},
    {MODE_VIEW, "k", ACT_ROW_PREVIOUS},
    {MODE_VIEW, "Up", ACT_ROW_PREVIOUS},
    {MODE_VIEW, "Space", ACT_PAGE_DOWN},
    {MODE_VIEW, "PgDn", ACT_PAGE_DOWN},
    {MODE_VIEW, "PgUp", ACT_PAGE_UP},
    {MODE_VIEW, "g", ACT_ROW_FIRST},
    {MODE_VIEW, "G", ACT_ROW_LAST},
    {MODE_VIEW, "C-l", ACT_REDRAW},
    {MODE_VIEW, "C-z", ACT_SUSPEND},
    {MODE_VIEW, "q", ACT_BACK},
    {MODE_VIEW, "Esc", ACT_BACK},
    {MODE_VIEW, "?", ACT_BACK},
    {MODE_VIEW, "F1", ACT_BACK},
};
static const struct keymap keys = KEYMAP(bindings);
const struct view_ops help_view_ops = {.name = "help", .keys = &keys, .draw = draw, .act = act};

void help_push(bench *b)
{
    const struct keymap *of = b->top->ops->keys;
    bool two = b->top->ops->mode != NULL;
    struct help_view *v = view_push(b, &help_view_ops, sizeof *v);
    v->n = v->n_first = keymap_help(of, two ? MODE_COMMAND : MODE_VIEW, v->lines, LINES);
    if (two)
        v->n += keymap_help(of, MODE_EDIT, v->lines + v->n, LINES);
}

static void document(buf *out, const char *title, const struct keymap *map, unsigned mode)
{
    struct help_line lines[LINES];
    size_t n = keymap_help(map, mode, lines, LINES);
    buf_fmt(out, "\n### %s\n\n| keys | |\n|---|---|\n", title);
    for (size_t i = 0; i < n; i++) {
        buf_str(out, "| `");
        for (const char *c = lines[i].keys; *c; c++)
            buf_fmt(out, *c == '|' ? "\\%c" : "%c", *c);
        buf_fmt(out, "` | %s |\n", action_help(lines[i].action));
    }
}

void bench_document_keys(buf *out)
{
    document(out, "Among cells", &notebook_keys, MODE_COMMAND);
    document(out, "While editing a cell", &notebook_keys, MODE_EDIT);
    document(out, "In a cell's output on the full screen", page_view_ops.keys, MODE_VIEW);
    document(out, "In the palette and the search", prompt_view_ops.keys, MODE_VIEW);
    document(out, "In the help", help_view_ops.keys, MODE_VIEW);
}
