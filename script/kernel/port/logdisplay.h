// SPDX-License-Identifier: MIT
// A log that is a display: its bytes are masked and spooled, and its bundle says how much there is.
// It belongs to its display, on the loop's thread.
//    feed ──mask──> spool (for views)
//            └───> the last lines (its final text)
#pragma once
#include "base/err.h"
#include "base/json/json.h"
#include "script/journal/file/writer.h"
#include "script/journal/mask/mask.h"

typedef struct log_display log_display;

// Makes the log of the display with this number; its spool is beside the journal. folded: its text
// is only its size. On any thread, before others know the log.
log_display *log_display_new(
    const journal *j, int64_t number, const char *title, bool folded, mask *m, err *e);
void log_display_free(log_display *l);
// Frees a log to which nothing refers; also removes its spool.
void log_display_discard(log_display *l);
// Adds bytes. If they cannot be kept, they are dropped, and the note says why.
void log_display_add(log_display *l, const char *bytes, size_t n);
// From now on keeps at most so many more bytes; 0: all. Adds a line to the log about the bytes left
// out until now.
void log_display_limit(log_display *l, uint64_t more);
void log_display_note(log_display *l, const char *note);
// No more bytes will come.
void log_display_end(log_display *l);
// The path of its spool, new.
char *log_display_file(const log_display *l);
cJSON *log_display_bundle(const log_display *l);
