// SPDX-License-Identifier: MIT
// Which cells do not hold any more. It is found again when a cell has ended, a text has changed, or
// something outside has; drawing only looks it up. Files are looked at by another thread, every
// other second, as long as cells have read or left some.
#include "base/clock.h"
#include "base/mem.h"
#include "script/journal/outside.h"
#include "script/journal/stale.h"
#include "tui/bench/bench_private.h"

enum { LOOK_MS = 2000 };

struct staleness {
    const fold *of;
    uint64_t turns;
    unsigned typed;
    cJSON *found;

    cJSON *outside;   // what the last look has found; NULL: nothing
    bool looks;       // one is under way
    int64_t looked;   // mono ns of its beginning; 0: there was none
    uint64_t listed;  // turns of the fold when there was something to look at, or not
    bool has_outside; // there was
};

static struct staleness *staleness_of(bench *b)
{
    if (!b->staleness)
        b->staleness = mem_alloc(sizeof *b->staleness);
    return b->staleness;
}

static bool is_edited(void *arg, const char *id, const char *hash)
{
    struct slot *s = slot_by_id(arg, id, NULL);
    return s && *hash && slot_changed(s, hash);
}

const char *slot_stale(bench *b, size_t i)
{
    struct staleness *s = staleness_of(b);
    if (!s->found || s->of != b->fold || s->turns != fold_turns(b->fold) || s->typed != b->typed) {
        const struct stale_now now = {.edited = is_edited, .arg = b, .outside = s->outside};
        cJSON_Delete(s->found);
        s->found = stale_find(b->fold, &now);
        s->of = b->fold;
        s->turns = fold_turns(b->fold);
        s->typed = b->typed;
    }
    return json_str(json_get(s->found, b->slots[i]->id), "why");
}

void bench_looked(bench *b, cJSON *outside)
{
    struct staleness *s = staleness_of(b);
    s->looks = false;
    if (s->outside && json_equal(s->outside, outside)) {
        cJSON_Delete(outside);
        return;
    }
    cJSON_Delete(s->outside);
    s->outside = outside;
    cJSON_Delete(STEAL(s->found));
    b->dirty = true;
}

// Of a run that only is read, nothing is looked at: it is as it was.
static bool may_look(const bench *b)
{
    return b->ops->look && b->client && !b->replaying && !b->incoming && b->run;
}

int staleness_wait_ms(const bench *b)
{
    const struct staleness *s = b->staleness;
    if (!s || !may_look(b) || s->looks)
        return -1;
    if (s->listed == fold_turns(b->fold) && !s->has_outside)
        return -1;
    int64_t due = s->looked ? s->looked + LOOK_MS * CLOCK_MS : 0, now = clock_mono();
    return due > now ? (int)((due - now) / CLOCK_MS) + 1 : 0;
}

void staleness_tick(bench *b)
{
    struct staleness *s = b->staleness;
    if (staleness_wait_ms(b) != 0)
        return;
    cJSON *list = outside_list(b->fold);
    s->listed = fold_turns(b->fold);
    s->has_outside = cJSON_GetArraySize(json_get(list, "files")) > 0;
    s->looked = clock_mono();
    s->looks = s->has_outside;
    if (s->looks)
        b->ops->look(b->arg, list);
    else
        cJSON_Delete(list);
}

void staleness_free(bench *b)
{
    if (!b->staleness)
        return;
    cJSON_Delete(b->staleness->found);
    cJSON_Delete(b->staleness->outside);
    free(STEAL(b->staleness));
}
