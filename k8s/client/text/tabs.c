// SPDX-License-Identifier: MIT
#include "k8s/client/text/tabs.h"

#include "base/mem.h"

#include <stdbool.h>
#include <string.h>

enum { PADDING = 2 };

struct cell {
    const char *text;
    size_t n, width; // of a cell that a tab ends, in code points
};

struct line {
    struct cell *cells;
    size_t n; // the last one is ended by no tab
};

static size_t points(const char *s, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += ((unsigned char)s[i] & 0xc0) != 0x80;
    return count;
}

static size_t count(const char *text, size_t n, char c)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        found += text[i] == c;
    return found;
}

static struct line *lines_of(const char *text, size_t *n)
{
    struct line *lines = mem_array(count(text, strlen(text), '\n') + 1, sizeof *lines);
    for (*n = 0; *text; ++*n) {
        size_t length = strcspn(text, "\n");
        struct line *l = &lines[*n];
        l->cells = mem_array(count(text, length, '\t') + 1, sizeof *l->cells);
        for (const char *at = text, *end = text + length; at <= end;) {
            size_t cell = strcspn(at, "\t\n");
            l->cells[l->n++] = (struct cell){at, cell, points(at, cell)};
            at += cell + 1;
        }
        text += length + (text[length] == '\n');
    }
    return lines;
}

// The lines from `from` on that have a cell in the column, without a gap.
static size_t block_end(const struct line *lines, size_t n, size_t from, size_t column)
{
    while (from < n && column + 1 < lines[from].n)
        from++;
    return from;
}

static bool widen_column(struct line *lines, size_t n, size_t column)
{
    bool any = false;
    for (size_t i = 0, end; i<n; i = end> i ? end : i + 1) {
        size_t widest = 0;
        end = block_end(lines, n, i, column);
        for (size_t j = i; j < end; j++)
            if (lines[j].cells[column].width > widest)
                widest = lines[j].cells[column].width;
        for (size_t j = i; j < end; j++)
            lines[j].cells[column].width = widest;
        any = any || end > i;
    }
    return any;
}

void tabs_align(buf *out, const char *text)
{
    size_t n;
    struct line *lines = lines_of(text, &n);
    for (size_t column = 0; widen_column(lines, n, column); column++)
        ;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < lines[i].n; j++) {
            const struct cell *c = &lines[i].cells[j];
            buf_add(out, c->text, c->n);
            if (j + 1 < lines[i].n)
                buf_fmt(out, "%*s", (int)(c->width - points(c->text, c->n) + PADDING), "");
        }
        buf_char(out, '\n');
        free(lines[i].cells);
    }
    free(lines);
}
