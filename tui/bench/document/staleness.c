// SPDX-License-Identifier: MIT
// Which cells do not hold any more. It is found again when a cell has ended, a text has changed, or
// something outside has; drawing only looks it up. Files are looked at by another thread, every
// other second, as long as cells have read or left some; what cells have made elsewhere the kernel
// looks at, every ten seconds.
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/journal/stale/outside.h"
#include "script/journal/stale/stale.h"
#include "tui/bench/bench_private.h"

#include <string.h>

enum { LOOK_MS = 2000, ASK_MS = 10 * 1000 };

struct staleness {
    const fold *of;
    uint64_t turns;
    unsigned typed;
    cJSON *found;

    cJSON *outside;   // what the last look has found, of earlier runs as "RUN/ID"; NULL: nothing
    unsigned changes; // counts these
    bool looks;       // one is under way
    int64_t looked;   // mono ns of its beginning; 0: there was none
    uint64_t listed;  // turns of fold and memory when there was something to look at, or not
    bool has_outside; // there was

    cJSON *elsewhere;   // what the kernel has found last; NULL: nothing
    bool asks;          // it is asked now
    int64_t asked;      // mono ns of that; 0: never
    uint64_t asked_at;  // seq of the last event then
    uint64_t found_at;  // and when what was found last was asked for
    uint64_t counted;   // turns of the fold when there was something elsewhere, or not
    bool has_elsewhere; // there was
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

// What the kernel has found does not count for a cell that has run since it was asked.
static cJSON *all_outside(const bench *b)
{
    const struct staleness *s = b->staleness;
    cJSON *all = s->outside ? cJSON_Duplicate(s->outside, true) : cJSON_CreateObject();
    const cJSON *one;
    cJSON_ArrayForEach(one, s->elsewhere)
    {
        const struct run_cell *c = fold_cell_by_id(b->fold, one->string, NULL);
        if (c && c->ran <= s->found_at && !json_get(all, one->string) && cJSON_IsString(one))
            json_set_str(all, one->string, one->valuestring);
    }
    return all;
}

const char *slot_stale(bench *b, size_t i)
{
    struct staleness *s = staleness_of(b);
    if (s->of != b->fold) // another run, maybe: its cells have made other things
        cJSON_Delete(STEAL(s->elsewhere));
    if (!s->found || s->of != b->fold || s->turns != fold_turns(b->fold) || s->typed != b->typed) {
        AUTO_JSON *outside = all_outside(b);
        const struct stale_now now = {.edited = is_edited, .arg = b, .outside = outside};
        cJSON_Delete(s->found);
        s->found = stale_find(b->fold, &now);
        s->of = b->fold;
        s->turns = fold_turns(b->fold);
        s->typed = b->typed;
    }
    const char *why = NULL;
    if (!memory_stale(b, i, &why))
        why = json_str(json_get(s->found, b->slots[i]->id), "why");
    return why;
}

unsigned staleness_looked(bench *b)
{
    return staleness_of(b)->changes;
}

cJSON *staleness_outside(bench *b, const char *run)
{
    const struct staleness *s = staleness_of(b);
    cJSON *of = cJSON_CreateObject();
    size_t n = strlen(run);
    const cJSON *one;
    cJSON_ArrayForEach(one, s->outside)
    {
        if (strncmp(one->string, run, n) == 0 && one->string[n] == '/')
            json_set_str(of, one->string + n + 1, cJSON_GetStringValue(one));
    }
    return of;
}

static void take(bench *b, cJSON **known, cJSON *now)
{
    if (*known && json_equal(*known, now)) {
        cJSON_Delete(now);
        return;
    }
    cJSON_Delete(*known);
    *known = now;
    b->staleness->changes++;
    cJSON_Delete(STEAL(b->staleness->found));
    b->dirty = true;
}

void bench_looked(bench *b, cJSON *outside)
{
    struct staleness *s = staleness_of(b);
    s->looks = false;
    take(b, &s->outside, outside);
}

// An older kernel does not know the question; then nothing is found.
static void on_answer(bench *b, void *arg, const cJSON *reply)
{
    struct staleness *s = staleness_of(b);
    const cJSON *found = json_get(reply, "found");
    s->asks = false;
    s->found_at = s->asked_at;
    cJSON_Delete(STEAL(s->found));
    take(b, &s->elsewhere,
        cJSON_IsObject(found) ? cJSON_Duplicate(found, true) : cJSON_CreateObject());
}

// Of a run that only is read, nothing is looked at: it is as it was.
static bool may_look(const bench *b)
{
    return b->client && !b->replaying && !b->incoming && b->run;
}

static int until(int64_t last, int every_ms)
{
    int64_t due = last ? last + every_ms * CLOCK_MS : 0, now = clock_mono();
    return due > now ? (int)((due - now) / CLOCK_MS) + 1 : 0;
}

static uint64_t turns(const bench *b)
{
    return fold_turns(b->fold) + memory_turns(b);
}

static int files_wait_ms(const bench *b)
{
    const struct staleness *s = b->staleness;
    bool none = s->listed == turns(b) && !s->has_outside;
    return s->looks || none || !b->ops->look ? -1 : until(s->looked, LOOK_MS);
}

static int kernel_wait_ms(const bench *b)
{
    const struct staleness *s = b->staleness;
    bool none = s->counted == fold_turns(b->fold) && !s->has_elsewhere;
    return s->asks || none || b->read_only ? -1 : until(s->asked, ASK_MS);
}

int staleness_wait_ms(const bench *b)
{
    if (!b->staleness || !may_look(b))
        return -1;
    int files = files_wait_ms(b), kernel = kernel_wait_ms(b);
    return files < 0 || (kernel >= 0 && kernel < files) ? kernel : files;
}

static bool is_elsewhere(const struct ledger_entry *e)
{
    bool image = e->binding && str_starts(e->binding, "image.");
    return e->outcome && !e->failed && !e->undone && (image || str_eq(e->effect, "cluster"));
}

// Have cells made, or found, anything elsewhere?
static bool has_elsewhere(const fold *f)
{
    for (size_t i = 0; i < fold_ledger_count(f); i++)
        if (is_elsewhere(fold_ledger(f, i)))
            return true;
    return fold_uses_images(f);
}

static void ask_kernel(bench *b)
{
    struct staleness *s = b->staleness;
    s->counted = fold_turns(b->fold);
    s->asked_at = fold_seq(b->fold);
    s->has_elsewhere = has_elsewhere(b->fold);
    if (!s->has_elsewhere) // of what was found before nothing holds any more
        take(b, &s->elsewhere, cJSON_CreateObject());
    s->asked = s->has_elsewhere ? clock_mono() : s->asked;
    s->asks = s->has_elsewhere;
    if (s->asks)
        remote_ask(b, message_new(MESSAGE_look), on_answer, NULL);
}

static void look_at_files(bench *b)
{
    struct staleness *s = b->staleness;
    cJSON *list = outside_list(b->fold);
    memory_list(b, list);
    s->listed = turns(b);
    s->has_outside = cJSON_GetArraySize(json_get(list, "files")) > 0;
    s->looked = clock_mono();
    s->looks = s->has_outside;
    if (s->looks)
        b->ops->look(b->arg, list);
    else
        cJSON_Delete(list);
}

void staleness_tick(bench *b)
{
    if (!b->staleness || !may_look(b))
        return;
    if (files_wait_ms(b) == 0)
        look_at_files(b);
    if (kernel_wait_ms(b) == 0)
        ask_kernel(b);
}

void staleness_free(bench *b)
{
    if (!b->staleness)
        return;
    cJSON_Delete(b->staleness->found);
    cJSON_Delete(b->staleness->outside);
    cJSON_Delete(b->staleness->elsewhere);
    free(STEAL(b->staleness));
}
