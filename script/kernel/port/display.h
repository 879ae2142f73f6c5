// SPDX-License-Identifier: MIT
// Feeding a live display, the view that a call leaves below its cell: what bindings see of it.
// Whoever was given one keeps the pointer until display_close; the display itself belongs to the
// kernel's displays (displays.h), and outlives the call that made it.
//
// `data` is a MIME bundle that has "text/plain". Where nothing else is said, a function may be
// called from the loop's thread and from that of cells.
#pragma once
#include "base/err.h"
#include "base/json.h"

#include <stddef.h>
#include <stdint.h>

typedef struct display display;

// On the loop's thread: another live one below the same cell.
display *display_beside(const display *d, cJSON *data);
int64_t display_id(const display *d);
void display_replace(display *d, cJSON *data); // the whole of it
// Rows by uid: an object per row {"uid": …, cells…}; a row with "deleted": true goes. Sent at most
// 10 times a second, and of many rows a thousand a second, with later states of a row replacing
// earlier ones: what changes fast costs the journal no more than that. ROWSET_TABLE rows at most
// are kept by those who read them.
void display_rows(display *d, cJSON *rows);
// What has changed of its table as a whole, {"note", "more"}; a null takes one back.
void display_table(display *d, cJSON *fields);
// Text that belongs to it: of a log, more of it (on the loop's thread); of others, output of their
// cell.
void display_text(display *d, const char *bytes, size_t n);
// On the loop's thread, before a log is closed: why it is not all of it.
void display_note(display *d, const char *note);
void display_close(display *d, cJSON *last_data); // last_data may be NULL
// On the loop's thread: what feeds it cannot be heard (code ERR_NONE: is heard again), and when it
// was last, wall ns, 0: never. For the status line; the display itself says it in its data.
void display_away(display *d, const err *reason, int64_t heard_wall);
// Called on the loop's thread when the run ends while the display is live: stop feeding, and close.
void display_on_end(display *d, void (*fn)(void *arg), void *arg);
