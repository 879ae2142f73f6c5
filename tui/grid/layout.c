// SPDX-License-Identifier: MIT
#include "tui/grid/layout.h"

#include "base/text/utf8.h"

static int at_least(const struct column *c)
{
    return c->min < c->want ? c->min : c->want;
}

static int sum(const int *widths, size_t n, int gap)
{
    int total = 0;
    for (size_t i = 0; i < n; i++)
        total += widths[i] + (i ? gap : 0);
    return total;
}

// Takes `excess` columns away, one at a time from the widest column that may still get narrower.
static void shrink(const struct column *columns, size_t n, int *widths, int excess)
{
    while (excess > 0) {
        size_t widest = n;
        for (size_t i = 0; i < n; i++)
            if (widths[i] > at_least(&columns[i]) && (widest == n || widths[i] > widths[widest]))
                widest = i;
        if (widest == n)
            return;
        widths[widest]--;
        excess--;
    }
}

static void grow(const struct column *columns, size_t n, int *widths, int room)
{
    int weights = 0;
    for (size_t i = 0; i < n; i++)
        weights += columns[i].weight;
    for (size_t i = 0; i < n && weights > 0; i++) {
        int share = room * columns[i].weight / weights;
        widths[i] += share;
        room -= share;
        weights -= columns[i].weight;
    }
}

void layout_columns(const struct column *columns, size_t n, int gap, int total, int *widths)
{
    for (size_t i = 0; i < n; i++)
        widths[i] = columns[i].want;
    int excess = sum(widths, n, gap) - total;
    if (excess <= 0) {
        grow(columns, n, widths, -excess);
        return;
    }
    shrink(columns, n, widths, excess);
    size_t shown = n;
    while (shown > 1 && sum(widths, shown, gap) > total)
        widths[--shown] = 0;
    if (shown == 1 && widths[0] > total)
        widths[0] = total > 0 ? total : 0;
    else if (shown && shown < n) // the last shown column may use the room of hidden ones
        widths[shown - 1] += total - sum(widths, shown, gap);
}

size_t layout_wrap(const char *s, size_t n, int columns)
{
    int width;
    size_t fits = text_fit(s, n, columns, &width);
    if (fits == n)
        return n;
    if (fits == 0)
        return utf8_cluster(s, n);
    for (size_t at = fits + (s[fits] == ' '); at > 1; at--)
        if (s[at - 1] == ' ' && utf8_cluster(s + at - 1, n - at + 1) == 1)
            return at;
    return fits;
}

static int indentation(const char *line, size_t n)
{
    size_t blanks = 0;
    while (blanks < n && (line[blanks] == ' ' || line[blanks] == '\t'))
        blanks++;
    return text_width(line, blanks, 0);
}

size_t layout_wrap_on(const char *line, size_t n, size_t from, int columns, int *indent)
{
    enum { MORE = 2, PARTS = 3 }; // it takes no more than a third of the row
    *indent = from ? indentation(line, n) + MORE : 0;
    *indent = *indent < columns / PARTS ? *indent : columns / PARTS;
    return layout_wrap(line + from, n - from, columns - *indent);
}
