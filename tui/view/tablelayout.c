// SPDX-License-Identifier: MIT
#include "tui/view/tablelayout.h"

#include "tui/grid/layout.h"

enum { KEPT_LEAST = 12, OTHER_LEAST = 8, NARROW = 60 };

static int least(const tabledata *t, int column)
{
    int want = tabledata_width(t, column);
    int most = column == 0 || tabledata_keeps(t, column) ? KEPT_LEAST : OTHER_LEAST;
    return want < most ? want : most;
}

// The rightmost column that may go; without any to keep, the rightmost of all.
static int least_important(const tabledata *t, const bool *shown)
{
    for (int pass = 0; pass < 2; pass++)
        for (int i = tabledata_columns(t) - 1; i > 0; i--)
            if (shown[i] && (pass || !tabledata_keeps(t, i)))
                return i;
    return -1;
}

static void choose(const tabledata *t, int width, int gap, bool *shown)
{
    int n = tabledata_columns(t);
    for (int i = 0; i < n; i++)
        shown[i] = true;
    for (;;) {
        int need = -gap, out;
        for (int i = 0; i < n; i++)
            need += shown[i] ? least(t, i) + gap : 0;
        if (need <= width || (out = least_important(t, shown)) < 0)
            return;
        shown[out] = false;
    }
}

static void fit(const tabledata *t, int width, struct table_layout *out)
{
    bool shown[TABLE_COLUMNS];
    struct column columns[TABLE_COLUMNS];
    int widths[TABLE_COLUMNS], n = tabledata_columns(t), x = 0;
    size_t used = 0;
    choose(t, width, out->gap, shown);
    for (int i = 0; i < n; i++)
        if (shown[i])
            columns[used++] = (struct column){.min = least(t, i), .want = tabledata_width(t, i)};
    layout_columns(columns, used, out->gap, width, widths);
    used = 0;
    for (int i = 0; i < n; i++) {
        out->x[i] = x;
        out->w[i] = shown[i] ? widths[used++] : 0;
        x += out->w[i] ? out->w[i] + out->gap : 0;
    }
}

void table_layout(const tabledata *t, int width, int shift, struct table_layout *out)
{
    int n = tabledata_columns(t), first = n ? tabledata_width(t, 0) : 0, all = 0;
    *out = (struct table_layout){.gap = width < NARROW ? 1 : 2};
    fit(t, width, out);
    out->pinned = first < width / 2 ? first : width / 2;
    for (int i = 1; i < n; i++)
        all += tabledata_width(t, i) + (i > 1 ? out->gap : 0);
    int room = width - out->pinned - out->gap;
    bool whole = true; // is everything there already?
    for (int i = 0; i < n; i++)
        whole = whole && out->w[i] >= tabledata_width(t, i);
    int most =
        whole || room < 1 ? 0 : 1 + (all > room ? (all - room + TABLE_STEP - 1) / TABLE_STEP : 0);
    out->shift = shift < most ? shift : most;
    if (out->shift == 0) {
        out->pinned = 0;
        return;
    }
    out->w[0] = out->pinned;
    for (int i = 1, x = out->pinned + out->gap - (out->shift - 1) * TABLE_STEP; i < n; i++) {
        out->x[i] = x;
        out->w[i] = tabledata_width(t, i);
        x += out->w[i] + out->gap;
    }
}
