// SPDX-License-Identifier: MIT
#include "script/kernel/effects/ledger.h"

#include "base/mem.h"
#include "base/str.h"
#include "script/kernel/effects/turn.h"

#include <pthread.h>

struct ledger {
    pthread_mutex_t lock;
    struct entry **entries; // pointers, so that callers may keep them
    size_t n;
    int64_t last; // the last number
};

ledger *ledger_new(void)
{
    ledger *l = mem_alloc(sizeof *l);
    pthread_mutex_init(&l->lock, NULL);
    return l;
}

static void entry_free(struct entry *e)
{
    free(e->cell);
    free(e->source);
    free(e->branch);
    free(e->binding);
    free(e->arguments);
    free(e->what);
    cJSON_Delete(e->result);
    cJSON_Delete(e->made);
    free(e);
}

void ledger_free(ledger *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < l->n; i++)
        entry_free(l->entries[i]);
    free(l->entries);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

struct entry *ledger_add(
    ledger *l, const struct ledger_key *key, const char *what, bool undoable, bool announces)
{
    struct entry *e = mem_alloc(sizeof *e);
    *e = (struct entry){.ordinal = key->ordinal,
        .source = mem_strdup(key->source),
        .branch = mem_strdup(key->branch),
        .binding = mem_strdup(key->binding),
        .arguments = mem_strdup(key->arguments),
        .what = mem_strdup(what),
        .undoable = undoable,
        .announces = announces,
        .fresh = true};
    pthread_mutex_lock(&l->lock);
    e->number = e->mark = ++l->last;
    l->entries = mem_resize(l->entries, l->n + 1, sizeof *l->entries);
    l->entries[l->n++] = e;
    pthread_mutex_unlock(&l->lock);
    return e;
}

void ledger_load(
    ledger *l, const fold *f, bool (*undoable)(void *arg, const char *binding), void *arg)
{
    for (size_t i = 0; i < fold_ledger_count(f); i++) {
        const struct ledger_entry *known = fold_ledger(f, i);
        const struct ledger_key key = {known->source, known->branch_key ? known->branch_key : "",
            known->ordinal, known->binding, known->arguments};
        struct entry *e =
            ledger_add(l, &key, known->what, undoable(arg, known->binding), known->announces);
        e->fresh = false;
        e->cell = mem_strdup(known->cell);
        e->number = known->entry;
        e->mark = known->mark;
        if (known->entry > l->last)
            l->last = known->entry;
        if (known->outcome) // an outcome without a result is an outcome, too
            e->result = known->result ? cJSON_Duplicate(known->result, true) : cJSON_CreateNull();
        e->made = known->made ? cJSON_Duplicate(known->made, true) : NULL;
        e->midway = known->midway;
        e->masked = known->masked;
        e->failed = known->failed;
        e->undone = known->undone;
        e->tidied = known->tidied;
    }
}

void ledger_keep(ledger *l, const char *const *cells)
{
    pthread_mutex_lock(&l->lock);
    for (; cells && *cells; cells++)
        for (size_t i = 0; i < l->n; i++)
            l->entries[i]->fresh |= str_eq(l->entries[i]->cell, *cells);
    pthread_mutex_unlock(&l->lock);
}

void ledger_keep_branch(ledger *l, const char *source, const char *key)
{
    pthread_mutex_lock(&l->lock);
    for (size_t i = 0; i < l->n; i++)
        l->entries[i]->fresh |=
            str_eq(l->entries[i]->source, source) && turn_key_is_below(l->entries[i]->branch, key);
    pthread_mutex_unlock(&l->lock);
}

struct entry *ledger_find(ledger *l, const struct ledger_key *key)
{
    struct entry *found = NULL;
    pthread_mutex_lock(&l->lock);
    for (size_t i = l->n; !found && i-- > 0;) {
        struct entry *e = l->entries[i];
        bool same_call = str_eq(e->binding, key->binding) && str_eq(e->arguments, key->arguments);
        bool same_cell = str_eq(e->source, key->source) && str_eq(e->branch, key->branch);
        if (e->ordinal == key->ordinal && !e->fresh && !e->undone && same_call && same_cell)
            found = e;
    }
    pthread_mutex_unlock(&l->lock);
    return found;
}

void entry_set_fresh(ledger *l, struct entry *e)
{
    pthread_mutex_lock(&l->lock);
    e->fresh = true;
    pthread_mutex_unlock(&l->lock);
}

void entry_set_result(ledger *l, struct entry *e, cJSON *result, bool masked)
{
    pthread_mutex_lock(&l->lock);
    cJSON_Delete(e->result);
    e->result = result;
    e->masked = masked;
    cJSON_Delete(STEAL(e->made)); // entry_recorded reads the result from now on
    pthread_mutex_unlock(&l->lock);
}

void entry_set_made(ledger *l, struct entry *e, cJSON *made)
{
    pthread_mutex_lock(&l->lock);
    cJSON_Delete(e->made);
    e->made = made;
    e->midway = made != NULL;
    pthread_mutex_unlock(&l->lock);
}

void entry_set_failed(ledger *l, struct entry *e)
{
    pthread_mutex_lock(&l->lock);
    e->failed = true;
    pthread_mutex_unlock(&l->lock);
}

void entry_set_tidied(ledger *l, struct entry *e)
{
    pthread_mutex_lock(&l->lock);
    e->tidied = true;
    pthread_mutex_unlock(&l->lock);
}

void entry_set_undone(ledger *l, struct entry *e)
{
    pthread_mutex_lock(&l->lock);
    e->undone = true;
    pthread_mutex_unlock(&l->lock);
}

bool entry_is_undone(ledger *l, const struct entry *e)
{
    pthread_mutex_lock(&l->lock);
    bool undone = e->undone;
    pthread_mutex_unlock(&l->lock);
    return undone;
}

// Is there something to remove: something made, or possibly made, not undone yet, and undoable?
static bool entry_is_left(const struct entry *e)
{
    return e->undoable && !e->undone && !e->tidied && (!e->failed || e->midway);
}

const cJSON *entry_recorded(const struct entry *e)
{
    return e->result && !cJSON_IsNull(e->result) ? e->result : e->made;
}

size_t ledger_left(ledger *l)
{
    size_t n = 0;
    pthread_mutex_lock(&l->lock);
    for (size_t i = 0; i < l->n; i++)
        n += entry_is_left(l->entries[i]);
    pthread_mutex_unlock(&l->lock);
    return n;
}

void ledger_forget_left(ledger *l)
{
    pthread_mutex_lock(&l->lock);
    for (size_t i = 0; i < l->n; i++)
        l->entries[i]->undone |= entry_is_left(l->entries[i]);
    pthread_mutex_unlock(&l->lock);
}

// The next entry before `i` that is left over and not fresh; NULL: none.
static struct entry *next_stale(ledger *l, size_t *i)
{
    struct entry *found = NULL;
    pthread_mutex_lock(&l->lock);
    if (*i > l->n)
        *i = l->n;
    while (!found && *i > 0) {
        struct entry *e = l->entries[--*i];
        if (!e->fresh && entry_is_left(e))
            found = e;
    }
    pthread_mutex_unlock(&l->lock);
    return found;
}

int ledger_each_stale(ledger *l, int (*fn)(void *arg, struct entry *e), void *arg)
{
    int result = 0;
    struct entry *e;
    for (size_t i = SIZE_MAX; result == 0 && (e = next_stale(l, &i));)
        result = fn(arg, e);
    return result;
}

bool ledger_any(
    ledger *l, const char *source, bool (*is)(void *arg, const struct entry *e), void *arg)
{
    bool found = false;
    pthread_mutex_lock(&l->lock);
    for (size_t i = 0; !found && i < l->n; i++)
        found = str_eq(l->entries[i]->source, source) && is(arg, l->entries[i]);
    pthread_mutex_unlock(&l->lock);
    return found;
}

static const char *uid_of(const cJSON *recorded)
{
    const char *uid = json_str(recorded, "uid");
    return uid ? uid : json_path_str(recorded, "metadata.uid");
}

static bool is_about(const cJSON *recorded, const char *uid)
{
    return str_eq(uid_of(recorded), uid) || str_eq(json_path_str(recorded, "object.uid"), uid) ||
           str_eq(json_path_str(recorded, "deleted.uid"), uid);
}

bool ledger_changed_later(ledger *l, const struct entry *e, const char *uid, cJSON *set)
{
    bool found = false;
    pthread_mutex_lock(&l->lock);
    for (size_t i = 0; uid && !found && i < l->n; i++) {
        if (l->entries[i]->number <= e->number)
            continue;
        const cJSON *recorded = entry_recorded(l->entries[i]), *field;
        if (!is_about(recorded, uid))
            continue;
        found = !set || !json_get(recorded, "set");
        cJSON_ArrayForEach(field, json_get(recorded, "set"))
        {
            if (set)
                json_set_bool(set, field->string, true);
        }
    }
    pthread_mutex_unlock(&l->lock);
    return found;
}

void ledger_gone(ledger *l, const char *uid, void (*fn)(void *arg, struct entry *e), void *arg)
{
    pthread_mutex_lock(&l->lock);
    for (size_t i = 0; i < l->n; i++) {
        struct entry *e = l->entries[i];
        if (e->undone || !e->undoable || !str_eq(uid_of(entry_recorded(e)), uid))
            continue;
        e->undone = true;
        fn(arg, e);
    }
    pthread_mutex_unlock(&l->lock);
}
