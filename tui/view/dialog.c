// SPDX-License-Identifier: MIT
#include "tui/view/dialog.h"

#include "tui/grid/layout.h"

#include <string.h>

enum { WIDTH = 68 };

static int wrapped(grid *g, rect area, int y, const char *words, bool draw)
{
    int rows = 0;
    while (*words) {
        size_t line = strcspn(words, "\n");
        size_t n = line ? layout_wrap(words, line, area.w) : 0;
        if (draw)
            grid_put(g, area, area.x, y + rows, words, n, (style){0});
        rows++;
        words += n;
        words += n == line && *words == '\n';
    }
    return rows;
}

void dialog_draw(
    grid *g, rect area, const char *title, const char *words, const char *keys, rect *rest)
{
    int w = area.w - 2 < WIDTH ? area.w - 2 : WIDTH;
    int rows = wrapped(g, (rect){0, 0, w - 4, 0}, 0, words, false);
    int h = rows + 4 + (rest != NULL);
    h = h > area.h ? area.h : h;
    rect box = {area.x + (area.w - w) / 2, area.y + (area.h - h) / 2, w, h};
    rect inside = {box.x + 2, box.y + 1, w - 4, h - 2};
    grid_fill(g, box, ' ', (style){0});
    grid_box(g, box, LOOK_ACCENT, title);
    wrapped(g, inside, inside.y, words, true);
    if (rest)
        *rest = (rect){inside.x, box.y + h - 3, inside.w, 1};
    grid_put_short(g, inside, inside.x, box.y + h - 2, inside.w, keys, strlen(keys), LOOK_ACCENT);
}
