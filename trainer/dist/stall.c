// SPDX-License-Identifier: MIT
#include "trainer/dist/stall.h"

#include "base/clock.h"
#include "base/mem.h"
#include "trainer/dist/message.h"

#include <stdlib.h>
#include <string.h>

enum { HEADER = 9 };
static const int64_t SILENT = 5 * CLOCK_SEC; // waiting ranks report every second

void stall_init(struct stall *s, int np, int64_t check, int64_t shutdown)
{
    *s = (struct stall){.np = np, .check = check, .shutdown = shutdown};
    s->rank = mem_array((size_t)np, sizeof *s->rank);
}

void stall_free(struct stall *s)
{
    free(s->rank);
    s->rank = NULL;
}

void stall_put(
    buf *body, enum stall_channel channel, int64_t waited, uint32_t number, const char *operation)
{
    char header[HEADER] = {(char)channel};
    size_t n = strlen(operation);
    put_u32(header + 1, (uint32_t)(waited / CLOCK_MS));
    put_u32(header + 5, number);
    buf_add(body, header, sizeof header);
    buf_add(body, operation, n < STALL_OPERATION - 1 ? n : STALL_OPERATION - 1);
}

void stall_hear(struct stall *s, int rank, const char *body, size_t n, int64_t now)
{
    struct stall_rank *r = &s->rank[rank];
    if (n < HEADER || n - HEADER >= STALL_OPERATION || (uint8_t)body[0] > STALL_START)
        return;
    r->waits = n > HEADER;
    r->channel = (enum stall_channel)body[0];
    r->heard = now;
    r->number = get_u32(body + 5);
    r->since = now - (int64_t)get_u32(body + 1) * CLOCK_MS;
    memcpy(r->operation, body + HEADER, n - HEADER);
    r->operation[n - HEADER] = 0;
}

void stall_count(struct stall *s, int rank, const char *body, size_t n)
{
    struct stall_rank *r = &s->rank[rank];
    if (n != sizeof r->begun)
        return;
    for (int c = 0; c < STALL_CHANNELS; c++)
        r->begun[c] = get_u32(body + 4 * c);
    r->counted = true;
}

void stall_done(struct stall *s, int rank, int64_t now)
{
    s->returned = now;
    s->rank[rank].done = true;
    s->rank[rank].waits = false;
}

// A summary of all ranks.
struct census {
    int waiting, done, silent;
    int64_t longest, shortest; // how long ranks have waited
    bool mixed;                // ranks wait in both channels
};

static struct census take_census(struct stall *s, int64_t now)
{
    struct census c = {.shortest = INT64_MAX};
    unsigned channels = 0; // a bit for each
    for (int i = 0; i < s->np; i++) {
        struct stall_rank *r = &s->rank[i];
        int64_t waited = now - r->since;
        r->silent = r->waits && r->channel != STALL_START && now - r->heard > SILENT;
        c.done += r->done;
        c.silent += r->silent;
        if (!r->waits || r->silent)
            continue;
        c.waiting++;
        c.longest = waited > c.longest ? waited : c.longest;
        c.shortest = waited < c.shortest ? waited : c.shortest;
        channels |= 1u << r->channel;
    }
    c.mixed = (channels & (channels - 1)) != 0;
    return c;
}

// Appends the ranks for which `is` is true, with the right form of the verb: "rank 3 has", "ranks 0
// and 2 have".
static void name_ranks(const struct stall *s, bool (*is)(const struct stall_rank *, const void *),
    const void *ctx, const char *one, const char *many, buf *out)
{
    enum { NAMED = 8 };
    int chosen[NAMED], n = 0;
    for (int i = 0; i < s->np; i++) {
        if (!is(&s->rank[i], ctx))
            continue;
        if (n < NAMED)
            chosen[n] = i;
        n++;
    }
    buf_str(out, n == 1 ? "rank " : "ranks ");
    for (int i = 0; i < n && i < NAMED; i++)
        buf_fmt(out, "%s%d", i == 0 ? "" : i + 1 == n ? " and " : ", ", chosen[i]);
    if (n > NAMED)
        buf_fmt(out, " and %d more", n - NAMED);
    buf_fmt(out, " %s", n == 1 ? one : many);
}

static bool waits_alike(const struct stall_rank *r, const void *ctx)
{
    const struct stall_rank *other = ctx;
    return r->waits && !r->silent && r->channel == other->channel &&
           strcmp(r->operation, other->operation) == 0;
}

static bool is_silent(const struct stall_rank *r, const void *ctx)
{
    return r->silent;
}

static bool has_returned(const struct stall_rank *r, const void *ctx)
{
    return r->done;
}

static bool is_missing(const struct stall_rank *r, const void *ctx)
{
    return !r->done && !r->waits;
}

// Did a rank before this one wait in the same operation?
static bool was_named(const struct stall *s, int rank)
{
    for (int i = 0; i < rank; i++)
        if (waits_alike(&s->rank[i], &s->rank[rank]))
            return true;
    return false;
}

// "ranks 0 and 2 have waited 60 s in ALLREDUCE gradients; rank 1 has waited 58 s in BARRIER; rank 3
// has returned; rank 4 is missing: it is in no operation with the others"
static void describe(const struct stall *s, const struct census *c, int64_t now, buf *out)
{
    for (int i = 0; i < s->np; i++) {
        const struct stall_rank *r = &s->rank[i];
        if (!r->waits || r->silent || was_named(s, i))
            continue;
        name_ranks(s, waits_alike, r, "has waited ", "have waited ", out);
        buf_fmt(out, "%.0f s in %s; ", (double)(now - r->since) / (double)CLOCK_SEC, r->operation);
    }
    if (c->silent)
        name_ranks(s, is_silent, NULL, "is silent: stopped, or its machine is gone; ",
            "are silent: stopped, or their machines are gone; ", out);
    if (c->done)
        name_ranks(s, has_returned, NULL, "has returned; ", "have returned; ", out);
    if (c->done + c->waiting + c->silent < s->np)
        name_ranks(s, is_missing, NULL, "is missing: it is in no operation with the others; ",
            "are missing: they are in no operation with the others; ", out);
    out->data[out->len -= 2] = 0;
}

// No rank can continue if all wait, but in different operations, or if they wait for one that has
// returned. Bytes may still be on their way, so the state must have lasted.
static bool is_for_ever(const struct stall *s, const struct census *c, int64_t now)
{
    if (!s->check || c->waiting + c->done < s->np || c->shortest < s->check)
        return false;
    return c->mixed || (c->done && now - s->returned >= s->check);
}

// Does a rank wait in an operation that another one, which has returned, never began?
static bool waits_in_vain(const struct stall *s)
{
    for (int i = 0; i < s->np; i++)
        for (int k = 0; s->rank[i].waits && k < s->np; k++)
            if (s->rank[k].done && s->rank[k].counted &&
                s->rank[k].begun[s->rank[i].channel] < s->rank[i].number)
                return true;
    return false;
}

enum stall_verdict stall_look(struct stall *s, int64_t now, buf *text)
{
    struct census c = take_census(s, now);
    if (c.waiting == 0) {
        s->warned = false;
        return STALL_NO;
    }
    bool ever = is_for_ever(s, &c, now) || waits_in_vain(s);
    if (ever || (s->shutdown && c.longest >= s->shutdown)) {
        describe(s, &c, now, text);
        buf_str(text, ever ? ". So they wait for ever: every rank must make the same calls"
                           : ". The job ends (HOROVOD_STALL_SHUTDOWN_TIME_SECONDS)");
        return STALL_END;
    }
    // When all ranks are in an operation, it is only slow.
    bool all_here = c.waiting + c.done == s->np;
    if (s->warned || !s->check || c.longest < s->check || all_here)
        return STALL_NO;
    describe(s, &c, now, text);
    s->warned = true;
    return STALL_WARN;
}
