// SPDX-License-Identifier: MIT
#include "trainer/dist/job/elastic.h"

#include "base/mem.h"

#include <stdlib.h>

// A rank that fails at the same line each time must not be started for ever.
enum { FRUITLESS_MOST = 3 };

void elastic_init(struct elastic *x, const struct elastic_options *options, int np)
{
    *x = (struct elastic){.options = *options, .np = np, .generation = 1};
    x->here = mem_array((size_t)np, sizeof *x->here);
}

void elastic_done(struct elastic *x)
{
    buf_done(&x->commit);
    free(x->here);
    x->here = NULL;
}

void elastic_commit(struct elastic *x, const void *bytes, size_t n)
{
    buf_clear(&x->commit);
    buf_add(&x->commit, bytes, n);
    x->commits++;
    x->fresh = true;
}

int elastic_places(const struct elastic *x, int64_t now)
{
    int n = 0;
    for (int i = 0; i < x->np; i++)
        n += now >= x->here[i].until;
    return n;
}

void cooldown_begin(struct cooldown *c, const struct elastic_options *o, int64_t now)
{
    int64_t rest = o->cooldown;
    for (int i = 0; i < c->losses && rest < o->cooldown_most; i++)
        rest *= 2;
    c->losses++;
    c->until = now + (rest < o->cooldown_most ? rest : o->cooldown_most);
}

// Ranks on this machine have no fixed place. The lost rank is charged to the place with the fewest
// losses.
void elastic_lose(struct elastic *x, int64_t now)
{
    struct cooldown *lost = NULL;
    for (int i = 0; i < x->np; i++) {
        struct cooldown *c = &x->here[i];
        if (now >= c->until && (!lost || c->losses < lost->losses))
            lost = c;
    }
    if (lost)
        cooldown_begin(lost, &x->options, now);
}

int elastic_next(struct elastic *x, const err *why, err *e)
{
    int limit = x->options.reset_limit;
    x->losses = x->fresh || !why ? 0 : x->losses + 1;
    x->fresh = false;
    if (x->losses >= FRUITLESS_MOST)
        return err_set(e, ERR_LIMIT,
            "%d generations of ranks in a row were lost before a commit, the last because %s",
            FRUITLESS_MOST, why->text);
    if (limit >= 0 && x->generation > limit)
        return err_set(e, ERR_LIMIT, "Reset count %d has exceeded configured reset_limit %d%s%s",
            x->generation, limit, why ? ": " : "", why ? why->text : "");
    x->generation++;
    return 0;
}
