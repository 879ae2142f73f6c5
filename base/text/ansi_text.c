// SPDX-License-Identifier: MIT
// Lines are kept in a ring so that dropping the oldest costs nothing:
//
//   lines  [ 5 | 6 | 7 | 3 | 4 ]   start = 3, count = 5, dropped = 3
//
// The last line is still open: `at` is the byte where the next text goes. After a return or a
// backspace it is before the line's end.
#include "base/mem.h"
#include "base/str.h"
#include "base/text/ansi.h"
#include "base/text/utf8.h"

#include <string.h>

struct line {
    buf text;
    struct ansi_span *spans;
    size_t spans_n, spans_cap;
};

struct ansi_text {
    struct ansi parser;
    size_t limit, start, count, cap, dropped;
    struct line *lines;
    size_t at;
};

ansi_text *ansi_text_new(size_t limit)
{
    ansi_text *t = mem_alloc(sizeof *t);
    t->limit = limit;
    return t;
}

static void line_done(struct line *l)
{
    buf_done(&l->text);
    free(l->spans);
    *l = (struct line){0};
}

void ansi_text_free(ansi_text *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->cap; i++)
        line_done(&t->lines[i]);
    free(t->lines);
    free(t);
}

static struct line *line_at(const ansi_text *t, size_t i)
{
    return &t->lines[(t->start + i) % t->cap];
}

static void grow(ansi_text *t)
{
    size_t cap = t->cap ? 2 * t->cap : 16;
    struct line *lines = mem_array(cap, sizeof *lines);
    for (size_t i = 0; i < t->count; i++)
        lines[i] = *line_at(t, i);
    free(t->lines);
    t->lines = lines;
    t->cap = cap;
    t->start = 0;
}

static struct line *open_line(ansi_text *t)
{
    if (t->limit && t->count == t->limit + 1) { // the open line is not counted
        line_done(line_at(t, 0));
        t->start = (t->start + 1) % t->cap;
        t->count--;
        t->dropped++;
    }
    if (t->count == t->cap)
        grow(t);
    t->at = 0;
    return line_at(t, t->count++);
}

static struct line *last_line(ansi_text *t)
{
    return t->count ? line_at(t, t->count - 1) : open_line(t);
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

// Replaces bytes [from, to) of the line by n new ones in one style; the text to the left and right
// keeps its styles.
static void splice(struct line *l, size_t from, size_t to, const char *s, size_t n, style st)
{
    struct line fresh = {0};
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

// Overwrites as many columns as the new text has, with the combining marks behind them; the rest of
// a wide character or a tab becomes blanks.
static void write_over(ansi_text *t, struct line *l, const char *s, size_t n, style st)
{
    AUTO_BUF fresh = {0};
    buf_add(&fresh, s, n);
    int columns = text_width(s, n, 0);
    size_t to = t->at;
    while (to < l->text.len) {
        size_t len = grapheme_len(l->text.data + to, l->text.len - to);
        int width = text_width(l->text.data + to, len, 0);
        if (columns <= 0 && width > 0)
            break;
        columns -= width;
        to += len;
    }
    for (; columns < 0; columns++)
        buf_char(&fresh, ' ');
    splice(l, t->at, to, fresh.data, fresh.len, st);
}

static void on_text(void *arg, const char *s, size_t n, style st)
{
    ansi_text *t = arg;
    struct line *l = last_line(t);
    if (t->at == l->text.len) {
        buf_add(&l->text, s, n);
        add_span(l, t->at, t->at + n, st);
    } else {
        write_over(t, l, s, n, st);
    }
    t->at += n;
}

static void on_control(void *arg, char c)
{
    ansi_text *t = arg;
    struct line *l = last_line(t);
    if (c == '\n')
        open_line(t);
    else if (c == '\r')
        t->at = 0;
    else if (c == '\b')
        t->at -= l->text.len ? grapheme_len_before(l->text.data, t->at) : 0;
    else if (c == '\t')
        on_text(t, "\t", 1, t->parser.style);
    else if (c == 'K' && t->at < l->text.len)
        splice(l, t->at, l->text.len, "", 0, (style){0});
}

void ansi_text_feed(ansi_text *t, const char *bytes, size_t n)
{
    static const struct ansi_ops ops = {.text = on_text, .control = on_control};
    ansi_feed(&t->parser, bytes, n, &ops, t);
}

size_t ansi_text_lines(const ansi_text *t)
{
    return t->count && !line_at(t, t->count - 1)->text.len ? t->count - 1 : t->count;
}

size_t ansi_text_dropped(const ansi_text *t)
{
    return t->dropped;
}

struct ansi_line ansi_text_line(const ansi_text *t, size_t i)
{
    if (i >= t->count)
        return (struct ansi_line){.text = ""};
    const struct line *l = line_at(t, i);
    return (struct ansi_line){buf_cstr(&l->text), l->text.len, l->spans, l->spans_n};
}
