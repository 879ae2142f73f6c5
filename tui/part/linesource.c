// SPDX-License-Identifier: MIT
//   spool    ........[from ................. to)....      bytes of other outputs around it
//   lines            0 | 1 | 2 |         | n-1
//
// A spool's index counts from the file's start: `before` newlines stand in front of the range.
#include "tui/part/linesource.h"

#include "base/mem.h"
#include "base/str.h"
#include "script/journal/spool.h"

#include <string.h>

struct linesource {
    buf text; // or
    spool *spool;
    uint64_t from, to, before;
    uint64_t lines; // SIZE_MAX: not counted yet
};

static const uint64_t unknown = UINT64_MAX;

linesource *linesource_of_text(const char *bytes, size_t n)
{
    linesource *s = mem_alloc(sizeof *s);
    buf_add(&s->text, bytes, n);
    s->lines = unknown;
    return s;
}

linesource *linesource_of_spool(
    const char *dir, const char *name, uint64_t from, uint64_t to, err *e)
{
    spool *file = spool_open(dir, name, e);
    if (!file)
        return NULL;
    linesource *s = mem_alloc(sizeof *s);
    *s = (linesource){.spool = file,
        .from = from,
        .to = to > from ? to : from,
        .before = spool_line_at(file, from),
        .lines = unknown};
    return s;
}

void linesource_free(linesource *s)
{
    if (!s)
        return;
    buf_done(&s->text);
    spool_close(s->spool);
    free(s);
}

bool linesource_follow_text(linesource *s, const char *bytes, size_t n)
{
    size_t had = s->text.len;
    if (s->spool || n < had || (had && memcmp(s->text.data, bytes, had) != 0))
        return false;
    if (n > had) {
        buf_add(&s->text, bytes + had, n - had);
        s->lines = unknown;
    }
    return true;
}

bool linesource_follow_spool(linesource *s, const char *name, uint64_t from, uint64_t to)
{
    if (!s->spool || !str_eq(spool_name(s->spool), name) || from != s->from || to < s->to)
        return false;
    if (to > s->to)
        s->lines = unknown;
    s->to = to;
    return true;
}

uint64_t linesource_size(const linesource *s)
{
    return s->spool ? s->to - s->from : s->text.len;
}

static uint64_t newlines(const char *at, size_t n)
{
    uint64_t count = 0;
    for (const char *end = at + n; (at = memchr(at, '\n', (size_t)(end - at))); at++)
        count++;
    return count;
}

uint64_t linesource_line_at(linesource *s, uint64_t offset)
{
    uint64_t size = linesource_size(s), line;
    offset = offset < size ? offset : size;
    if (!s->spool)
        return offset ? newlines(s->text.data, (size_t)offset) : 0;
    line = spool_line_at(s->spool, s->from + offset);
    line -= line < s->before ? line : s->before;
    return line < offset ? line : offset; // even if the index is damaged
}

uint64_t linesource_lines(linesource *s)
{
    uint64_t size = linesource_size(s);
    if (s->lines != unknown || size == 0)
        return size ? s->lines : 0;
    AUTO_BUF last = {0};
    linesource_read(s, size - 1, 1, &last);
    s->lines = linesource_line_at(s, size) + (last.len && last.data[0] != '\n');
    return s->lines;
}

static uint64_t find_in_text(const linesource *s, uint64_t line)
{
    const char *start = buf_cstr(&s->text), *end = start + s->text.len, *at = start;
    for (; line > 0 && (at = memchr(at, '\n', (size_t)(end - at))); line--)
        at++;
    return at ? (uint64_t)(at - start) : s->text.len;
}

uint64_t linesource_find_line(linesource *s, uint64_t line)
{
    uint64_t size = linesource_size(s), offset;
    if (line == 0)
        return 0;
    if (!s->spool)
        return find_in_text(s, line);
    if (spool_find_line(s->spool, s->before + line, &offset, NULL) < 0 || offset < s->from)
        return size;
    return offset - s->from < size ? offset - s->from : size;
}

void linesource_read(linesource *s, uint64_t offset, size_t n, buf *out)
{
    uint64_t size = linesource_size(s);
    if (offset >= size)
        return;
    n = n < size - offset ? n : (size_t)(size - offset);
    if (s->spool)
        spool_read(s->spool, s->from + offset, s->from + offset + n, out, NULL);
    else
        buf_add(out, s->text.data + offset, n);
}
