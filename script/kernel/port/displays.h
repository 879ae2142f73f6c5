// SPDX-License-Identifier: MIT
// The displays that cells leave, and their live updates: at most ten a second, where a row's later
// state replaces an earlier one. A live display belongs to this from displays_add until it is
// closed. display.h has the functions that feed one.
//
// Any thread may add one. It lives on the loop's thread, to which other threads' changes are
// posted.
//
// A peek is a display that one client has opened for itself. Its events are sent only to this
// client, and it is not part of the run. It stays until the client drops it, has gone, or pins it
// below its cell.
#pragma once
#include "script/kernel/port/display.h"
#include "script/kernel/port/port.h"

typedef struct displays displays;
// All are called on the loop's thread.
struct displays_ops {
    // tell sends an event, already masked, to one client; it takes the event. Below: has the client
    // read most of its events? A client that has gone has.
    void (*tell)(void *arg, int64_t client, cJSON *event);
    bool (*keeps_up)(void *arg, int64_t client);
    // A peek is dropped.
    void (*dropped)(void *arg, int64_t id);
    // A display's source was reached, or cannot be; see display_away.
    void (*away)(void *arg, const err *reason, int64_t heard_wall);
};

displays *displays_new(loop *l, port *p, const struct displays_ops *ops, void *arg);
void displays_free(displays *all);
// On the loop's thread: does anybody look, or a cell run? Else a display is recorded as often as 16
// MiB a day allow, at most every ten seconds; what changes in between is merged. A log keeps 256
// MiB more, and says how much it has left out. Who comes gets all at once. At first somebody does.
void displays_attend(displays *all, bool attended);
// An earlier kernel of the same run has used the numbers up to this one.
void displays_skip(displays *all, int64_t id);

// Emits the display; takes data. branch: the name of the branch of the cell that made it; NULL:
// none. Returns its number, or 0 unless it is live. The loop's thread may
// end it at once.
int64_t displays_add(
    displays *all, const char *in_cell, const char *branch, cJSON *data, bool live);
// The same for a binding, which may use the pointer until it closes the display. NULL unless it is
// live. client: whose peek it is, if it is live; 0: everybody's.
display *displays_add_held(
    displays *all, int64_t client, const char *in_cell, const char *branch, cJSON *data, bool live);
// The same for the value of a cell's last expression.
void displays_add_result(displays *all, const char *in_cell, const char *branch, cJSON *data);
// A live log with its own spool: the bytes of display_text are spooled and shown as the display
// itself. client: whose peek it is; 0: everybody's. folded: below the cell stands only how much it
// is.
display *displays_add_log(displays *all, int64_t client, const char *in_cell, const char *branch,
    const char *title, bool folded, err *e);
// For Lua, which has numbers: replaces the data of a live display (NULL: leaves it), and closes it:
// now, or as soon as an execution ends and it is still complete. A display that is closed already,
// or a binding's, is left alone. Takes data.
enum display_end { DISPLAY_GOES_ON, DISPLAY_COMPLETE, DISPLAY_CLOSES };
void displays_update(displays *all, int64_t id, cJSON *data, enum display_end end);

// On the Lua thread: what trainings in a branch of a cell, and below it, have shown last, {id of a
// display: its progress}, new; NULL when that is what it was at `version`, which is then set. The
// first call begins to follow the branch; all that was shown before a call is in its answer.
cJSON *displays_followed(displays *all, const char *in_cell, const char *branch, int64_t *version);
void displays_unfollow(displays *all, const char *in_cell, const char *branch);

// On the loop's thread:
size_t displays_live(const displays *all); // how many are live; peeks are not counted
bool displays_keep(const displays *all);   // does one of them keep the kernel?
// At the end of a headless run: has displays read what there is by now, and close; those of the
// cell `awaited` (NULL: none) that end by themselves go on. `done` is called when all of them have
// ended, perhaps at once; other displays are not waited for.
void displays_drain(displays *all, const char *awaited, void (*done)(void *arg), void *arg);
// Ends all displays, and every later one. Those of a call that never returns are only reported as
// closed.
void displays_end(displays *all);
// Ends those displays of a cell that go on by themselves; a running call ends its own.
void displays_end_of(displays *all, const char *in_cell);
// An execution has ended: closes those that are complete.
void displays_end_complete(displays *all);
// Ends one display; a peek is dropped. ERR_NOT_FOUND when it is not live, or another client's.
int displays_stop(displays *all, int64_t client, int64_t id, err *e);

// Peeks, on the loop's thread. Adds a text that does not change; takes data.
int64_t displays_add_peek(displays *all, int64_t client, const char *in_cell, cJSON *data);
// The cell below which a client's peek would be pinned, borrowed; NULL: the client has no such
// peek.
const char *displays_peek_cell(const displays *all, int64_t client, int64_t id);
// Pins it: it becomes a usual display below that cell, and goes on.
void displays_pin(displays *all, int64_t client, int64_t id);
// Drops the peeks of clients that have gone.
void displays_drop_peeks(displays *all, bool (*is_there)(void *arg, int64_t client), void *arg);
