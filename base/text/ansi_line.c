// SPDX-License-Identifier: MIT
#include "base/text/ansi_line.h"

#include "base/mem.h"
#include "base/text/utf8.h"

#include <string.h>

void line_done(struct line *l)
{
    buf_done(&l->text);
    free(l->spans);
    *l = (struct line){0};
}

static void add_span(struct line *l, size_t from, size_t to, style st)
{
    if (from >= to)
        return;
    struct ansi_span *last = l->spans_n ? &l->spans[l->spans_n - 1] : NULL;
    if (last && last->to == from && style_equal(last->style, st)) {
        last->to = to;
        return;
    }
    if (l->spans_n == l->spans_cap) {
        l->spans_cap = l->spans_cap ? 2 * l->spans_cap : 2;
        l->spans = mem_resize(l->spans, l->spans_cap, sizeof *l->spans);
    }
    l->spans[l->spans_n++] = (struct ansi_span){from, to, st};
}

static bool looks_so(const struct line *l, size_t from, size_t to, style st)
{
    for (size_t i = 0; i < l->spans_n; i++)
        if (from < l->spans[i].to)
            return to <= l->spans[i].to && style_equal(l->spans[i].style, st);
    return false;
}

// Replaces bytes [from, to) of the line by n new ones in one style; the text to the left and right
// keeps its style.
static void splice(struct line *l, size_t from, size_t to, const char *s, size_t n, style st)
{
    if (n && n == to - from && looks_so(l, from, to, st)) {
        memcpy(l->text.data + from, s, n);
        return;
    }
    struct line fresh = {.columns = l->columns, .wide = l->wide};
    buf_add(&fresh.text, l->text.data, from);
    buf_add(&fresh.text, s, n);
    buf_add(&fresh.text, l->text.data + to, l->text.len - to);
    for (size_t i = 0; i < l->spans_n; i++)
        add_span(&fresh, l->spans[i].from, l->spans[i].to < from ? l->spans[i].to : from,
            l->spans[i].style);
    add_span(&fresh, from, from + n, st);
    for (size_t i = 0; i < l->spans_n; i++) {
        size_t start = l->spans[i].from > to ? l->spans[i].from : to;
        if (l->spans[i].to > start)
            add_span(
                &fresh, start - to + from + n, l->spans[i].to - to + from + n, l->spans[i].style);
    }
    line_done(l);
    *l = fresh;
}

struct line_place line_seek(const struct line *l, int column)
{
    if (column >= l->columns)
        return (struct line_place){l->text.len, 0};
    if (!l->wide)
        return (struct line_place){(size_t)column, 0};
    int before = 0;
    for (size_t at = 0, len; at < l->text.len; at += len) {
        len = utf8_cluster(l->text.data + at, l->text.len - at);
        int width = text_width(l->text.data + at, len, before);
        if (before + width > column)
            return (struct line_place){at, column - before};
        before += width;
    }
    return (struct line_place){l->text.len, 0};
}

void line_append(struct line *l, const char *s, size_t n, int columns, style st)
{
    add_span(l, l->text.len, l->text.len + n, st);
    buf_add(&l->text, s, n);
    l->wide = l->wide || columns < 0 || (size_t)columns != n || (n && *s == '\t');
    l->columns += columns;
}

// Columns of the line before a byte: a tab's width depends on them.
static int columns_before(const struct line *l, size_t at)
{
    return l->wide ? text_width(buf_cstr(&l->text), at, 0) : (int)at;
}

size_t line_write(
    struct line *l, struct line_place p, const char *s, size_t n, int columns, style st)
{
    AUTO_BUF fresh = {0};
    int room = 0, need = columns ? p.inside + columns : 0, before = columns_before(l, p.at);
    size_t to = p.at;
    while (room < need && to < l->text.len) {
        size_t len = utf8_cluster(l->text.data + to, l->text.len - to);
        room += text_width(l->text.data + to, len, before + room);
        to += len;
    }
    for (int i = 0; i < p.inside; i++)
        buf_char(&fresh, ' ');
    buf_add(&fresh, s, n);
    size_t end = p.at + fresh.len;
    for (int i = need; i < room; i++)
        buf_char(&fresh, ' ');
    l->wide = l->wide || (size_t)columns != n;
    l->columns += need > room ? need - room : 0;
    splice(l, p.at, to, fresh.data, fresh.len, st);
    return end;
}

void line_cut(struct line *l, int column)
{
    struct line_place p = line_seek(l, column);
    if (column >= l->columns)
        return;
    splice(l, p.at, l->text.len, "", 0, (style){0});
    l->columns = column - p.inside;
    for (int i = 0; i < p.inside; i++)
        line_append(l, " ", 1, 1, (style){0});
}

void line_blank(struct line *l, int column)
{
    if (column >= l->columns) {
        line_cut(l, 0);
        return;
    }
    for (int i = 0; i < column; i++)
        line_write(l, line_seek(l, i), " ", 1, 1, (style){0});
}
