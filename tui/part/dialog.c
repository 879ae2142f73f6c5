// SPDX-License-Identifier: MIT
#include "tui/part/dialog.h"

#include "tui/grid/look.h"

#include "base/text/utf8.h"
#include "tui/grid/layout.h"

#include <string.h>

enum { WIDTH = 68, GAP = 2 };

static int width(const char *s)
{
    return text_width(s, strlen(s), 0);
}

static int label_width(const struct dialog *d)
{
    int widest = 0;
    for (size_t i = 0; i < d->n; i++)
        if (d->rows[i].label && width(d->rows[i].label) + GAP > widest)
            widest = width(d->rows[i].label) + GAP;
    return widest;
}

// Draws a row's lines from `y` on, which may be outside of `clip`; returns their number. Without a
// grid they are only counted.
static int put_row(grid *g, rect clip, int y, int labels, const struct dialog_row *row)
{
    int x = row->label ? labels : 0, rows = 0;
    const char *words = row->text;
    if (g && row->label)
        grid_put(g, clip, clip.x, y, row->label, strlen(row->label), LOOK_DIM);
    do {
        size_t line = strcspn(words, "\n");
        size_t n = line ? layout_wrap(words, line, clip.w - x) : 0;
        if (g)
            grid_put(g, clip, clip.x + x, y + rows, words, n, row->look);
        rows++;
        words += n;
        words += n == line && *words == '\n';
    } while (*words);
    return rows;
}

static int put_rows(grid *g, rect clip, int y, const struct dialog *d)
{
    int labels = label_width(d), from = y;
    for (size_t i = 0; i < d->n; i++)
        y += put_row(g, clip, y, labels, &d->rows[i]);
    return y - from;
}

// The place of the dialog: its box, the part that scrolls, and that part's rows.
struct place {
    rect box, inside;
    int n;
};

static struct place place(rect area, const struct dialog *d)
{
    int w = area.w - 2 < WIDTH ? area.w - 2 : WIDTH;
    int n = put_rows(NULL, (rect){.w = w - 4}, 0, d);
    int below = d->input + (*d->keys || n + 3 <= area.h); // no row for no keys where it is dear
    bool air = n + 2 + below + 1 <= area.h;               // a blank row before the keys
    int h = n + 2 + below + air;
    h = h > area.h ? area.h : h;
    rect box = {area.x + (area.w - w) / 2, area.y + (area.h - h) / 2, w, h};
    return (struct place){box, {box.x + 2, box.y + 1, w - 4, h - 2 - below - air}, n};
}

void dialog_settle(rect area, const struct dialog *d, struct scroll *scroll)
{
    struct place p = place(area, d);
    scroll_fit_text(scroll, (size_t)p.n, p.inside.h);
}

rect dialog_show(grid *g, rect area, const struct dialog *d)
{
    struct place p = place(area, d);
    rect box = p.box, inside = p.inside;
    size_t top = d->scroll->top;
    grid_fill(g, box, ' ', (style){0});
    grid_box(g, box, d->frame, d->title);
    grid_park_cursor(g, inside.x, inside.y);
    put_rows(g, inside, inside.y - (int)top, d);
    if (p.n > inside.h)
        grid_print(g, box, box.x + 2, box.y + box.h - 1, d->frame, " %zu-%zu of %d, Down Up ",
            top + 1, top + (size_t)inside.h, p.n);
    rect last = {inside.x, box.y + box.h - 2, inside.w, 1};
    const char *keys = d->short_keys && width(d->keys) > last.w ? d->short_keys : d->keys;
    grid_put_short(
        g, last, last.x, last.y, last.w, keys, strlen(keys), d->waits ? LOOK_DIM : LOOK_ACCENT);
    return d->input ? (rect){inside.x, last.y - 1, inside.w, 1} : (rect){0};
}

static struct dialog of_text(const struct dialog_row *row, const struct scroll *scroll)
{
    return (struct dialog){.rows = row, .n = 1, .keys = "", .frame = LOOK_ACCENT, .scroll = scroll};
}

void dialog_settle_text(rect area, const char *words, struct scroll *scroll)
{
    struct dialog_row row = {.text = words};
    struct dialog d = of_text(&row, scroll);
    dialog_settle(area, &d, scroll);
}

void dialog_draw(grid *g, rect area, const char *title, const char *words, bool waits,
    const struct scroll *scroll)
{
    struct dialog_row row = {.text = words, .look = waits ? LOOK_DIM : (style){0}};
    struct dialog d = of_text(&row, scroll);
    d.title = title;
    dialog_show(g, area, &d);
}
