// SPDX-License-Identifier: MIT
#include "tui/part/lines/pane.h"

#include "base/text/utf8.h"
#include "tui/grid/layout.h"
#include "tui/grid/look.h"
#include "tui/part/lines/logprefix.h"

#include <string.h>

static const style look_hit = {.fg = COLOR_INDEX(3), .attrs = ATTR_REVERSE | ATTR_BOLD};
static const style looks[] = {{.attrs = ATTR_REVERSE}, {.attrs = ATTR_UNDERLINE | ATTR_BOLD}};

// Columns of the numbers and of the blank behind them.
static int gutter(const struct pane *p)
{
    int columns = 2;
    for (uint64_t n = lines_total(p->lines); n > 9; n /= 10)
        columns++;
    return p->numbers && columns < p->area.w / 2 ? columns : 0;
}

static int width(const struct pane *p)
{
    int w = p->area.w - gutter(p);
    return w > 0 ? w : 1;
}

static int rows_of(const struct pane *p, uint64_t i)
{
    struct numbered_line n;
    int rows = 0, w = width(p), indent;
    if (!p->wrap || !lines_get(p->lines, i, &n))
        return 1;
    size_t from = 0;
    do {
        from += n.text.n > from ? layout_wrap_on(n.text.text, n.text.n, from, w, &indent) : 0;
        rows++;
    } while (from < n.text.n);
    return rows;
}

void pane_scroll(struct pane *p, int64_t rows)
{
    uint64_t n = lines_count(p->lines);
    if (!p->wrap) {
        uint64_t up = rows < 0 ? (uint64_t)-rows : 0;
        p->top = up ? p->top - (up < p->top ? up : p->top) : p->top + (uint64_t)rows;
        p->row = 0;
        return;
    }
    int64_t row = p->row + rows;
    while (row < 0 && p->top > 0)
        row += rows_of(p, --p->top);
    for (int high; row > 0 && p->top + 1 < n && row >= (high = rows_of(p, p->top)); p->top++)
        row -= high;
    p->row = row > 0 ? (int)row : 0;
}

void pane_to(struct pane *p, uint64_t line)
{
    p->top = p->last = line;
    p->row = 0;
}

void pane_to_end(struct pane *p)
{
    int rows = 0;
    p->top = lines_count(p->lines);
    while (p->top > 0 && rows < p->area.h)
        rows += rows_of(p, --p->top);
    p->row = rows > p->area.h ? rows - p->area.h : 0;
    p->last = p->top;
}

bool pane_shows(const struct pane *p, uint64_t line)
{
    return line >= p->top && line <= p->last && (line > p->top || p->row == 0);
}

void pane_shift(struct pane *p, int direction)
{
    int step = p->area.w / 2;
    p->wrap = false;
    p->shift += direction * step;
    p->shift = p->shift > 0 ? p->shift : 0;
}

// Marks the searched words in a row that shows a line's bytes [a, z) from column x on.
static void mark(const struct pane *p, grid *g, rect area, int x, int y,
    const struct numbered_line *n, size_t a, size_t z, bool hit)
{
    const char *line = n->text.text;
    for (int k = 1; k >= 0; k--) {
        const struct pattern *what = p->marked[k];
        const char *at;
        size_t next = 0, length;
        while (what && what->n && (at = pattern_find(what, line, n->text.n, next, &length))) {
            size_t from = (size_t)(at - line), to = from + length;
            next = to + !length;
            from = from > a ? from : a;
            to = to < z ? to : z;
            if (from >= to)
                continue;
            int left = text_width(line + a, from - a, 0);
            rect where = {x + left, y, text_width(line + a, to - a, 0) - left, 1};
            grid_restyle(g, rect_clip(where, area), k == 0 && hit ? look_hit : looks[k]);
        }
    }
}

static void draw_row(const struct pane *p, grid *g, rect area, int y, const struct numbered_line *n,
    size_t a, size_t z, bool hit)
{
    int start = area.x - (p->wrap ? 0 : p->shift), x = start;
    for (size_t k = 0; k < n->text.spans_n; k++) {
        const struct ansi_span *s = &n->text.spans[k];
        size_t from = s->from > a ? s->from : a, to = s->to < z ? s->to : z;
        if (from < to)
            x += grid_put(
                g, area, x, y, n->text.text + from, to - from, style_over(n->base, s->style));
    }
    style look;
    size_t name = p->prefixed && a == 0 ? logprefix(n->text.text, n->text.n, &look) : 0;
    if (name)
        grid_restyle(g,
            rect_clip((rect){start, y, text_width(n->text.text, name < z ? name : z, 0), 1}, area),
            look);
    mark(p, g, area, start, y, n, a, z, hit);
    if (n->cut && z == n->text.n) { // over its end, if there is no room behind it
        enum { ROOM = 24 };
        int right = area.x + area.w - ROOM;
        grid_print(g, area, x < right ? x : right, y, LOOK_WARN, " ⋯ %llu KiB are left out ",
            (unsigned long long)(n->cut >> 10));
        return;
    }
    if (!p->wrap && x > area.x + area.w)
        grid_print(g, area, area.x + area.w - 1, y, LOOK_DIM, "›");
}

// Draws a line from its row `skip` on; returns the number of rows drawn.
static int draw_line(const struct pane *p, grid *g, rect area, uint64_t i, int skip)
{
    struct numbered_line n;
    int rows = 0, left = gutter(p);
    if (!lines_get(p->lines, i, &n))
        return 1; // the file has been changed
    rect body = rect_clip((rect){area.x + left, area.y, area.w - left, area.h}, area);
    if (left && skip == 0)
        grid_print(
            g, area, area.x, area.y, LOOK_DIM, "%*llu", left - 1, (unsigned long long)n.number + 1);
    size_t from = 0;
    do {
        int indent = 0;
        size_t fit = n.text.n - from;
        if (p->wrap && fit)
            fit = layout_wrap_on(n.text.text, n.text.n, from, width(p), &indent);
        rect row = {body.x + indent, body.y, body.w - indent, body.h};
        if (rows >= skip)
            draw_row(p, g, row, area.y + rows - skip, &n, from, from + fit, i == p->hit);
        from += fit;
        rows++;
    } while (from < n.text.n && rows - skip < area.h);
    return rows - skip;
}

// Finds the last line in the rectangle; false: the lines from the top on do not fill it.
static bool fill(struct pane *p)
{
    int rows = -p->row;
    uint64_t n = lines_count(p->lines);
    p->last = p->top;
    for (uint64_t i = p->top; i < n && rows < p->area.h; i++) {
        rows += rows_of(p, i);
        p->last = i;
    }
    return rows >= p->area.h;
}

void pane_settle(struct pane *p, rect area)
{
    p->area = area;
    if (fill(p))
        return;
    pane_to_end(p);
    fill(p);
}

void pane_draw(const struct pane *p, grid *g)
{
    uint64_t n = lines_count(p->lines);
    rect area = p->area;
    int y = 0, skip = p->row;
    for (uint64_t i = p->top; i < n && y < area.h; i++, skip = 0)
        y += draw_line(p, g, (rect){area.x, area.y + y, area.w, area.h - y}, i, skip);
}
