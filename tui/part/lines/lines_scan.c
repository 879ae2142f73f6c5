// SPDX-License-Identifier: MIT
// Filter, search and count read a part piece by piece, so that a key can be answered in between. If
// a piece contains colours or returns, its lines are compared as they are shown.
#include "base/mem.h"
#include "script/journal/text.h"
#include "tui/part/lines/lines_private.h"

#include <string.h>

uint64_t lines_newlines(const char *at, size_t n)
{
    uint64_t count = 0;
    for (const char *end = at + n; (at = memchr(at, '\n', (size_t)(end - at))); at++)
        count++;
    return count;
}

static bool matches(lines *l, const struct piece *b, const struct pattern *x, size_t from, size_t n)
{
    const char *line = b->bytes.data + from;
    if (!b->plain) {
        buf_clear(&l->settled);
        text_settle(line, n, &l->settled);
        line = buf_cstr(&l->settled);
        n = l->settled.len;
    }
    return pattern_passes(x, line, n);
}

// Straight to the line that holds the next place of a text; where none does, to the end.
static void leap(const struct piece *b, const struct pattern *x, struct cursor *c)
{
    size_t ignored;
    const char *at = b->bytes.data + c->at, *hit = pattern_find(x, at, b->n - c->at, 0, &ignored);
    const char *line = hit ? memrchr(at, '\n', (size_t)(hit - at)) : b->bytes.data + b->n - 1;
    if (!line)
        return;
    size_t passed = (size_t)(line + 1 - at);
    c->line += lines_newlines(at, passed);
    c->at += passed;
}

bool lines_next_match(lines *l, const struct piece *b, const struct pattern *x, struct cursor *c)
{
    while (c->at < b->n) {
        if (b->plain && !x->turned && !x->compiled)
            leap(b, x, c);
        if (c->at == b->n)
            break;
        const char *line = b->bytes.data + c->at, *end = memchr(line, '\n', b->n - c->at);
        c->from = c->at;
        c->n = end ? (size_t)(end - line) : b->n - c->at;
        c->number = c->line++;
        c->at += c->n + (end != NULL);
        if (matches(l, b, x, c->from, c->n))
            return true;
    }
    return false;
}

bool lines_passes(lines *l, const struct piece *b, const struct cursor *c)
{
    return pattern_is_empty(&l->filter) || matches(l, b, &l->filter, c->from, c->n);
}

static int compare(struct place a, struct place b)
{
    return a.part != b.part       ? (a.part > b.part) - (a.part < b.part)
           : a.offset != b.offset ? (a.offset > b.offset) - (a.offset < b.offset)
                                  : 0;
}

// After going around, is the match still before the place where the search began?
static void found(lines *l, struct place at)
{
    struct search *s = &l->search;
    int side = compare(at, s->start);
    if (s->wrapped && (s->backwards ? side < 0 : side > 0)) {
        s->state = SEARCH_NOWHERE;
        return;
    }
    s->hit = lines_index(l, at);
    s->found = at;
    s->placed = true;
    s->rank = 0;
    s->state = SEARCH_FOUND;
}

static void look_on(lines *l)
{
    struct search *s = &l->search;
    if (s->at.offset >= linesource_size(l->parts[s->at.part].source)) {
        bool around = s->at.part + 1 == l->n_parts;
        s->state = around && s->wrapped ? SEARCH_NOWHERE : SEARCH_GOES_ON;
        s->wrapped = s->wrapped || around;
        s->at = (struct place){around ? 0 : s->at.part + 1, 0};
        return;
    }
    struct piece *b = &l->far;
    struct cursor c = {0};
    lines_read_piece(l, b, s->at.part, s->at.offset);
    while (lines_next_match(l, b, &s->what, &c))
        if (lines_passes(l, b, &c)) {
            found(l, (struct place){s->at.part, b->offset + c.from});
            return;
        }
    s->at.offset = b->n ? b->next : linesource_size(l->parts[s->at.part].source);
    if (s->wrapped && compare(s->at, s->start) > 0)
        s->state = SEARCH_NOWHERE;
}

static void look_back(lines *l)
{
    struct search *s = &l->search;
    if (s->at.offset == 0) {
        bool around = s->at.part == 0;
        s->state = around && s->wrapped ? SEARCH_NOWHERE : SEARCH_GOES_ON;
        s->wrapped = s->wrapped || around;
        s->at.part = around ? l->n_parts - 1 : s->at.part - 1;
        s->at.offset = linesource_size(l->parts[s->at.part].source);
        return;
    }
    linesource *from = l->parts[s->at.part].source;
    uint64_t end = s->at.offset, start = end > PIECE ? lines_after(l, s->at.part, end - PIECE) : 0;
    if (start >= end) // within one long line
        start = linesource_find_line(from, linesource_line_at(from, end - 1));
    start = start < end ? start : 0;
    struct piece *b = &l->far;
    struct cursor c = {0};
    uint64_t last = NO_LINE;
    lines_read_piece(l, b, s->at.part, start);
    while (lines_next_match(l, b, &s->what, &c) && b->offset + c.from < end)
        if (lines_passes(l, b, &c))
            last = b->offset + c.from;
    s->at.offset = start;
    if (last != NO_LINE)
        found(l, (struct place){s->at.part, last});
    else if (s->wrapped && compare(s->at, s->start) <= 0)
        s->state = SEARCH_NOWHERE;
}

void lines_search(lines *l, const char *text, uint64_t i, bool backwards)
{
    struct search *s = &l->search;
    struct numbered_line line;
    s->state = SEARCH_IDLE;
    if (!text || !*text)
        return;
    if (!s->what.text || strcmp(s->what.text, text) != 0)
        lines_count_anew(l);
    pattern_set(&s->what, text);
    s->placed = false;
    s->backwards = backwards;
    s->wrapped = false;
    s->state = SEARCH_NOWHERE;
    if (l->n_parts == 0 || !lines_get(l, i, &line))
        return;
    s->start = s->at = l->last.place;
    s->at.offset = backwards ? s->at.offset : l->last.next;
    s->state = SEARCH_GOES_ON;
    l->counting = true;
    l->counted = 0; // a part may have grown since
}

bool lines_looking(const lines *l)
{
    return l->filtering || lines_searching(l);
}

bool lines_searching(const lines *l)
{
    return l->search.state == SEARCH_GOES_ON;
}

enum searched lines_searched(lines *l, uint64_t *i)
{
    enum searched state = l->search.state;
    if (state == SEARCH_FOUND)
        *i = l->search.hit;
    if (state == SEARCH_NOWHERE)
        l->counting = false;
    if (state != SEARCH_GOES_ON)
        l->search.state = SEARCH_IDLE;
    return state;
}

bool lines_work(lines *l)
{
    if (l->filtering)
        lines_filter_on(l);
    else if (l->search.state == SEARCH_GOES_ON && l->search.backwards)
        look_back(l);
    else if (l->search.state == SEARCH_GOES_ON)
        look_on(l);
    else if (l->counting)
        lines_count_on(l);
    return lines_looking(l) || l->counting;
}

int lines_percent(const lines *l)
{
    uint64_t done = 0, all = 0;
    for (size_t i = 0; i < l->n_parts; i++) {
        uint64_t size = linesource_size(l->parts[i].source);
        done += l->filtering             ? l->parts[i].shown.looked
                : i < l->search.at.part  ? size
                : i == l->search.at.part ? l->search.at.offset
                                         : 0;
        all += size;
    }
    return all ? (int)(done * 100 / all) : 100;
}
