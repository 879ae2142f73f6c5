// SPDX-License-Identifier: MIT
#include "tui/edit/text.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/text/utf8.h"

#include <string.h>

struct text {
    buf *lines;
    size_t n, cap; // n >= 1
    uint64_t revision;
    size_t dirty;
};

static void changed(text *t, size_t line)
{
    t->revision++;
    if (line < t->dirty)
        t->dirty = line;
}

// Makes room for `count` empty lines before `line`.
static void open_lines(text *t, size_t line, size_t count)
{
    if (t->n + count > t->cap) {
        t->cap = (t->n + count) * 2;
        t->lines = mem_resize(t->lines, t->cap, sizeof *t->lines);
    }
    memmove(t->lines + line + count, t->lines + line, (t->n - line) * sizeof *t->lines);
    memset(t->lines + line, 0, count * sizeof *t->lines);
    t->n += count;
}

static void close_lines(text *t, size_t line, size_t count)
{
    for (size_t i = line; i < line + count; i++)
        buf_done(&t->lines[i]);
    memmove(t->lines + line, t->lines + line + count, (t->n - line - count) * sizeof *t->lines);
    t->n -= count;
}

text *text_new(void)
{
    text *t = mem_alloc(sizeof *t);
    open_lines(t, 0, 1);
    return t;
}

void text_free(text *t)
{
    if (!t)
        return;
    close_lines(t, 0, t->n);
    free(t->lines);
    free(t);
}

void text_set(text *t, const char *s, size_t n)
{
    close_lines(t, 1, t->n - 1);
    buf_clear(&t->lines[0]);
    text_insert(t, (pos){0, 0}, s, n);
    changed(t, 0);
}

size_t text_lines(const text *t)
{
    return t->n;
}

const char *text_line(const text *t, size_t line, size_t *n)
{
    if (n)
        *n = line < t->n ? t->lines[line].len : 0;
    return line < t->n ? buf_cstr(&t->lines[line]) : "";
}

pos text_end(const text *t)
{
    return (pos){t->n - 1, t->lines[t->n - 1].len};
}

pos text_clamp(const text *t, pos p)
{
    if (p.line >= t->n)
        return text_end(t);
    const buf *l = &t->lines[p.line];
    if (p.byte > l->len)
        p.byte = l->len;
    return (pos){p.line, utf8_cluster_start(buf_cstr(l), l->len, p.byte)};
}

static size_t count_newlines(const char *s, size_t n)
{
    size_t count = 0;
    for (const char *at = s; n && (at = memchr(at, '\n', n - (size_t)(at - s))); at++)
        count++;
    return count;
}

pos text_insert(text *t, pos at, const char *s, size_t n)
{
    if (!n)
        return at;
    changed(t, at.line);
    size_t added = count_newlines(s, n);
    AUTO_BUF tail = {0};
    buf *first = &t->lines[at.line];
    buf_add(&tail, buf_cstr(first) + at.byte, first->len - at.byte);
    first->len = at.byte;
    open_lines(t, at.line + 1, added);
    const char *end = s + n;
    for (size_t line = at.line;; line++) {
        const char *newline = memchr(s, '\n', (size_t)(end - s));
        buf_add(&t->lines[line], s, (size_t)((newline ? newline : end) - s));
        if (!newline)
            break;
        s = newline + 1;
    }
    buf *last = &t->lines[at.line + added];
    pos behind = {at.line + added, last->len};
    buf_add(last, tail.data, tail.len);
    return behind;
}

void text_delete(text *t, pos from, pos to)
{
    if (pos_compare(from, to) >= 0)
        return;
    changed(t, from.line);
    buf *first = &t->lines[from.line], *last = &t->lines[to.line];
    AUTO_BUF tail = {0};
    buf_add(&tail, last->data + to.byte, last->len - to.byte);
    first->len = from.byte;
    buf_add(first, tail.data, tail.len);
    close_lines(t, from.line + 1, to.line - from.line);
}

void text_copy(const text *t, pos from, pos to, buf *out)
{
    for (size_t line = from.line; line <= to.line && line < t->n; line++) {
        const buf *l = &t->lines[line];
        size_t start = line == from.line ? from.byte : 0;
        size_t end = line == to.line ? to.byte : l->len;
        if (end > start)
            buf_add(out, l->data + start, end - start);
        if (line < to.line)
            buf_char(out, '\n');
    }
}

void text_all(const text *t, buf *out)
{
    text_copy(t, (pos){0, 0}, text_end(t), out);
}

void text_clean(const char *s, size_t n, buf *out)
{
    AUTO_BUF valid = {0};
    utf8_clean(&valid, s, n);
    for (size_t i = 0; i < valid.len; i++) {
        char c = valid.data[i];
        if (c == '\r')
            buf_char(out, '\n');
        else if (c == '\n' && i && valid.data[i - 1] == '\r')
            continue;
        else if (c == '\t' || c == '\n' || ((unsigned char)c >= 0x20 && c != 0x7F))
            buf_char(out, c);
    }
}

uint64_t text_revision(const text *t)
{
    return t->revision;
}

size_t text_take_dirty(text *t)
{
    size_t line = t->dirty;
    t->dirty = SIZE_MAX;
    return line;
}
