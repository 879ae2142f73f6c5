// SPDX-License-Identifier: MIT
//   stream   text | ........[from ................. to)....    in the spool, bytes of other outputs
//   lines    0 | 1 | 2 |         | n-1                         stand around the range
//
// A spool's index counts from the file's start: `before` newlines stand in front of the range. The
// newlines of the text are counted once, block by block.
#include "tui/part/lines/linesource.h"

#include "base/mem.h"
#include "base/str.h"
#include "script/journal/file/spool.h"

#include <string.h>

enum { BLOCK = 16 << 10 };

struct linesource {
    buf text;
    uint64_t *blocks; // newlines before each block of the text that is counted
    size_t n_blocks;
    spool *spool; // NULL: none
    uint64_t from, to, before;
    linesource *whole; // of a slice: [from, to) of it, `before` as above
    uint64_t lines;    // unknown: not counted yet
};

static const uint64_t unknown = UINT64_MAX;

static uint64_t newlines(const char *at, size_t n)
{
    uint64_t count = 0;
    for (const char *end = at + n; n && (at = memchr(at, '\n', (size_t)(end - at))); at++)
        count++;
    return count;
}

static void count_blocks(linesource *s)
{
    size_t full = s->text.len / BLOCK;
    if (s->n_blocks > full)
        return;
    s->blocks = mem_resize(s->blocks, full + 1, sizeof *s->blocks);
    for (size_t i = s->n_blocks; i <= full; i++)
        s->blocks[i] = i ? s->blocks[i - 1] + newlines(s->text.data + (i - 1) * BLOCK, BLOCK) : 0;
    s->n_blocks = full + 1;
}

void linesource_append(linesource *s, const char *bytes, size_t n)
{
    buf_add(&s->text, bytes, n);
    count_blocks(s);
    s->lines = unknown;
}

linesource *linesource_of_text(const char *bytes, size_t n)
{
    linesource *s = mem_alloc(sizeof *s);
    linesource_append(s, bytes, n);
    return s;
}

static bool go_on_in_spool(linesource *s, const struct linestream *stream, err *e)
{
    spool *file = spool_open(stream->dir ? stream->dir : "", stream->spool, e);
    if (!file)
        return false;
    s->spool = file;
    s->from = stream->from;
    s->to = stream->to > stream->from ? stream->to : stream->from;
    s->before = spool_line_at(file, stream->from);
    s->lines = unknown;
    return true;
}

linesource *linesource_of_stream(const struct linestream *stream, err *e)
{
    linesource *s = linesource_of_text(stream->text, stream->n);
    if (stream->spool && !go_on_in_spool(s, stream, e))
        linesource_free(STEAL(s));
    return s;
}

linesource *linesource_of_slice(linesource *whole, uint64_t from, uint64_t to)
{
    linesource *s = mem_alloc(sizeof *s);
    *s = (linesource){.whole = whole,
        .from = from,
        .to = to,
        .before = linesource_line_at(whole, from),
        .lines = unknown};
    return s;
}

void linesource_free(linesource *s)
{
    if (!s)
        return;
    buf_done(&s->text);
    free(s->blocks);
    spool_close(s->spool);
    free(s);
}

static bool grow_to(linesource *s, uint64_t to)
{
    if (to < s->to)
        return false;
    if (to > s->to)
        s->lines = unknown;
    s->to = to;
    return true;
}

bool linesource_follow_text(linesource *s, const char *bytes, size_t n)
{
    size_t had = s->text.len;
    if (s->spool || s->whole || n < had || (had && memcmp(s->text.data, bytes, had) != 0))
        return false;
    if (n > had)
        linesource_append(s, bytes + had, n - had);
    return true;
}

bool linesource_follow_stream(linesource *s, const struct linestream *stream)
{
    err ignored = {0};
    if (s->spool) {
        bool same = stream->spool && str_eq(spool_name(s->spool), stream->spool) &&
                    stream->from == s->from && stream->n == s->text.len &&
                    (!stream->n || memcmp(s->text.data, stream->text, stream->n) == 0);
        return same && grow_to(s, stream->to);
    }
    return linesource_follow_text(s, stream->text, stream->n) &&
           (!stream->spool || go_on_in_spool(s, stream, &ignored));
}

bool linesource_follow_slice(linesource *s, const linesource *whole, uint64_t from, uint64_t to)
{
    return s->whole == whole && s->from == from && grow_to(s, to);
}

uint64_t linesource_size(const linesource *s)
{
    return s->text.len + s->to - s->from;
}

static uint64_t text_line_at(const linesource *s, size_t offset)
{
    size_t block = offset / BLOCK;
    return s->blocks[block] + newlines(s->text.data + block * BLOCK, offset - block * BLOCK);
}

uint64_t linesource_line_at(linesource *s, uint64_t offset)
{
    uint64_t size = linesource_size(s), line, behind;
    offset = offset < size ? offset : size;
    if (!s->whole && offset <= s->text.len)
        return text_line_at(s, (size_t)offset);
    behind = offset - s->text.len;
    line = s->whole ? linesource_line_at(s->whole, s->from + behind)
                    : spool_line_at(s->spool, s->from + behind);
    line -= line < s->before ? line : s->before;
    line = line < behind ? line : behind; // even if the index is damaged
    return line + (s->whole ? 0 : text_line_at(s, s->text.len));
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

// Behind the newline that ends the line before it.
static uint64_t find_in_text(const linesource *s, uint64_t line)
{
    size_t low = 0, high = s->n_blocks;
    while (high - low > 1) { // the last block that has fewer newlines before it
        size_t middle = low + (high - low) / 2;
        if (s->blocks[middle] < line)
            low = middle;
        else
            high = middle;
    }
    const char *start = buf_cstr(&s->text), *end = start + s->text.len, *at = start + low * BLOCK;
    for (line -= s->blocks[low]; line > 0; line--, at++)
        if (!(at = memchr(at, '\n', (size_t)(end - at))))
            return s->text.len;
    return (uint64_t)(at - start);
}

uint64_t linesource_find_line(linesource *s, uint64_t line)
{
    uint64_t size = linesource_size(s), in_text, offset;
    if (line == 0)
        return 0;
    if (s->whole) {
        offset = linesource_find_line(s->whole, s->before + line);
        return offset < s->from || offset - s->from > size ? size : offset - s->from;
    }
    in_text = text_line_at(s, s->text.len);
    if (line <= in_text || !s->spool)
        return find_in_text(s, line);
    if (spool_find_line(s->spool, s->before + line - in_text, &offset, NULL) < 0 ||
        offset < s->from || offset - s->from >= s->to - s->from)
        return size;
    return s->text.len + offset - s->from;
}

void linesource_read(linesource *s, uint64_t offset, size_t n, buf *out)
{
    uint64_t size = linesource_size(s);
    if (offset >= size)
        return;
    n = n < size - offset ? n : (size_t)(size - offset);
    if (s->whole) {
        linesource_read(s->whole, s->from + offset, n, out);
        return;
    }
    if (offset < s->text.len) {
        size_t here = n < s->text.len - offset ? n : (size_t)(s->text.len - offset);
        buf_add(out, s->text.data + offset, here);
        offset += here;
        n -= here;
    }
    uint64_t behind = s->from + offset - s->text.len;
    if (n)
        spool_read(s->spool, behind, behind + n, out, NULL);
}
