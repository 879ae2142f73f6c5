// SPDX-License-Identifier: MIT
// Reads a journal record by record, while it is written or long after. It owns its descriptor.
// A last line without a newline is still being written, or was cut by a crash; neither is an error.
#pragma once
#include "base/err.h"
#include "base/json.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct reader reader;

reader *reader_open(const char *path, err *e);
void reader_close(reader *r); // NULL is fine
// From now on lines for which this is true may be left out; it is called with each but the first,
// which may be damaged. The last one of the file, and that before a record "resumed", are not left
// out.
void reader_skip(reader *r, bool (*skips)(const char *line, size_t n));
// Returns 1 and a new record; 0 at the present end (call again when the file may have grown); -1:
// ERR_CORRUPT "RUN.jsonl line 12: …" — the line is skipped, the next call goes on after it;
// ERR_INVALID for a newer format version, or a first record that is not one.
int reader_next(reader *r, cJSON **record, err *e);
// The line of the last record, with its newline; borrowed until the next call.
const char *reader_line(const reader *r, size_t *n);
size_t reader_line_number(const reader *r); // 1-based
bool reader_torn(const reader *r);          // are there bytes after the last newline?

// The journals of a working folder, newest first (by the start of their runs), as a NULL-terminated
// list of runs' names. If there is no folder, the list is empty.
char **journal_list(const char *folder, err *e);
// The same for who may know when a run began (`wall` of its first record; else NULL).
typedef const char *journal_wall(const char *run, const void *arg);
char **journal_list_by(const char *folder, journal_wall *wall, const void *arg, err *e);
char *journal_file(const char *folder, const char *run); // FOLDER/.firesteel/RUN.jsonl, new
// Which of the names a word means: the whole, else the beginning of one, else the end of one, from
// behind a "-" on (the "ab1c" of train-20260102-030405-ab1c). *hits: how many it could mean; only
// with 1 the place is that of a name.
size_t journal_match(const char *const *runs, size_t n, const char *word, size_t *hits);
bool journal_means_newest(const char *word); // NULL, "last", "newest"
// ERR_USAGE for "": a script whose variable is not set means some run, not the newest.
int journal_check_word(const char *word, err *e);
// Finds a run by such a word. Verbs take more of them: runs_pick, in script/journal/runs.h.
char *journal_find(const char *folder, const char *name, err *e);
// The record with which a journal begins, new; NULL: it cannot be read.
cJSON *journal_first(const char *path);
// Was anything executed in this run? In a notebook that was only opened in the workbench, nothing
// was. What still goes on, and what cannot be read, counts.
bool journal_ran(const char *folder, const char *run);
// Is a process writing it now? (The journal's lock tells; when a process is killed, its lock goes,
// too.)
bool journal_is_written(const char *path);
