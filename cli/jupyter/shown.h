// SPDX-License-Identifier: MIT
// What cells print and show, as messages to Jupyter: the same that an exported .ipynb has. It knows
// for each cell the request that ran it last, so that live displays go on below the right cell. The
// caller owns it.
#pragma once
#include "cli/jupyter/peer.h"
#include "script/journal/fold/fold.h"
#include "script/protocol/message.h"

typedef struct shown shown;
// Both are borrowed. spool_dir: of the run; run: its name.
shown *shown_new(peer *p, const fold *f, const char *run, const char *spool_dir);
void shown_free(shown *s); // NULL is fine

// The cell with this id begins to run for a request with this header; NULL: nothing of it is shown.
// count: of its execution.
void shown_begin(shown *s, const char *id, const cJSON *header, int64_t count);
// It has ended. Returns the last value that it has shown as its result, as text; new, or NULL.
char *shown_end(shown *s);
// An event, which the fold has taken already; or long work, which it does not take.
void shown_event(shown *s, message_type type, const cJSON *event);
// A line on stderr of the running cell.
void shown_warn(shown *s, const char *text);
