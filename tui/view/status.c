// SPDX-License-Identifier: MIT
// The last row: mode, file, cluster, kernel; or what was said last.
#include "base/mem.h"
#include "base/str.h"
#include "tui/grid/utf8.h"
#include "tui/view/view.h"

#include <string.h>

static const char *mode_name(const bench *b, unsigned mode, const char *place)
{
    return mode & MODE_EDIT ? "EDIT" : mode & MODE_COMMAND ? "COMMAND" : place;
}

static style state_style(const bench *b)
{
    static const style bar = {.attrs = ATTR_REVERSE};
    style st = bar;
    if (str_eq(b->state, "busy") || str_eq(b->state, "asking"))
        st.fg = COLOR_INDEX(3);
    else if (str_eq(b->state, "gone") || str_eq(b->state, "wedged"))
        st.fg = COLOR_INDEX(1);
    else
        st.fg = COLOR_INDEX(2);
    return st;
}

static size_t waiting(const bench *b)
{
    size_t n = 0;
    for (size_t i = 0; i < fold_count(b->fold); i++)
        n += fold_cell(b->fold, i)->state == STATE_QUEUED;
    return n;
}

static void kernel_text(const bench *b, buf *out)
{
    size_t n = waiting(b);
    buf_fmt(out, " ● %s", b->state);
    if (n)
        buf_fmt(out, " +%zu", n);
    buf_str(out, " ");
}

void status_draw(bench *b, grid *g, rect area, unsigned mode, const char *place)
{
    static const style bar = {.attrs = ATTR_REVERSE};
    AUTO_BUF kernel = {0};
    kernel_text(b, &kernel);
    const char *slash = strrchr(b->path ? b->path : "", '/');
    const char *name = slash ? slash + 1 : b->path ? b->path : "untitled";
    int right = text_width(buf_cstr(&kernel), kernel.len, 0);
    bool unsaved = !b->saved || b->edited_at;
    grid_fill(g, area, ' ', bar);
    int x = grid_print(
        g, area, 0, area.y, style_over(bar, LOOK_BOLD), " %-8s", mode_name(b, mode, place));
    x += grid_print(g, area, x, area.y, bar, " %s%s%s", name, unsaved ? " +" : "",
        b->read_only ? " (watching)" : "");
    if (b->target)
        x += grid_print(g, area, x, area.y, bar, "  ⎈ %s", b->target);
    AUTO_BUF own = {0};
    if (b->top->ops->hint)
        b->top->ops->hint(b->top, &own);
    const char *hint = b->say[0]             ? b->say
                       : b->input.n          ? ""
                       : mode & MODE_EDIT    ? "Esc leaves, C-e runs"
                       : mode & MODE_COMMAND ? "? help"
                       : own.len             ? buf_cstr(&own)
                                             : "q back";
    int room = area.w - right - x - 3;
    if (b->say[0] && room < text_width(hint, strlen(hint), 0)) { // what is said comes first
        x = 0;
        room = area.w - right - 2;
        grid_fill(g, area, ' ', bar);
    }
    style look = b->said_error && b->say[0] ? style_over(bar, LOOK_ERROR) : bar;
    if (room > 4)
        grid_put_short(g, area, x + 2, area.y, room, hint, strlen(hint), look);
    grid_put(g, area, area.w - right, area.y, buf_cstr(&kernel), kernel.len, state_style(b));
}
