// SPDX-License-Identifier: MIT
#include "k8s/client/logs/place.h"

#include "base/clock.h"
#include "base/mem.h"

#include <string.h>

enum { MOST = 8192, LEAST = 64 };

void place_done(struct place *p)
{
    free(p->lines);
    *p = (struct place){0};
}

void place_reset(struct place *p)
{
    p->n = 0;
    p->begun = p->other = false;
    p->search = PLACE_AT_END;
}

// A second of slack: a line may be written after one that is a little younger.
int64_t place_since(const struct place *p)
{
    return p->newest - p->newest % CLOCK_SEC - CLOCK_SEC;
}

static uint64_t mix(uint64_t h, uint64_t word)
{
    h = (h ^ word) * UINT64_C(0x9fb21c651e98df25);
    return h ^ (h >> 32);
}

static uint64_t hash_of(int64_t stamp, const char *text, size_t n)
{
    uint64_t h = mix(n, (uint64_t)stamp), word = 0;
    for (; n >= sizeof word; text += sizeof word, n -= sizeof word) {
        memcpy(&word, text, sizeof word);
        h = mix(h, word);
    }
    word = 0;
    memcpy(&word, text, n);
    return mix(h, word);
}

// Drops what no later reading brings again.
static void forget_old(struct place *p)
{
    int64_t since = place_since(p);
    size_t kept = 0;
    for (size_t i = 0; i < p->n; i++)
        if (p->lines[i].stamp >= since)
            p->lines[kept++] = p->lines[i];
    p->n = kept;
}

static void forget_half(struct place *p)
{
    size_t half = p->n / 2;
    p->n -= half;
    memmove(p->lines, p->lines + half, p->n * sizeof *p->lines);
}

static void make_room(struct place *p)
{
    if (p->n < p->room)
        return;
    forget_old(p);
    if (p->n <= p->room / 2 && p->room)
        return;
    if (p->room >= MOST) {
        forget_half(p);
        return;
    }
    p->room = p->room ? 2 * p->room : LEAST;
    p->lines = mem_resize(p->lines, p->room, sizeof *p->lines);
}

static void add(struct place *p, int64_t stamp, uint64_t hash)
{
    if (!p->begun)
        p->first = (struct place_line){stamp, hash};
    if (!p->begun || stamp > p->newest)
        p->newest = stamp;
    p->begun = true;
    make_room(p);
    p->lines[p->n++] = (struct place_line){stamp, hash};
}

void place_other(struct place *p)
{
    p->other = true;
}

void place_again(struct place *p)
{
    if (!p->begun)
        return;
    forget_old(p);
    p->search = PLACE_SEEKS;
    p->at = 0;
}

// The first line of a new reading that is known: all that follow it in the list come after it.
static bool find(struct place *p, int64_t stamp, uint64_t hash)
{
    for (size_t i = 0; i < p->n; i++) {
        if (p->lines[i].hash != hash || p->lines[i].stamp != stamp)
            continue;
        p->at = i + 1;
        p->search = p->at < p->n ? PLACE_FOLLOWS : PLACE_AT_END;
        return true;
    }
    return false;
}

static enum place_verdict seek(struct place *p, int64_t stamp, uint64_t hash)
{
    // What comes before the first known line, and is no younger, is not in the list any more, or
    // the rest of a long line: a runtime stamps each of its pieces.
    if (find(p, stamp, hash) || stamp <= p->newest)
        return PLACE_TOLD;
    p->search = PLACE_AT_END;
    return p->other ? PLACE_NEW : PLACE_GAP;
}

static enum place_verdict follow(struct place *p, int64_t stamp, uint64_t hash)
{
    const struct place_line *next = &p->lines[p->at];
    if (next->hash != hash || next->stamp != stamp) {
        p->search = PLACE_AT_END;
        return PLACE_GAP;
    }
    if (++p->at == p->n)
        p->search = PLACE_AT_END;
    return PLACE_TOLD;
}

bool place_is_lost(const struct place *p, int64_t stamp)
{
    return p->begun && !p->other && p->search == PLACE_SEEKS && stamp > p->newest;
}

bool place_awaits(const struct place *p)
{
    return p->begun && p->search != PLACE_AT_END;
}

enum place_verdict place_take(struct place *p, int64_t stamp, const char *text, size_t n)
{
    uint64_t hash = hash_of(stamp, text, n);
    enum place_verdict verdict = p->search == PLACE_SEEKS     ? seek(p, stamp, hash)
                                 : p->search == PLACE_FOLLOWS ? follow(p, stamp, hash)
                                                              : PLACE_NEW;
    if (p->other && verdict == PLACE_NEW) // no line of the file before comes again
        p->n = 0;
    p->other = false;
    if (verdict != PLACE_TOLD)
        add(p, stamp, hash);
    return verdict;
}

bool place_is_first(const struct place *p, int64_t stamp, const char *text, size_t n)
{
    return p->begun && p->first.stamp == stamp && p->first.hash == hash_of(stamp, text, n);
}

bool place_is_last(const struct place *p, int64_t stamp, const char *text, size_t n)
{
    const struct place_line *last = p->n ? &p->lines[p->n - 1] : NULL;
    return last && last->stamp == stamp && last->hash == hash_of(stamp, text, n);
}
