// SPDX-License-Identifier: MIT
#include "tui/syntax/styled.h"

#include "base/mem.h"

void styled_done(struct styled *s)
{
    buf_done(&s->text);
    free(s->spans);
    *s = (struct styled){0};
}

void styled_clear(struct styled *s)
{
    buf_clear(&s->text);
    s->n = 0;
}

void styled_add(struct styled *s, const char *words, size_t n, style st)
{
    size_t from = s->text.len;
    if (!n)
        return;
    buf_add(&s->text, words, n);
    if (s->n && style_equal(s->spans[s->n - 1].style, st)) {
        s->spans[s->n - 1].to += n;
        return;
    }
    if (s->n == s->cap) {
        s->cap = s->cap ? 2 * s->cap : 16;
        s->spans = mem_resize(s->spans, s->cap, sizeof *s->spans);
    }
    s->spans[s->n++] = (struct ansi_span){from, from + n, st};
}

void styled_trim(struct styled *s)
{
    while (s->n && s->text.data[s->text.len - 1] == ' ') {
        s->text.data[--s->text.len] = '\0';
        s->spans[s->n - 1].to--;
        s->n -= s->spans[s->n - 1].to == s->spans[s->n - 1].from;
    }
}

void styled_copy(struct styled *s, const struct styled *other, size_t from, size_t to)
{
    size_t lo = 0, hi = other->n; // the first span that ends behind `from`
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (other->spans[mid].to <= from)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (; lo < other->n && other->spans[lo].from < to; lo++) {
        const struct ansi_span *span = &other->spans[lo];
        size_t a = span->from > from ? span->from : from, z = span->to < to ? span->to : to;
        styled_add(s, other->text.data + a, z - a, span->style);
    }
}
