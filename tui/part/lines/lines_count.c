// SPDX-License-Identifier: MIT
// How many lines of a part match: those of the filter, and among them those that are searched for.
// Both are counted piece by piece from the start on. A place's number follows from the mark before
// it and one piece.
#include "base/mem.h"
#include "tui/part/lines/lines_private.h"

#include <string.h>

enum what { SHOWN, FOUND };

void lines_tally_done(struct tally *t)
{
    free(t->marks);
    *t = (struct tally){0};
}

static struct tally *tally_of(struct part *p, enum what what)
{
    return what == FOUND ? &p->found : &p->shown;
}

static bool next_of(lines *l, const struct piece *b, enum what what, struct cursor *c)
{
    if (what == SHOWN)
        return lines_next_match(l, b, &l->filter, c);
    while (lines_next_match(l, b, &l->search.what, c))
        if (lines_passes(l, b, c))
            return true;
    return false;
}

static bool ends_unfinished(linesource *s)
{
    AUTO_BUF last = {0};
    linesource_read(s, linesource_size(s) - 1, 1, &last);
    return last.len && last.data[0] != '\n';
}

static void add_mark(struct tally *t, uint64_t offset)
{
    if ((t->n_marks & (t->n_marks - 1)) == 0) // a power of two: full
        t->marks = mem_resize(t->marks, t->n_marks ? 2 * t->n_marks : 1, sizeof *t->marks);
    t->marks[t->n_marks++] = (struct mark){offset, t->scanned_lines, t->matches};
}

// Counts the matches of the next piece. An unfinished last line is checked again whenever it grows.
static void count_piece(lines *l, size_t part, enum what what)
{
    linesource *s = l->parts[part].source;
    struct tally *t = tally_of(&l->parts[part], what);
    struct piece *b = &l->far;
    struct cursor c = {.line = t->scanned_lines};
    uint64_t count = 0;
    lines_read_piece(l, b, part, t->scanned);
    bool unfinished = b->next >= linesource_size(s) && ends_unfinished(s);
    size_t all = b->n;
    const char *last = unfinished && !b->cut && all ? memrchr(b->bytes.data, '\n', all) : NULL;
    b->n = last ? (size_t)(last + 1 - b->bytes.data) : unfinished ? 0 : all;
    while (next_of(l, b, what, &c))
        count++;
    if (count)
        add_mark(t, b->offset);
    t->matches += count;
    t->scanned_lines += b->cut && !unfinished ? 1 : lines_newlines(buf_cstr(&b->bytes), b->n);
    t->scanned = unfinished ? t->scanned + b->n : b->next;
    t->looked = all ? b->next : linesource_size(s); // it may end before its recorded size
    c.at = b->n;
    b->n = all;
    t->rest = unfinished && next_of(l, b, what, &c);
}

// Counts the next piece from part *at on. false: all are counted.
static bool count_next(lines *l, size_t *at, enum what what)
{
    for (; *at < l->n_parts; ++*at) {
        struct part *p = &l->parts[*at];
        if (tally_of(p, what)->looked >= linesource_size(p->source))
            continue;
        count_piece(l, *at, what);
        return true;
    }
    return false;
}

static uint64_t count_before(lines *l, size_t part, enum what what)
{
    uint64_t n = 0;
    for (size_t i = 0; i < part; i++) {
        const struct tally *t = tally_of(&l->parts[i], what);
        n += t->matches + t->rest;
    }
    return n;
}

void lines_filter_on(lines *l)
{
    l->filtering = count_next(l, &l->filtered, SHOWN);
    l->matches = count_before(l, l->n_parts, SHOWN);
}

void lines_count_on(lines *l)
{
    l->counting = count_next(l, &l->counted, FOUND);
}

void lines_count_anew(lines *l)
{
    for (size_t i = 0; i < l->n_parts; i++)
        lines_tally_done(&l->parts[i].found);
    l->counting = false;
    l->counted = 0;
    l->search.placed = false;
}

static bool starts_before(const struct mark *m, uint64_t offset)
{
    return m->offset <= offset;
}

// How many matches are before a place.
static uint64_t rank_of(lines *l, struct place at, enum what what)
{
    const struct tally *t = tally_of(&l->parts[at.part], what);
    uint64_t i = count_before(l, at.part, what);
    if (t->n_marks == 0 || at.offset >= t->scanned)
        return i + t->matches;
    const struct mark *m = lines_mark(t, starts_before, at.offset);
    struct cursor c = {0};
    struct piece *b = &l->far;
    lines_read_piece(l, b, at.part, m->offset);
    for (i += m->before; next_of(l, b, what, &c); i++)
        if (b->offset + c.from >= at.offset)
            break;
    return i;
}

uint64_t lines_index(lines *l, struct place at)
{
    const struct part *p = &l->parts[at.part];
    return pattern_is_empty(&l->filter) ? p->first + linesource_line_at(p->source, at.offset)
                                        : rank_of(l, at, SHOWN);
}

// Has the count come past the line that was found last?
static bool has_passed(const lines *l)
{
    const struct search *s = &l->search;
    return s->placed && (s->found.part < l->counted ||
                            (s->found.part == l->counted &&
                                s->found.offset < l->parts[s->found.part].found.looked));
}

struct lines_place lines_found(lines *l)
{
    struct search *s = &l->search;
    if (has_passed(l) && s->rank == 0)
        s->rank = rank_of(l, s->found, FOUND) + 1;
    return (struct lines_place){.at = s->placed ? s->rank : 0,
        .count = count_before(l, l->n_parts, FOUND),
        .more = l->counting};
}
