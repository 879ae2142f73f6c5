// SPDX-License-Identifier: MIT
// The ledger: the effects of this run; in a resumed run, also those before the resume. It owns its
// entries, which never move.
// Cells and actions have effects at the same time, from different threads, so the ledger locks
// inside. Only an entry's own call changes the entry, through entry_set_*; any thread may set
// `undone`. The journal records the same as events; the ledger is the part that the kernel needs to
// decide.
#pragma once
#include "base/json/json.h"
#include "script/journal/fold/fold.h"

#include <stdbool.h>
#include <stdint.h>

struct entry {
    int64_t number;
    int64_t mark;    // marks its objects; the number of the effect that it repeats
    int64_t ordinal; // counts the effect calls in its cell's execution, or in its branch of it
    char *source, *branch, *binding, *arguments, *what; // as in the event; branch "": none
    char *cell;    // result of an earlier kernel; NULL: this kernel's entry
    cJSON *result; // NULL: no outcome
    cJSON *made;   // what was done before a failure midway; or NULL; replaced by the result
    bool midway;   // something was announced or done, and not taken back, whatever an error says
    bool masked;   // masking changed the binding's result
    bool failed, undone;
    bool undoable;  // its binding has an undo
    bool tidied;    // everything it made was removed again; its result stays valid
    bool announces; // its binding announces requests: without `made`, no request was sent
    bool fresh;     // done or verified since this kernel started
};

typedef struct ledger ledger;
ledger *ledger_new(void);
void ledger_free(ledger *l);
// Takes over the entries of a journal; `undoable` tells whether a binding has an undo.
void ledger_load(
    ledger *l, const fold *f, bool (*undoable)(void *arg, const char *binding), void *arg);
// Counts as verified what these cells (ids, NULL-terminated) did: they do not run again.
void ledger_keep(ledger *l, const char *const *cells);
// The same for a branch of the cell with this source, and for branches below it.
void ledger_keep_branch(ledger *l, const char *source, const char *key);
// Adds an entry, numbered, marked with its number, and fresh; copies its strings.
struct ledger_key {
    const char *source, *branch;
    int64_t ordinal;
    const char *binding, *arguments;
};
struct entry *ledger_add(
    ledger *l, const struct ledger_key *key, const char *what, bool undoable, bool announces);
// The entry of the same call in an earlier kernel that was neither verified nor done again; NULL:
// none.
struct entry *ledger_find(ledger *l, const struct ledger_key *key);
void entry_set_fresh(ledger *l, struct entry *e);
// Sets the result. Takes result and made; made NULL: nothing.
void entry_set_result(ledger *l, struct entry *e, cJSON *result, bool masked);
void entry_set_made(ledger *l, struct entry *e, cJSON *made);
void entry_set_failed(ledger *l, struct entry *e);
void entry_set_tidied(ledger *l, struct entry *e);
void entry_set_undone(ledger *l, struct entry *e);
bool entry_is_undone(ledger *l, const struct entry *e);
// What the entry recorded for undo: its result, or what was made midway; NULL: only the intent.
const cJSON *entry_recorded(const struct entry *e);
size_t ledger_left(ledger *l);
// Forgets everything that was left: it went with a private sandbox.
void ledger_forget_left(ledger *l);
// Is `is` true for any entry of this cell's source?
bool ledger_any(
    ledger *l, const char *source, bool (*is)(void *arg, const struct entry *e), void *arg);
// Has an entry after this one changed or deleted the object with this uid? `set` as in
// call_changed_later.
bool ledger_changed_later(ledger *l, const struct entry *e, const char *uid, cJSON *set);
// Calls fn for each entry that is left over and not fresh, newest first, as long as fn returns 0.
// Returns fn's last value.
int ledger_each_stale(ledger *l, int (*fn)(void *arg, struct entry *e), void *arg);
// Marks entries whose result has this uid as undone; calls fn for each, with the lock held.
void ledger_gone(ledger *l, const char *uid, void (*fn)(void *arg, struct entry *e), void *arg);
