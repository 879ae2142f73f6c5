// SPDX-License-Identifier: MIT
// Feeds a live display, the view that a call leaves below its cell: the functions for bindings. A
// binding may use its pointer until display_close. The display itself belongs to the kernel's
// displays (displays.h), and outlives the call that made it.
// `data` is a MIME bundle that has "text/plain". Unless noted, functions may be called from the
// loop's thread and from the cells' thread.
#pragma once
#include "base/err.h"
#include "base/json/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct display display;

// On the loop's thread: makes another live display below the same cell.
display *display_beside(const display *d, cJSON *data);
int64_t display_id(const display *d);
void display_replace(display *d, cJSON *data); // replaces all its data
// Adds or replaces rows by uid: an object per row {"uid": …, cells…}; a row with "deleted": true is
// removed. Changes are sent at most 10 times a second, and at most a thousand rows a second; a
// row's later state replaces an earlier one that was not sent. So fast changes cost the journal no
// more than that. Readers keep at most ROWSET_TABLE rows.
void display_rows(display *d, cJSON *rows);
// Changes {"note", "more"} of the table as a whole; a null removes one.
void display_table(display *d, cJSON *fields);
// Adds text: for a log, more of the log (on the loop's thread); for other displays, output of their
// cell.
void display_text(display *d, const char *bytes, size_t n);
// The file in which a log is kept, new; NULL: it is not a log. Call it before the log is closed.
char *display_file(const display *d);
// On the loop's thread, before a log is closed: sets why the log is not complete.
void display_note(display *d, const char *note);
void display_close(display *d, cJSON *last_data); // last_data may be NULL
// On the loop's thread: the display's source cannot be reached (code ERR_NONE: it can again).
// heard_wall: when it was last reached, wall ns, 0: never. For the status line; the display's data
// say it, too.
void display_away(display *d, const err *reason, int64_t heard_wall);
// fn is called on the loop's thread when the run ends while the display is live: stop feeding it,
// and close it. now: makes the data that it shows now, for a peek that is pinned; NULL: the display
// is no peek, or a log, or does not change.
void display_on_end(display *d, void (*fn)(void *arg), cJSON *(*now)(void *arg), void *arg);
// On the loop's thread: fn is called once when a headless run has ended well while the display is
// live: read what there is, and close it. ends: the display ends by itself. Then a display of the
// last cell may do that, within that cell's time limit.
void display_on_drain(display *d, void (*fn)(void *arg), void *arg, bool ends);
// On the loop's thread: has anybody joined who may see it? A headless run's output counts. Without
// anybody, a source that costs others something is not asked.
bool display_is_looked_at(const display *d);
// On the loop's thread: keeps an unused kernel alive as long as the display is live.
void display_keeps_kernel(display *d);
