// SPDX-License-Identifier: MIT
#include "tui/part/table/tablelayout.h"

#include "base/text/utf8.h"
#include "tui/grid/layout.h"

#include <string.h>

enum {
    KEPT_LEAST = 12,
    WIDE_LEAST = 16,
    WIDE_FAIR = 32,
    OTHER_LEAST = 8,
    NAME_LEAST = 8,
    NARROW = 60
};

static int least(const struct table_column *columns, int i)
{
    int want = columns[i].width;
    int most = i == 0 || columns[i].keep ? KEPT_LEAST : OTHER_LEAST;
    return want < most ? want : most;
}

static bool is_absent(const struct table_column *c)
{
    return c->hidden || (c->wide && c->bare);
}

// The room that is left when all others have what they want takes wide columns. Late ones come
// when the others are there, all of them.
static bool choose_wide(
    const struct table_column *columns, int n, int width, int gap, bool late, bool *shown)
{
    int used = -gap;
    bool all = true;
    for (int i = 0; i < n; i++)
        used += shown[i] ? columns[i].width + gap : 0;
    for (int i = 0; i < n; i++) {
        int want = columns[i].width, least = want < WIDE_LEAST ? want : WIDE_LEAST;
        if (!columns[i].wide || columns[i].late != late || is_absent(&columns[i]))
            continue;
        shown[i] = used + gap + least <= width;
        all = all && shown[i];
        if (shown[i])
            used += gap + (want < WIDE_FAIR ? want : WIDE_FAIR); // the widest gives way to others
    }
    return all;
}

// Columns go from the right until the others fit: first those that may go, then any.
static void choose(const struct table_column *columns, int n, int width, int gap, bool *shown)
{
    bool all = true;
    int need = -gap;
    for (int i = 0; i < n; i++) {
        shown[i] = !columns[i].wide && !columns[i].hidden;
        need += shown[i] ? least(columns, i) + gap : 0;
    }
    for (int pass = 0; pass < 2; pass++)
        for (int i = n - 1; i > 0 && need > width; i--) {
            if (!shown[i] || (!pass && columns[i].keep))
                continue;
            shown[i] = all = false;
            need -= least(columns, i) + gap;
        }
    if (all && choose_wide(columns, n, width, gap, false, shown)) // none takes another's place
        choose_wide(columns, n, width, gap, true, shown);
}

static void fit(const struct table_column *columns, int n, int width, struct table_layout *out)
{
    bool shown[TABLE_COLUMNS];
    struct column some[TABLE_COLUMNS] = {0};
    int widths[TABLE_COLUMNS], x = 0;
    size_t used = 0;
    choose(columns, n, width, out->gap, shown);
    for (int i = 0; i < n; i++)
        if (shown[i])
            some[used++] = (struct column){
                .min = columns[i].wide ? 1 : least(columns, i), .want = columns[i].width};
    layout_columns(some, used, out->gap, width, widths);
    used = 0;
    for (int i = 0; i < n; i++) {
        out->x[i] = x;
        out->w[i] = shown[i] ? widths[used++] : 0;
        x += out->w[i] ? out->w[i] + out->gap : 0;
    }
}

// Whole columns from `first` on, behind the one that stays. Returns the one after the last.
static int put_whole(
    const struct table_column *columns, int n, int width, int first, struct table_layout *out)
{
    int pinned = columns[0].hidden ? 0 : columns[0].width;
    out->first = first;
    out->w[0] = pinned < width / 2 ? pinned : width / 2;
    int x = out->w[0] ? out->w[0] + out->gap : 0, i = first;
    for (int k = 1; k < n; k++)
        out->w[k] = 0;
    for (; i < n && x < width; i++) {
        if (is_absent(&columns[i]))
            continue;
        bool fits = x + columns[i].width <= width;
        if (!fits && i > first)
            break;
        out->x[i] = x;
        out->w[i] = fits ? columns[i].width : width - x;
        x += out->w[i] + out->gap;
    }
    return i;
}

static void count_missing(const struct table_column *columns, int n, struct table_layout *out)
{
    for (int i = 0; i < n; i++)
        out->missing += !out->w[i] && !is_absent(&columns[i]) && !columns[i].wide;
}

void table_layout(const struct table_column *columns, int n, int width, int chosen, int first,
    struct table_layout *out)
{
    *out = (struct table_layout){.n = n, .gap = width < NARROW ? 1 : 2};
    fit(columns, n, width, out);
    bool is_whole = chosen < 1 || chosen >= n || is_absent(&columns[chosen]) ||
                    out->w[chosen] >= columns[chosen].width;
    if (!is_whole || (chosen > 0 && first > 1)) {
        first = first < 1 ? 1 : chosen < first ? chosen : first;
        while (put_whole(columns, n, width, first, out) <= chosen)
            first++;
    }
    count_missing(columns, n, out);
}

static void put_words(grid *g, rect clip, int x, int y, int w, const struct table_entry *e)
{
    size_t n = strlen(e->words);
    int tail = (w - 1) / 2, fits;
    if (!e->is_name || text_width(e->words, n, 0) <= w || w < NAME_LEAST) {
        grid_put_short(g, clip, x, y, w, e->words, n, e->look);
        return;
    }
    size_t head = text_fit(e->words, n, w - 1 - tail, &fits), from = n;
    while (from > head && text_width(e->words + from, n - from, 0) < tail)
        from -= utf8_cluster_before(e->words, from);
    x += grid_put(g, clip, x, y, e->words, head, e->look);
    x += grid_print(g, clip, x, y, e->look, "…");
    grid_put(g, clip, x, y, e->words + from, n - from, e->look);
}

// A number without its first or last digits would be read as another one.
static void mark_cuts(grid *g, rect clip, rect column, int x, int w, style look)
{
    int end = clip.x + clip.w;
    if (x < clip.x && column.x + column.w > clip.x)
        grid_print(g, clip, clip.x, column.y, look, "…");
    if (x + w > end && column.x < end)
        grid_print(g, clip, end - 1, column.y, look, "…");
}

int table_put(grid *g, rect clip, rect column, const struct table_entry *e)
{
    int want = text_width(e->words, strlen(e->words), 0);
    int w = want < column.w ? want : column.w;
    int x = column.x + (e->right ? column.w - w : 0);
    put_words(g, clip, x, column.y, w, e);
    if (w > 0)
        mark_cuts(g, clip, column, x, w, e->look);
    return x;
}
