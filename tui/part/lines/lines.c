// SPDX-License-Identifier: MIT
#include "tui/part/lines/lines.h"

#include "base/mem.h"
#include "tui/part/lines/lines_private.h"

#include <string.h>

lines *lines_new(void)
{
    lines *l = mem_alloc(sizeof *l);
    l->last.i = NO_LINE;
    return l;
}

static void part_done(struct part *p)
{
    linesource_free(p->source);
    lines_tally_done(&p->shown);
    lines_tally_done(&p->found);
    *p = (struct part){0};
}

static void free_streams(struct stream *streams, size_t *n, size_t keep)
{
    while (*n > keep) {
        struct stream *s = &streams[--*n];
        linesource_free(s->whole);
        rewrites_free(s->rewrites);
    }
}

void lines_free(lines *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < l->n_parts; i++)
        part_done(&l->parts[i]);
    free(l->parts);
    free_streams(l->streams, &l->n_streams, 0);
    free(l->streams);
    free(l->retired);
    free(l->near.matches);
    buf_done(&l->near.bytes);
    buf_done(&l->far.bytes);
    buf_done(&l->settled);
    pattern_done(&l->filter);
    pattern_done(&l->search.what);
    ansi_text_free(l->text);
    free(l);
}

void lines_begin(lines *l)
{
    l->kept = l->kept_streams = 0;
}

static linesource *present(lines *l)
{
    return l->kept < l->n_parts ? l->parts[l->kept].source : NULL;
}

// Places in this part and behind it are no longer valid.
static void forget_places(lines *l, size_t part)
{
    struct search *s = &l->search;
    if (s->at.part >= part || s->start.part >= part)
        s->state = SEARCH_IDLE;
    if (s->found.part >= part)
        s->placed = false;
    s->rank = 0;
    l->counted = l->counted < part ? l->counted : part;
}

// The next part; it is emptied if it is now another one.
static struct part *next_part(lines *l, bool same, style base)
{
    if (l->kept == l->n_parts) {
        l->parts = mem_resize(l->parts, l->n_parts + 1, sizeof *l->parts);
        l->parts[l->n_parts++] = (struct part){0};
    }
    struct part *p = &l->parts[l->kept++];
    if (!same) {
        forget_places(l, l->kept - 1);
        part_done(p);
    }
    p->base = base;
    p->look = (style){0};
    p->version = 0;
    return p;
}

void lines_add_text(lines *l, const char *bytes, size_t n, style base)
{
    linesource *was = present(l);
    struct part *p = next_part(l, was && linesource_follow_text(was, bytes, n), base);
    if (!p->source)
        p->source = linesource_of_text(bytes, n);
}

static void retire(lines *l, struct stream *s)
{
    l->retired = mem_resize(l->retired, l->n_retired + 1, sizeof *l->retired);
    l->retired[l->n_retired++] = *s;
    *s = (struct stream){0};
}

// The next stream, as it is now.
static struct stream *next_stream(lines *l, const struct linestream *now)
{
    err e = {0};
    if (l->kept_streams == l->n_streams) {
        l->streams = mem_resize(l->streams, l->n_streams + 1, sizeof *l->streams);
        l->streams[l->n_streams++] = (struct stream){0};
    }
    struct stream *s = &l->streams[l->kept_streams++];
    if (s->whole && linesource_follow_stream(s->whole, now))
        return s;
    if (s->whole)
        retire(l, s);
    s->rewrites = rewrites_new();
    s->whole = linesource_of_stream(now, &e);
    if (!s->whole)
        s->whole = linesource_of_text(e.text, strlen(e.text));
    return s;
}

static void add_slice(lines *l, linesource *whole, uint64_t from, uint64_t to, style base)
{
    linesource *was = present(l);
    struct part *p = next_part(l, was && linesource_follow_slice(was, whole, from, to), base);
    if (!p->source)
        p->source = linesource_of_slice(whole, from, to);
}

void lines_add_stream(lines *l, const struct linestream *now, style base)
{
    enum { READ_AT_ONCE = 1 << 20 };
    struct stream *s = next_stream(l, now);
    s->more = rewrites_read(s->rewrites, s->whole, READ_AT_ONCE);
    uint64_t size = linesource_size(s->whole);
    for (size_t i = 0, n = rewrites_pieces(s->rewrites, size); i < n; i++) {
        struct rewrites_piece p = rewrites_piece(s->rewrites, i, size);
        if (p.window)
            lines_add_text(l, p.window, p.window_n, base);
        else if (p.text)
            add_slice(l, p.text, 0, linesource_size(p.text), base);
        else
            add_slice(l, s->whole, p.from, p.to, base);
        l->parts[l->kept - 1].look = p.first;
    }
}

bool lines_reading(const lines *l)
{
    for (size_t i = 0; i < l->n_streams; i++)
        if (l->streams[i].more)
            return true;
    return false;
}

bool lines_gave_up(const lines *l)
{
    for (size_t i = 0; i < l->n_streams; i++)
        if (rewrites_gave_up(l->streams[i].rewrites))
            return true;
    return false;
}

bool lines_keep(lines *l, uint64_t version)
{
    bool same = l->kept < l->n_parts && l->parts[l->kept].version == version;
    l->kept += same;
    return same;
}

void lines_set_version(lines *l, uint64_t version)
{
    l->parts[l->kept - 1].version = version;
}

void lines_end(lines *l)
{
    if (l->n_parts > l->kept)
        forget_places(l, l->kept);
    while (l->n_parts > l->kept)
        part_done(&l->parts[--l->n_parts]);
    free_streams(l->streams, &l->n_streams, l->kept_streams);
    free_streams(l->retired, &l->n_retired, 0);
    l->total = l->matches = 0;
    l->filtering = false;
    l->filtered = 0;
    for (size_t i = 0; i < l->n_parts; i++) {
        struct part *p = &l->parts[i];
        p->first = l->total;
        l->total += linesource_lines(p->source);
        l->matches += p->shown.matches + p->shown.rest;
        l->filtering = l->filtering || (!pattern_is_empty(&l->filter) &&
                                           p->shown.looked < linesource_size(p->source));
    }
    l->last.i = NO_LINE;
    l->look.known = false;
    l->near.n = 0;
}

void lines_filter(lines *l, const char *pattern)
{
    pattern_set_filter(&l->filter, pattern);
    for (size_t i = 0; i < l->n_parts; i++)
        lines_tally_done(&l->parts[i].shown);
    lines_count_anew(l);
    l->matches = l->filtered = 0;
    l->search.state = SEARCH_IDLE;
    l->filtering = !pattern_is_empty(&l->filter);
    l->last.i = NO_LINE;
    l->near.n = 0;
}

uint64_t lines_total(const lines *l)
{
    return l->total;
}

uint64_t lines_count(const lines *l)
{
    return pattern_is_empty(&l->filter) ? l->total : l->matches;
}

// Reads whole lines from the start of a line on; of a line longer than a piece, only its start.
void lines_read_piece(lines *l, struct piece *b, size_t part, uint64_t offset)
{
    linesource *s = l->parts[part].source;
    free(b->matches);
    buf_clear(&b->bytes);
    linesource_read(s, offset, PIECE, &b->bytes);
    size_t n = b->bytes.len;
    *b = (struct piece){
        .bytes = b->bytes, .part = part, .offset = offset, .n = n, .next = offset + n};
    if (b->next < linesource_size(s) && n > 0) {
        const char *last = memrchr(b->bytes.data, '\n', n);
        b->n = last ? (size_t)(last + 1 - b->bytes.data) : n;
        b->cut = !last;
        uint64_t next = last ? 0 : linesource_find_line(s, linesource_line_at(s, offset) + 1);
        b->next = next > offset + b->n ? next : offset + b->n;
    }
    const char *bytes = buf_cstr(&b->bytes);
    b->plain =
        !memchr(bytes, '\033', b->n) && !memchr(bytes, '\r', b->n) && !memchr(bytes, '\b', b->n);
}

uint64_t lines_after(lines *l, size_t part, uint64_t offset)
{
    linesource *s = l->parts[part].source;
    return offset ? linesource_find_line(s, linesource_line_at(s, offset - 1) + 1) : 0;
}

// Reads the piece around a line; it begins some way before the line, for scrolling up.
static void come_near(lines *l, struct place at)
{
    const struct piece *b = &l->near;
    if (b->n && b->part == at.part && at.offset >= b->offset && at.offset < b->offset + b->n)
        return;
    uint64_t lead = at.offset > PIECE / 4 ? lines_after(l, at.part, at.offset - PIECE / 4) : 0;
    lines_read_piece(l, &l->near, at.part, lead < at.offset ? lead : at.offset);
    if (at.offset >= b->offset + b->n)
        lines_read_piece(l, &l->near, at.part, at.offset);
}

static void find_line(lines *l, uint64_t i)
{
    size_t part = 0, high = l->n_parts;
    while (high - part > 1) {
        size_t middle = part + (high - part) / 2;
        if (l->parts[middle].first <= i)
            part = middle;
        else
            high = middle;
    }
    struct part *p = &l->parts[part];
    bool next = l->last.i != NO_LINE && l->last.i + 1 == i && l->last.place.part == part;
    l->last.number = i - p->first;
    l->last.place =
        (struct place){part, next ? l->last.next : linesource_find_line(p->source, l->last.number)};
}

const struct mark *lines_mark(
    const struct tally *t, bool (*before)(const struct mark *, uint64_t), uint64_t key)
{
    size_t low = 0, high = t->n_marks;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (before(&t->marks[middle], key))
            low = middle;
        else
            high = middle;
    }
    return &t->marks[low];
}

static bool has_match(const struct mark *m, uint64_t match)
{
    return m->before <= match;
}

// Lists the matches in the piece that begins at a mark.
static void list_matches(lines *l, size_t part, const struct mark *m)
{
    struct piece *b = &l->near;
    struct cursor c = {.line = m->line};
    if (b->n && b->matches && b->part == part && b->offset == m->offset)
        return;
    lines_read_piece(l, b, part, m->offset);
    while (lines_next_match(l, b, &l->filter, &c)) {
        if ((b->n_matches & (b->n_matches - 1)) == 0) // a power of two: full
            b->matches =
                mem_resize(b->matches, b->n_matches ? 2 * b->n_matches : 1, sizeof *b->matches);
        b->matches[b->n_matches++] = (struct match){(uint32_t)c.from, c.number};
    }
}

static bool find_match(lines *l, uint64_t i)
{
    uint64_t left = i;
    size_t part = 0;
    while (left >= l->parts[part].shown.matches + l->parts[part].shown.rest) {
        left -= l->parts[part].shown.matches + l->parts[part].shown.rest;
        part++;
    }
    const struct tally *t = &l->parts[part].shown;
    if (left == t->matches) { // the unfinished line
        l->last.place = (struct place){part, t->scanned};
        l->last.number = t->scanned_lines;
        return true;
    }
    const struct mark *m = lines_mark(t, has_match, left);
    list_matches(l, part, m);
    if (left - m->before >= l->near.n_matches)
        return false; // the file has been changed
    const struct match *match = &l->near.matches[left - m->before];
    l->last.place = (struct place){part, m->offset + match->from};
    l->last.number = match->number;
    return true;
}

// The style that earlier lines have left, at the start of a line in the current piece.
static style look_before(lines *l, struct place at)
{
    const struct piece *b = &l->near;
    uint64_t from = at.offset - ansi_reach(at.offset), start = from;
    style look = from ? (style){0} : l->parts[at.part].look;
    if (l->look.known && l->look.part == at.part && l->look.from == from &&
        l->look.offset <= at.offset) {
        start = l->look.offset;
        look = l->look.at_offset;
    }
    size_t n = (size_t)(at.offset - start);
    AUTO_BUF read = {0};
    bool is_near = start >= b->offset && at.offset <= b->offset + b->n;
    if (!is_near)
        linesource_read(l->parts[at.part].source, start, n, &read);
    l->look.at_offset = is_near ? ansi_after(look, b->bytes.data + (start - b->offset), n)
                                : ansi_after(look, buf_cstr(&read), read.len);
    l->look.part = at.part;
    l->look.from = from;
    l->look.offset = at.offset;
    l->look.known = true;
    return l->look.at_offset;
}

bool lines_get(lines *l, uint64_t i, struct numbered_line *out)
{
    if (i >= lines_count(l))
        return false;
    if (pattern_is_empty(&l->filter))
        find_line(l, i);
    else if (!find_match(l, i))
        return false;
    struct place at = l->last.place;
    come_near(l, at);
    const struct piece *b = &l->near;
    size_t skip = (size_t)(at.offset - b->offset), n = skip < b->n ? b->n - skip : 0;
    const char *bytes = buf_cstr(&b->bytes) + skip, *end = n ? memchr(bytes, '\n', n) : NULL;
    n = end ? (size_t)(end - bytes) : n;
    l->last.i = i;
    l->last.next = end ? at.offset + n + 1 : b->next;
    ansi_text_free(l->text);
    l->text = ansi_text_new(0);
    AUTO_BUF look = {0};
    ansi_select(&look, look_before(l, at));
    ansi_text_feed(l->text, look.data, look.len);
    ansi_text_feed(l->text, bytes, n);
    *out = (struct numbered_line){.text = ansi_text_line(l->text, 0),
        .base = l->parts[at.part].base,
        .number = l->parts[at.part].first + l->last.number,
        .cut = b->cut ? b->next - at.offset - n : 0};
    return true;
}
