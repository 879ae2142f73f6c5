// SPDX-License-Identifier: MIT
// Reads a journal record by record, while it is written or long after. It owns its descriptor. A
// last line without a newline is still being written, or was cut by a crash; neither is an error.
#pragma once
#include "base/err.h"
#include "base/json/json.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct reader reader;

reader *reader_open(const char *path, err *e);
void reader_close(reader *r); // NULL is fine
// Lines for which this returns true may be skipped from now on. It is called with each line but the
// first, which may be damaged. The last line of the file, and the line before a record "resumed",
// are never skipped.
void reader_skip(reader *r, bool (*skips)(const char *line, size_t n));
// Returns 1 and a new record; 0 at the present end (call again when the file may have grown); -1:
// ERR_CORRUPT "RUN.jsonl line 12: …" — the line is skipped, and the next call continues after it;
// ERR_INVALID for a newer format version, or a first record that is invalid.
int reader_next(reader *r, cJSON **record, err *e);
// The line of the last record, with its newline; borrowed until the next call.
const char *reader_line(const reader *r, size_t *n);
size_t reader_line_number(const reader *r); // 1-based
bool reader_torn(const reader *r);          // are there bytes after the last newline?

// The journals of a working folder, newest first (by the start of their runs), as a NULL-terminated
// list of runs' names. If there is no folder, the list is empty.
char **journal_list(const char *folder, err *e);
// Like journal_list, for a caller that knows when runs began. It returns the `wall` of the run's
// first record, or NULL if it does not know; then the journal is read.
typedef const char *journal_wall(const char *run, const void *arg);
char **journal_list_by(const char *folder, journal_wall *wall, const void *arg, err *e);
char *journal_file(const char *folder, const char *run); // FOLDER/.firesteel/RUN.jsonl, new
// Which of the names a word means: a whole name; else the beginning of one; else the end of one,
// after a "-" (the "ab1c" of train-20260102-030405-ab1c). *hits: the number of matches; the
// returned index is valid only if it is 1.
size_t journal_match(const char *const *runs, size_t n, const char *word, size_t *hits);
bool journal_means_newest(const char *word); // NULL, "last", "newest"
// ERR_USAGE for "": a script whose variable is unset means a particular run, not the newest.
int journal_check_word(const char *word, err *e);
// Finds a run by such a word. Verbs accept more words: runs_pick, in script/journal/runs/runs.h.
char *journal_find(const char *folder, const char *name, err *e);
// The record with which a journal begins, new; NULL: it cannot be read.
cJSON *journal_first(const char *path);
// Was anything executed in this run? Not if a notebook was only opened in the workbench. A run that
// still goes on, or cannot be read, counts as yes.
bool journal_ran(const char *folder, const char *run);
// Is a process writing it now? (The journal's lock says; it ends with the process.)
bool journal_is_written(const char *path);
