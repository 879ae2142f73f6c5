// SPDX-License-Identifier: MIT
// The ledger: what effects this run has had, and, when it is resumed, what those before it had. It
// owns its entries, which stay where they are.
//
// Cells and actions of live views have effects at the same time, from a thread each. So the ledger
// locks inside, an entry's call alone changes it, through entry_set_*, and `undone` is whoever's.
//
// The journal has the same as events; this is what the kernel needs of it to decide.
#pragma once
#include "base/json.h"
#include "script/journal/fold.h"

#include <stdbool.h>
#include <stdint.h>

struct entry {
    int64_t number;
    int64_t mark;    // the number that its things are marked with: of the first that it does again
    int64_t ordinal; // of the effect call in its cell's execution
    char *source, *binding, *arguments, *what; // as in the event
    cJSON *result;                             // NULL: no outcome
    cJSON *made;                               // so far, when it ended midway; or NULL
    bool masked;                               // result is not what the binding gave
    bool failed, undone;
    bool undoable;  // its binding has an undo
    bool announces; // its binding did so: without `made` nothing was asked for
    bool fresh;     // done or verified since this kernel started
};

typedef struct ledger ledger;
ledger *ledger_new(void);
void ledger_free(ledger *l);
// Takes over what a journal knows; `undoable` tells of a binding's name.
void ledger_load(
    ledger *l, const fold *f, bool (*undoable)(void *arg, const char *binding), void *arg);
// A new entry, numbered, marked with its number, and fresh; its strings are copied.
struct entry *ledger_add(ledger *l, const char *source, int64_t ordinal, const char *binding,
    const char *arguments, const char *what, bool undoable, bool announces);
// The entry of the same call in an earlier kernel, not yet verified or done again; NULL if none.
struct entry *ledger_find(
    ledger *l, const char *source, int64_t ordinal, const char *binding, const char *arguments);
// What became of it. Takes result and made; made NULL: nothing.
void entry_set_result(ledger *l, struct entry *e, cJSON *result, bool masked);
void entry_set_made(ledger *l, struct entry *e, cJSON *made);
void entry_set_failed(ledger *l, struct entry *e);
void entry_set_undone(ledger *l, struct entry *e);
// Is there something of it to remove: made, or perhaps made, not undone, and undoable?
bool entry_is_left(const struct entry *e);
// What the entry tells for undo: its result, or what was made midway; NULL: an intent alone.
const cJSON *entry_recorded(const struct entry *e);
size_t ledger_left(ledger *l);
// All that is left has gone by itself.
void ledger_forget_left(ledger *l);
// Is there an entry of this cell's source of which `is` holds?
bool ledger_any(
    ledger *l, const char *source, bool (*is)(void *arg, const struct entry *e), void *arg);
// Has an entry after this one had to do with the object of this uid?
bool ledger_changed_later(ledger *l, const struct entry *e, const char *uid);
// Entries that are left and not fresh, newest first: fn returns 0 to go on. Returns fn's last
// value.
int ledger_each_stale(ledger *l, int (*fn)(void *arg, struct entry *e), void *arg);
// Marks those whose result has this uid as undone; calls fn for each, under the lock.
void ledger_gone(ledger *l, const char *uid, void (*fn)(void *arg, struct entry *e), void *arg);
