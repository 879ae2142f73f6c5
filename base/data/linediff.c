// SPDX-License-Identifier: MIT
#include "base/data/linediff.h"

#include "base/data/hashmap.h"
#include "base/mem.h"

#include <string.h>

enum { CONTEXT = 3, COST = 256 };

// A text as numbers: equal lines have the same.
struct text {
    const char **lines; // n + 1 of them: a line ends before the next one's line start
    long *ids;
    bool *changed;
    long n;
};

struct comparison {
    struct text a, b;
    long *forward, *backward; // by diagonal (x - y): the furthest x that was reached
};

// Lines a0..a1 are replaced by b0..b1.
struct edit {
    long a0, a1, b0, b1;
};

static void take_text(struct text *t, const char *text, hashmap *known)
{
    size_t room = 2;
    for (const char *c = text; *c; c++)
        room += *c == '\n';
    t->lines = mem_array(room, sizeof *t->lines);
    t->ids = mem_array(room, sizeof *t->ids);
    t->changed = mem_array(room, sizeof *t->changed);
    while (*text) {
        size_t length = strcspn(text, "\n"), id = hashmap_count(known);
        if (!hashmap_get(known, text, length, &id))
            hashmap_set(known, text, length, id);
        t->ids[t->n] = (long)id;
        t->lines[t->n++] = text;
        text += length + (text[length] == '\n');
    }
}

static void text_done(struct text *t)
{
    free(t->lines);
    free(t->ids);
    free(t->changed);
}

// The part of both texts that is compared: a0..a1 and b0..b1 (edits use the same shape). A path
// from its start to its end goes right (a line of a is deleted), down (one of b is added), or
// along a diagonal (both are equal).
static long forward_step(struct comparison *c, const struct edit *part, long k, long x)
{
    long y = x - k;
    while (x < part->a1 && y < part->b1 && c->a.ids[x] == c->b.ids[y])
        x++, y++;
    return c->forward[k] = x;
}

static long backward_step(struct comparison *c, const struct edit *part, long k, long x)
{
    long y = x - k;
    while (x > part->a0 && y > part->b0 && c->a.ids[x - 1] == c->b.ids[y - 1])
        x--, y--;
    return c->backward[k] = x;
}

// Widens the range of diagonals by one on both sides, as long as they are inside.
static void widen(long *low, long *high, long least, long most, long *reached, long nowhere)
{
    if (*low > least)
        reached[--*low - 1] = nowhere;
    else
        ++*low;
    if (*high < most)
        reached[++*high + 1] = nowhere;
    else
        --*high;
}

static long furthest(const struct comparison *c, long low, long high, const struct edit *part)
{
    long best = low, most = -1;
    for (long k = low; k <= high; k += 2) {
        long x = c->forward[k] < part->a1 ? c->forward[k] : part->a1;
        if (x - k <= part->b1 && 2 * x - k > most) {
            most = 2 * x - k;
            best = k;
        }
    }
    return best;
}

// A point about in the middle of a shortest path: paths from both ends meet there (Myers, "An O(ND)
// Difference Algorithm and Its Variations", 1986, section 4b). Texts that have little in common are
// cut where the path from the start has come furthest.
static void middle(struct comparison *c, const struct edit *p, long *x, long *y)
{
    long least = p->a0 - p->b1, most = p->a1 - p->b0;
    long f = p->a0 - p->b0, b = p->a1 - p->b1;
    long f_low = f, f_high = f, b_low = b, b_high = b;
    bool odd = (f - b) & 1;
    c->forward[f] = p->a0;
    c->backward[b] = p->a1;
    for (int cost = 1;; cost++) {
        widen(&f_low, &f_high, least, most, c->forward, -1);
        for (long k = f_high; k >= f_low; k -= 2) {
            long left = c->forward[k - 1], right = c->forward[k + 1];
            *x = forward_step(c, p, k, left < right ? right : left + 1);
            *y = *x - k;
            if (odd && b_low <= k && k <= b_high && c->backward[k] <= *x)
                return;
        }
        widen(&b_low, &b_high, least, most, c->backward, p->a1 + p->b1 + 1);
        for (long k = b_high; k >= b_low; k -= 2) {
            long left = c->backward[k - 1], right = c->backward[k + 1];
            *x = backward_step(c, p, k, left < right ? left : right - 1);
            *y = *x - k;
            if (!odd && f_low <= k && k <= f_high && *x <= c->forward[k])
                return;
        }
        if (cost >= COST) {
            long k = furthest(c, f_low, f_high, p);
            *x = c->forward[k] < p->a1 ? c->forward[k] : p->a1;
            *y = *x - k;
            return;
        }
    }
}

static void compare(struct comparison *c, struct edit p)
{
    while (p.a0 < p.a1 && p.b0 < p.b1 && c->a.ids[p.a0] == c->b.ids[p.b0])
        p.a0++, p.b0++;
    while (p.a0 < p.a1 && p.b0 < p.b1 && c->a.ids[p.a1 - 1] == c->b.ids[p.b1 - 1])
        p.a1--, p.b1--;
    if (p.a0 == p.a1 || p.b0 == p.b1) {
        for (long i = p.a0; i < p.a1; i++)
            c->a.changed[i] = true;
        for (long i = p.b0; i < p.b1; i++)
            c->b.changed[i] = true;
        return;
    }
    long x, y;
    middle(c, &p, &x, &y);
    compare(c, (struct edit){p.a0, x, p.b0, y});
    compare(c, (struct edit){x, p.a1, y, p.b1});
}

static void compare_all(struct comparison *c)
{
    size_t room = (size_t)(c->a.n + c->b.n) + 3;
    AUTO_FREE long *forward = mem_array(room, sizeof *forward);
    AUTO_FREE long *backward = mem_array(room, sizeof *backward);
    c->forward = forward + c->b.n + 1; // diagonals begin at -(b.n + 1)
    c->backward = backward + c->b.n + 1;
    compare(c, (struct edit){0, c->a.n, 0, c->b.n});
}

// The edits in order; a new array of *n.
static struct edit *edits_of(const struct comparison *c, size_t *n)
{
    struct edit *edits = mem_array((size_t)(c->a.n + c->b.n) + 1, sizeof *edits);
    *n = 0;
    for (long x = 0, y = 0; x < c->a.n || y < c->b.n;) {
        struct edit e = {x, x, y, y};
        while (e.a1 < c->a.n && c->a.changed[e.a1])
            e.a1++;
        while (e.b1 < c->b.n && c->b.changed[e.b1])
            e.b1++;
        if (e.a0 < e.a1 || e.b0 < e.b1)
            edits[(*n)++] = e;
        x = e.a1 + 1;
        y = e.b1 + 1;
    }
    return edits;
}

// Moves an edit that only adds or only deletes lines down, as long as the line after it equals its
// own first line.
static void slide(const struct comparison *c, struct edit *e, const struct edit *next)
{
    bool added = e->a0 == e->a1, deleted = e->b0 == e->b1;
    const long *ids = added ? c->b.ids : c->a.ids;
    while ((added || deleted) && e->a1 < (next ? next->a0 : c->a.n) &&
           e->b1 < (next ? next->b0 : c->b.n) &&
           ids[added ? e->b0 : e->a0] == ids[added ? e->b1 : e->a1])
        e->a0++, e->a1++, e->b0++, e->b1++;
}

// Goes from the last edit to the first: an edit that has moved down to the next one is joined with
// it.
static size_t slide_all(const struct comparison *c, struct edit *edits, size_t n)
{
    for (size_t i = n; i-- > 0;) {
        struct edit *e = &edits[i], *next = i + 1 < n ? e + 1 : NULL;
        slide(c, e, next);
        if (!next || e->a1 < next->a0 || e->b1 < next->b0)
            continue;
        e->a1 = next->a1;
        e->b1 = next->b1;
        memmove(next, next + 1, (n - i - 2) * sizeof *next);
        n--;
    }
    return n;
}

static void print_lines(buf *out, char mark, const struct text *t, long from, long to)
{
    for (long i = from; i < to; i++) {
        buf_char(out, mark);
        buf_add(out, t->lines[i], strcspn(t->lines[i], "\n"));
        buf_char(out, '\n');
    }
}

// "3,4"; for one line "3"; for no line the number of the line before.
static void print_range(buf *out, char mark, long from, long to)
{
    buf_fmt(out, " %c%ld", mark, to > from ? from + 1 : from);
    if (to - from != 1)
        buf_fmt(out, ",%ld", to - from);
}

// One hunk: the edits first..last with the lines around them.
static void print_hunk(
    const struct comparison *c, const struct edit *first, const struct edit *last, buf *out)
{
    long before = first->a0 < CONTEXT ? first->a0 : CONTEXT;
    long after = c->a.n - last->a1 < CONTEXT ? c->a.n - last->a1 : CONTEXT;
    buf_str(out, "@@");
    print_range(out, '-', first->a0 - before, last->a1 + after);
    print_range(out, '+', first->b0 - before, last->b1 + after);
    buf_str(out, " @@\n");
    long x = first->a0 - before;
    for (const struct edit *e = first; e <= last; e++) {
        print_lines(out, ' ', &c->a, x, e->a0);
        print_lines(out, '-', &c->a, e->a0, e->a1);
        print_lines(out, '+', &c->b, e->b0, e->b1);
        x = e->a1;
    }
    print_lines(out, ' ', &c->a, x, last->a1 + after);
}

bool linediff(buf *out, const char *from, const char *to, const char *old, const char *new_)
{
    struct comparison c = {0};
    hashmap *known = hashmap_new();
    take_text(&c.a, old, known);
    take_text(&c.b, new_, known);
    hashmap_free(known);
    compare_all(&c);
    size_t n;
    AUTO_FREE struct edit *edits = edits_of(&c, &n);
    n = slide_all(&c, edits, n);
    if (n)
        buf_fmt(out, "--- %s\n+++ %s\n", from, to);
    for (size_t i = 0, j; i < n; i = j + 1) {
        for (j = i; j + 1 < n && edits[j + 1].a0 - edits[j].a1 <= 2 * CONTEXT; j++)
            ;
        print_hunk(&c, &edits[i], &edits[j], out);
    }
    text_done(&c.a);
    text_done(&c.b);
    return n > 0;
}
