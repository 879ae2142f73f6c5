// SPDX-License-Identifier: MIT
// Writes the journal of one run: append-only JSON lines in FOLDER/.firesteel/RUN.jsonl, where RUN
// is name-date-time-4 hex digits. One thread uses it; it owns its descriptor and borrows the mask.
//
// An event is masked, numbered, stamped and appended before anyone may be sent it; what reached the
// file survives kill −9, what was synced survives a power cut.
#pragma once
#include "base/err.h"
#include "base/json.h"
#include "script/journal/mask.h"

#include <stddef.h>
#include <stdint.h>

typedef struct journal journal;

struct journal_spec {
    const char *folder; // the working folder; .firesteel is made in it, with its own .gitignore
    const char *name;   // the notebook's name without folder and extension
    const char *run;    // the run's name when it is decided already (journal_run_name), else NULL
    mask *mask;         // may be NULL
};
enum { JOURNAL_FORMAT = 1 };
// Errors: ERR_FORBIDDEN for a folder that cannot be written, ERR_NO_SPACE.
journal *journal_create(const struct journal_spec *spec, err *e);
// Continues a run: a torn last line is cut off, numbering goes on. It is locked against a second
// writer: ERR_CONFLICT naming the process that holds it.
journal *journal_continue(const char *folder, const char *run, mask *secrets, err *e);
void journal_close(journal *j); // syncs; NULL is fine

const char *journal_run(const journal *j);
const char *journal_path(const journal *j);
const char *journal_spool_dir(const journal *j); // .firesteel/RUN, not made yet
uint64_t journal_seq(const journal *j);          // of the last record
// "mnist-20260102-030405-1a2b"; what is not [A-Za-z0-9._-] in name becomes "-".
char *journal_run_name(const char *name, int64_t wall_ns);
char *journal_run_notebook(const char *run); // its name in that; new

// Appends `event` (its "type" set; it gains seq, wall and mono; it stays the caller's). Returns the
// line as written, with its newline, borrowed until the next call: what clients are sent. Ledger
// entries and the end are synced (fdatasync), with all before them; the first record and ends of
// cells soon after, in the background; others reach the file only.
// NULL: ERR_NO_SPACE or ERR_IO; the line is cut off again, and the run should stop. After a sync
// that failed none succeeds: ledger entries are refused for good.
const char *journal_append(journal *j, cJSON *event, size_t *n, err *e);
int journal_sync(journal *j, err *e);
// Has a sync in the background failed? Then what clients were told may not be on the disk, and the
// run should stop; after that its end is accepted without a sync.
int journal_check(journal *j, err *e);
// Brings spools to the disk, with the journal that refers to them (syncer_give).
struct syncer *journal_syncer(const journal *j);
