// SPDX-License-Identifier: MIT
#include "tui/grid/grid.h"

#include "base/mem.h"
#include "base/text/utf8.h"

#include <string.h>

struct grid {
    int w, h;
    int cursor_x, cursor_y, parked_x, parked_y;
    grid_cell *cells; // row by row
};

static const grid_cell blank = {.points = {' '}, .width = 1};

rect rect_clip(rect r, rect by)
{
    int x = r.x > by.x ? r.x : by.x, y = r.y > by.y ? r.y : by.y;
    int right = r.x + r.w < by.x + by.w ? r.x + r.w : by.x + by.w;
    int bottom = r.y + r.h < by.y + by.h ? r.y + r.h : by.y + by.h;
    return (rect){x, y, right > x ? right - x : 0, bottom > y ? bottom - y : 0};
}

grid *grid_new(int w, int h)
{
    grid *g = mem_alloc(sizeof *g);
    grid_resize(g, w, h);
    return g;
}

void grid_free(grid *g)
{
    if (!g)
        return;
    free(g->cells);
    free(g);
}

void grid_resize(grid *g, int w, int h)
{
    g->w = w > 0 ? w : 0;
    g->h = h > 0 ? h : 0;
    free(g->cells);
    g->cells = mem_array((size_t)g->w * (size_t)g->h + 1, sizeof *g->cells);
    grid_clear(g);
}

rect grid_area(const grid *g)
{
    return (rect){0, 0, g->w, g->h};
}

static grid_cell *at(const grid *g, int x, int y)
{
    return &g->cells[(size_t)y * (size_t)g->w + (size_t)x];
}

const grid_cell *grid_at(const grid *g, int x, int y)
{
    return x >= 0 && y >= 0 && x < g->w && y < g->h ? at(g, x, y) : NULL;
}

void grid_copy(grid *to, const grid *from)
{
    if (to->w != from->w || to->h != from->h)
        grid_resize(to, from->w, from->h);
    memcpy(to->cells, from->cells, (size_t)from->w * (size_t)from->h * sizeof *from->cells);
    to->cursor_x = from->cursor_x;
    to->cursor_y = from->cursor_y;
    to->parked_x = from->parked_x;
    to->parked_y = from->parked_y;
}

void grid_blit(grid *to, rect clip, int x, int y, const grid *from, int row)
{
    rect line = rect_clip((rect){x, y, from->w, 1}, rect_clip(clip, grid_area(to)));
    if (row < 0 || row >= from->h || line.w == 0 || line.h == 0)
        return;
    memcpy(at(to, line.x, y), at(from, line.x - x, row), (size_t)line.w * sizeof *to->cells);
}

void grid_clear(grid *g)
{
    for (size_t i = 0; i < (size_t)g->w * (size_t)g->h; i++)
        g->cells[i] = blank;
    g->cursor_x = g->cursor_y = -1;
    g->parked_x = g->parked_y = -1;
}

// {PICTURE, its number, column + 1, row + 1}. Terminals with kitty's protocol use this code point
// for the same, so it is taken from texts.
enum { PICTURE = 0x10EEEE };

struct grid_part grid_part_of(const grid_cell *c)
{
    struct grid_part part = {0};
    if (c->points[0] == PICTURE)
        part = (struct grid_part){c->points[1], (int)c->points[2] - 1, (int)c->points[3] - 1};
    return part;
}

// Makes room at (x, y): if a wide character there loses one half, its other half becomes blank.
static void part(grid *g, int x, int y)
{
    grid_cell *c = at(g, x, y);
    if (c->width == 0 && x > 0)
        *at(g, x - 1, y) =
            (grid_cell){.points = {' '}, .width = 1, .style = at(g, x - 1, y)->style};
    if (c->width == 2 && x + 1 < g->w)
        *at(g, x + 1, y) = (grid_cell){.points = {' '}, .width = 1, .style = c->style};
}

static void set(grid *g, int x, int y, uint32_t point, int width, style st)
{
    part(g, x, y);
    *at(g, x, y) = (grid_cell){.points = {point}, .width = (uint8_t)width, .style = st};
    if (width < 2)
        return;
    part(g, x + 1, y);
    *at(g, x + 1, y) = (grid_cell){.width = 0, .style = st};
}

static void add_mark(grid_cell *c, uint32_t mark)
{
    for (int i = 1; i < CELL_POINTS; i++)
        if (!c->points[i]) {
            c->points[i] = mark;
            return;
        }
}

// Joiners, variation selectors and direction overrides are dropped: terminals disagree about their
// effect on widths, and overrides make a name look like another. The characters beside them stay.
static bool is_dropped(uint32_t c)
{
    return (c >= 0x200B && c <= 0x200F) || (c >= 0x202A && c <= 0x202E) ||
           (c >= 0x2060 && c <= 0x206F) || (c >= 0xFE00 && c <= 0xFE0F) || c == 0xFEFF ||
           (c >= 0xFFF9 && c <= 0xFFFB) || (c >= 0xE0000 && c <= 0xE0FFF);
}

void grid_fill(grid *g, rect area, uint32_t point, style s)
{
    area = rect_clip(area, grid_area(g));
    for (int y = area.y; y < area.y + area.h; y++)
        for (int x = area.x; x < area.x + area.w; x++)
            set(g, x, y, point, 1, s);
}

// Draws `columns` columns from x on, partly clipped: either a whole character, or blanks.
static void put_point(grid *g, rect clip, int x, int y, uint32_t point, int columns, style st)
{
    bool whole = x >= clip.x && x + columns <= clip.x + clip.w;
    if (whole && point != ' ') {
        set(g, x, y, point, columns, st);
        return;
    }
    for (int i = x; i < x + columns; i++)
        if (i >= clip.x && i < clip.x + clip.w)
            set(g, i, y, ' ', 1, st);
}

int grid_put(grid *g, rect clip, int x, int y, const char *s, size_t n, style st)
{
    clip = rect_clip(clip, grid_area(g));
    if (y < clip.y || y >= clip.y + clip.h)
        return text_width(s, n, 0);
    int column = 0, base = -1; // base: column of the cell to which marks are added
    size_t end = 0;            // of the cluster
    for (size_t i = 0, len; i < n; i += len) {
        bool is_first = i >= end;
        if (is_first)
            end = i + utf8_cluster(s + i, n - i);
        uint32_t c = utf8_decode(s + i, n - i, &len);
        int width = point_width(c);
        if (!is_first && point_is_modifier(c))
            c = ' ';
        if (width == 0) {
            if (base >= clip.x && base < clip.x + clip.w && !is_dropped(c))
                add_mark(at(g, base, y), c);
            continue;
        }
        if (width < 0)
            width = c == '\t' ? TAB_COLUMNS - column % TAB_COLUMNS : 1;
        base = x + column;
        bool shown = point_width(c) >= 0 && c != PICTURE;
        put_point(g, clip, base, y, c == '\t' ? ' ' : shown ? c : 0xFFFD, width, st);
        if (base + width > clip.x + clip.w || c == '\t')
            base = -1; // clipped: marks have no cell to join
        column += width;
    }
    return column;
}

int grid_print(grid *g, rect clip, int x, int y, style st, const char *fmt, ...)
{
    AUTO_BUF text = {0};
    va_list args;
    va_start(args, fmt);
    buf_vfmt(&text, fmt, args);
    va_end(args);
    return grid_put(g, clip, x, y, buf_cstr(&text), text.len, st);
}

int grid_put_short(grid *g, rect clip, int x, int y, int w, const char *s, size_t n, style st)
{
    if (w <= 0)
        return 0;
    int width;
    if (text_fit(s, n, w, &width) == n)
        return grid_put(g, clip, x, y, s, n, st);
    size_t bytes = text_fit(s, n, w - 1, &width);
    grid_put(g, clip, x, y, s, bytes, st);
    return width + grid_put(g, clip, x + width, y, "…", strlen("…"), st);
}

void grid_restyle(grid *g, rect area, style over)
{
    area = rect_clip(area, grid_area(g));
    for (int y = area.y; y < area.y + area.h; y++)
        for (int x = area.x; x < area.x + area.w; x++)
            if (at(g, x, y)->points[0] != PICTURE)
                at(g, x, y)->style = style_over(at(g, x, y)->style, over);
}

void grid_put_picture(grid *g, rect clip, rect area, uint32_t id)
{
    rect drawn = rect_clip(area, rect_clip(clip, grid_area(g)));
    for (int y = drawn.y; y < drawn.y + drawn.h; y++)
        for (int x = drawn.x; x < drawn.x + drawn.w; x++) {
            set(g, x, y, PICTURE, 1, (style){0});
            at(g, x, y)->points[1] = id;
            at(g, x, y)->points[2] = (uint32_t)(x - area.x + 1);
            at(g, x, y)->points[3] = (uint32_t)(y - area.y + 1);
        }
}

void grid_hline(grid *g, rect clip, int x, int y, int w, style s)
{
    grid_fill(g, rect_clip((rect){x, y, w, 1}, clip), 0x2500, s);
}

void grid_vline(grid *g, rect clip, int x, int y, int h, style s)
{
    grid_fill(g, rect_clip((rect){x, y, 1, h}, clip), 0x2502, s);
}

void grid_restyle_all(grid *g, style (*as)(void *arg, style s), void *arg)
{
    style last = {0}, made = as(arg, last);
    for (int i = 0; i < g->w * g->h; i++) {
        grid_cell *c = &g->cells[i];
        if (c->points[0] == PICTURE)
            continue;
        if (!style_equal(c->style, last)) {
            last = c->style;
            made = as(arg, last);
        }
        c->style = made;
    }
}

void grid_box(grid *g, rect a, style s, const char *title)
{
    if (a.w < 2 || a.h < 2)
        return;
    int right = a.x + a.w - 1, bottom = a.y + a.h - 1;
    grid_hline(g, a, a.x, a.y, a.w, s);
    grid_hline(g, a, a.x, bottom, a.w, s);
    grid_vline(g, a, a.x, a.y, a.h, s);
    grid_vline(g, a, right, a.y, a.h, s);
    const struct {
        int x, y;
        uint32_t point;
    } corners[] = {
        {a.x, a.y, 0x250C}, {right, a.y, 0x2510}, {a.x, bottom, 0x2514}, {right, bottom, 0x2518}};
    for (size_t i = 0; i < ARRAY_LEN(corners); i++)
        grid_fill(g, (rect){corners[i].x, corners[i].y, 1, 1}, corners[i].point, s);
    if (!title || !*title || a.w < 7)
        return;
    int w = grid_put_short(g, a, a.x + 3, a.y, a.w - 6, title, strlen(title), s);
    grid_fill(g, (rect){a.x + 2, a.y, 1, 1}, ' ', s);
    grid_fill(g, (rect){a.x + 3 + w, a.y, 1, 1}, ' ', s);
}

void grid_set_cursor(grid *g, int x, int y)
{
    bool inside = x >= 0 && y >= 0 && x < g->w && y < g->h;
    g->cursor_x = inside ? x : -1;
    g->cursor_y = inside ? y : -1;
}

bool grid_cursor(const grid *g, int *x, int *y)
{
    *x = g->cursor_x;
    *y = g->cursor_y;
    return g->cursor_x >= 0;
}

void grid_park_cursor(grid *g, int x, int y)
{
    bool inside = x >= 0 && y >= 0 && x < g->w && y < g->h;
    g->parked_x = inside ? x : -1;
    g->parked_y = inside ? y : -1;
}

void grid_parked(const grid *g, int *x, int *y)
{
    bool said = g->parked_x >= 0;
    *x = said ? g->parked_x : 0;
    *y = said ? g->parked_y : g->h - 1;
}

static bool cell_equal(const grid_cell *a, const grid_cell *b)
{
    return a->width == b->width && style_equal(a->style, b->style) &&
           memcmp(a->points, b->points, sizeof a->points) == 0;
}

static void diff_row(
    const grid *was, const grid *now, int y, void (*run)(void *arg, int x, int y, int n), void *arg)
{
    for (int x = 0; x < now->w;) {
        if (cell_equal(at(was, x, y), at(now, x, y))) {
            x++;
            continue;
        }
        int start = x;
        while (start > 0 && at(now, start, y)->width == 0)
            start--;
        while (
            x < now->w && (at(now, x, y)->width == 0 || !cell_equal(at(was, x, y), at(now, x, y))))
            x++;
        run(arg, start, y, x - start);
    }
}

void grid_diff(
    const grid *was, const grid *now, void (*run)(void *arg, int x, int y, int n), void *arg)
{
    bool same_size = was->w == now->w && was->h == now->h;
    for (int y = 0; y < now->h; y++) {
        if (same_size)
            diff_row(was, now, y, run, arg);
        else if (now->w)
            run(arg, 0, y, now->w);
    }
}

void grid_row_text(const grid *g, int y, buf *out)
{
    size_t start = out->len, end = start;
    for (int x = 0; x < g->w && y >= 0 && y < g->h; x++) {
        const grid_cell *c = at(g, x, y);
        if (c->points[0] == PICTURE) {
            buf_char(out, ' ');
            continue;
        }
        for (int i = 0; i < CELL_POINTS && c->points[i]; i++) {
            char bytes[4];
            buf_add(out, bytes, utf8_encode(c->points[i], bytes));
        }
        if (c->points[0] && c->points[0] != ' ')
            end = out->len;
    }
    if (out->len > end) {
        out->len = end;
        out->data[end] = '\0';
    }
}
