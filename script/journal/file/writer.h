// SPDX-License-Identifier: MIT
// Writes the journal of one run: append-only JSON lines in FOLDER/.firesteel/RUN.jsonl, where RUN
// is name-date-time-4 hex digits. One thread uses it; it owns its descriptor and borrows the mask.
// An event is masked, numbered, stamped and appended before it is sent to anyone. Records in the
// file survive kill −9; synced records survive a power cut.
#pragma once
#include "base/err.h"
#include "base/json/json.h"
#include "script/journal/mask/mask.h"

#include <stddef.h>
#include <stdint.h>

typedef struct journal journal;

struct journal_spec {
    const char *folder; // the working folder; .firesteel is made in it, with a .gitignore
    const char *name;   // the notebook's name without folder and extension
    const char *run;    // the run's name if it is given (journal_run_name), else NULL
    mask *mask;         // may be NULL
};
enum { JOURNAL_FORMAT = 1 };
// Errors: ERR_FORBIDDEN for a folder that cannot be written, ERR_NO_SPACE.
journal *journal_create(const struct journal_spec *spec, err *e);
// Continues a run: cuts off a torn last line, and continues the numbering. It is locked against a
// second writer: ERR_CONFLICT names the process that has the lock.
journal *journal_continue(const char *folder, const char *run, mask *secrets, err *e);
void journal_close(journal *j); // syncs first; NULL is fine

const char *journal_run(const journal *j);
const char *journal_path(const journal *j);
const char *journal_spool_dir(const journal *j); // .firesteel/RUN, not made yet
uint64_t journal_seq(const journal *j);          // number of the last record
// "mnist-20260102-030405-1a2b"; characters of name other than [A-Za-z0-9._-] become "-".
char *journal_run_name(const char *name, int64_t wall_ns);
char *journal_run_notebook(const char *run); // the notebook's name in it; new

// Appends `event`, which must have its "type", gets seq, wall and mono, and stays the caller's.
// Returns the written line with its newline, to be sent to clients; it is borrowed until the next
// call. Ledger entries and the end are synced (fdatasync), with everything before them. The first
// record and ends of cells are synced soon, in the background. Other records are only written to
// the file. NULL: ERR_NO_SPACE or ERR_IO; the line is cut off again, and the run should stop. After
// a failed sync no later one succeeds: ledger entries are refused for good.
const char *journal_append(journal *j, cJSON *event, size_t *n, err *e);
// Is the event what cells print and show? On a full disk that is refused first.
bool journal_is_output(const cJSON *event);
// Between these two, lines are not written and ledger entries not synced one by one: journal_commit
// writes and syncs all at once. (An end does not wait for that.) Until it has returned the lines
// (borrowed until the next call), do not send, or act on, anything that was appended. NULL:
// everything since journal_group is cut off again; the rest is as for journal_append.
void journal_group(journal *j);
const char *journal_commit(journal *j, size_t *n, err *e);
int journal_sync(journal *j, err *e);
// Has a sync in the background failed? Then clients may have seen events that are not on the disk,
// and the run should stop; afterwards its end is accepted without a sync.
int journal_check(journal *j, err *e);
// Syncs spools to the disk, with the journal that refers to them (syncer_give).
struct syncer *journal_syncer(const journal *j);
