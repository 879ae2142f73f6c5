// SPDX-License-Identifier: MIT
#include "tui/view/cell/cellwrap.h"

#include "base/mem.h"
#include "base/text/utf8.h"

#include <stdlib.h>

enum { LEAST = 8 }; // columns of a row; in fewer nothing is wrapped

static int width_of(int width, int within)
{
    int w = within ? width - WRAP_INDENT : width;
    return w < LEAST ? LEAST : w;
}

struct wrapped wrap_part(const char *words, size_t n, int width, int within)
{
    struct wrapped w = {0};
    for (int i = 0;; i++) {
        int columns;
        size_t fits = text_fit(words + w.byte, n - w.byte, width_of(width, i), &columns);
        w.last = !fits || w.byte + fits >= n; // !fits: a character that is wider than the row
        w.to = w.last ? w.from + text_width(words + w.byte, n - w.byte, 0) : w.from + columns;
        if (w.last || i == within)
            return w;
        w.byte += fits;
        w.from = w.to;
    }
}

int wrap_within(const char *words, size_t n, int width, int column)
{
    for (int i = 0;; i++) {
        struct wrapped w = wrap_part(words, n, width, i);
        if (w.last || column < w.to)
            return i;
    }
}

static int rows_of(const char *words, size_t n, int width)
{
    size_t at = 0;
    for (int i = 1;; i++) {
        int columns;
        size_t fits = text_fit(words + at, n - at, width_of(width, i - 1), &columns);
        if (!fits || at + fits >= n)
            return i;
        at += fits;
    }
}

// The first row of each line, and behind them how many rows there are.
static const int *firsts(struct drawing *d, const text *t, int width)
{
    size_t lines = text_lines(t), n;
    if (d->wraps && d->wrapped_text == text_revision(t) && d->wrapped_width == width)
        return d->wraps;
    d->wraps = mem_resize(d->wraps, lines + 1, sizeof *d->wraps);
    d->wraps[0] = 0;
    for (size_t i = 0; i < lines; i++) {
        const char *words = text_line(t, i, &n);
        d->wraps[i + 1] = d->wraps[i] + rows_of(words, n, width);
    }
    d->wrapped_text = text_revision(t);
    d->wrapped_width = width;
    return d->wraps;
}

int wrap_rows(struct drawing *d, const text *t, int width)
{
    return firsts(d, t, width)[text_lines(t)];
}

int wrap_row(struct drawing *d, const text *t, int width, size_t line)
{
    return firsts(d, t, width)[line < text_lines(t) ? line : text_lines(t)];
}

size_t wrap_line(struct drawing *d, const text *t, int width, int row, int *within)
{
    const int *first = firsts(d, t, width);
    size_t low = 0, high = text_lines(t);
    while (low + 1 < high) {
        size_t middle = (low + high) / 2;
        if (first[middle] <= row)
            low = middle;
        else
            high = middle;
    }
    *within = row - first[low];
    return low;
}
