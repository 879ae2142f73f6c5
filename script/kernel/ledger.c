// SPDX-License-Identifier: MIT
#include "script/kernel/ledger.h"

#include "base/mem.h"
#include "base/str.h"

struct ledger {
    struct entry **entries; // pointers, so that callers may keep them
    size_t n;
    int64_t last; // number
};

ledger *ledger_new(void)
{
    return mem_alloc(sizeof(ledger));
}

static void entry_free(struct entry *e)
{
    free(e->source);
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
    free(l);
}

struct entry *ledger_add(ledger *l, const char *source, int64_t ordinal, const char *binding,
    const char *arguments, const char *what)
{
    struct entry *e = mem_alloc(sizeof *e);
    e->number = ++l->last;
    e->source = mem_strdup(source);
    e->ordinal = ordinal;
    e->binding = mem_strdup(binding);
    e->arguments = mem_strdup(arguments);
    e->what = mem_strdup(what);
    l->entries = mem_resize(l->entries, l->n + 1, sizeof *l->entries);
    l->entries[l->n++] = e;
    return e;
}

void ledger_load(
    ledger *l, const fold *f, bool (*undoable)(void *arg, const char *binding), void *arg)
{
    for (size_t i = 0; i < fold_ledger_count(f); i++) {
        const struct ledger_entry *known = fold_ledger(f, i);
        struct entry *e = ledger_add(
            l, known->source, known->ordinal, known->binding, known->arguments, known->what);
        e->number = known->entry;
        if (known->entry > l->last)
            l->last = known->entry;
        e->result = known->outcome && known->result ? cJSON_Duplicate(known->result, true) : NULL;
        e->made = known->made ? cJSON_Duplicate(known->made, true) : NULL;
        e->masked = known->masked;
        e->failed = known->failed;
        e->undone = known->undone;
        e->undoable = undoable(arg, known->binding);
    }
}

struct entry *ledger_entry(ledger *l, int64_t number)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->entries[i]->number == number)
            return l->entries[i];
    return NULL;
}

struct entry *ledger_find(
    ledger *l, const char *source, int64_t ordinal, const char *binding, const char *arguments)
{
    for (size_t i = l->n; i-- > 0;) {
        struct entry *e = l->entries[i];
        if (!e->fresh && !e->undone && e->ordinal == ordinal && str_eq(e->source, source) &&
            str_eq(e->binding, binding) && str_eq(e->arguments, arguments))
            return e;
    }
    return NULL;
}

bool entry_is_left(const struct entry *e)
{
    return e->undoable && !e->undone && (!e->failed || e->made);
}

const cJSON *entry_recorded(const struct entry *e)
{
    return e->result ? e->result : e->made;
}

size_t ledger_left(const ledger *l)
{
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++)
        n += entry_is_left(l->entries[i]);
    return n;
}

void ledger_forget_left(ledger *l)
{
    for (size_t i = 0; i < l->n; i++)
        l->entries[i]->undone |= entry_is_left(l->entries[i]);
}

int ledger_each_stale(ledger *l, int (*fn)(void *arg, struct entry *e), void *arg)
{
    int result = 0;
    for (size_t i = l->n; i-- > 0 && result == 0;)
        if (!l->entries[i]->fresh && entry_is_left(l->entries[i]))
            result = fn(arg, l->entries[i]);
    return result;
}

static const char *uid_of(const cJSON *recorded)
{
    const char *uid = json_str(recorded, "uid");
    return uid ? uid : json_path_str(recorded, "metadata.uid");
}

void ledger_gone(ledger *l, const char *uid, void (*fn)(void *arg, struct entry *e), void *arg)
{
    for (size_t i = 0; i < l->n; i++) {
        struct entry *e = l->entries[i];
        if (e->undone || !e->undoable || !str_eq(uid_of(entry_recorded(e)), uid))
            continue;
        e->undone = true;
        fn(arg, e);
    }
}
