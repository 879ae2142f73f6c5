// SPDX-License-Identifier: MIT
// The displays that cells leave, and their live updates: at most ten a second, where a row's later
// state replaces an earlier one. It owns a live display from displays_add until it is closed.
// display.h has the functions that feed one.
// Any thread may add a display. It lives on the loop's thread; changes from other threads are
// posted to it.
// A peek is a display that one client has opened for itself. Its events are sent only to this
// client, and it is not part of the run. It stays until the client drops it, disconnects, or pins
// it below its cell.
#pragma once
#include "script/kernel/port/display.h"
#include "script/kernel/port/port.h"

typedef struct displays displays;
// All are called on the loop's thread.
struct displays_ops {
    // tell sends an event, already masked, to one client; takes the event. Below: has the client
    // read most of its events? A client that is gone counts as having read them.
    void (*tell)(void *arg, int64_t client, cJSON *event);
    bool (*keeps_up)(void *arg, int64_t client);
    // A peek is dropped.
    void (*dropped)(void *arg, int64_t id);
    // A display's source was reached, or cannot be; see display_away.
    void (*away)(void *arg, const err *reason, int64_t heard_wall);
};

displays *displays_new(loop *l, port *p, const struct displays_ops *ops, void *arg);
void displays_free(displays *all);
// On the loop's thread: does anybody watch, or a cell run? If not, each display is recorded only as
// often as 16 MiB a day allow, at most every ten seconds; changes in between are merged. A log
// keeps 256 MiB more, and says how much it has left out. The next client gets everything at once.
// At the start somebody watches. looked_at: a person or a program has joined
// (display_is_looked_at).
void displays_attend(displays *all, bool attended, bool looked_at);
// Numbers up to this one were used by an earlier kernel of the same run.
void displays_skip(displays *all, int64_t id);

// Emits the display; takes data. branch: the name of the cell's branch that made it; NULL: none.
// Returns its number, or 0 unless it is live. The loop's thread may end it at once.
int64_t displays_add(
    displays *all, const char *in_cell, const char *branch, cJSON *data, bool live);
// The same for a binding, which may use the pointer until it closes the display. NULL unless it is
// live. client: the client of a peek; 0: the display is for everybody.
display *displays_add_held(
    displays *all, int64_t client, const char *in_cell, const char *branch, cJSON *data, bool live);
// The same for the value of a cell's last expression.
void displays_add_result(displays *all, const char *in_cell, const char *branch, cJSON *data);
// A live log with its own spool: the bytes of display_text are spooled and shown as the display
// itself. client: whose peek it is; 0: everybody's. folded: below the cell only its size is shown.
display *displays_add_log(displays *all, int64_t client, const char *in_cell, const char *branch,
    const char *title, bool folded, err *e);
// For Lua, which has numbers: replaces the data of a live display (NULL: keeps them). Closes it
// now, or at the end of an execution if it is complete then. Does nothing to a display that is
// closed, or a binding's. Takes data.
enum display_end { DISPLAY_GOES_ON, DISPLAY_COMPLETE, DISPLAY_CLOSES };
void displays_update(displays *all, int64_t id, cJSON *data, enum display_end end);

// On the Lua thread: what trainings in a branch of a cell, and below it, have shown last, {id of a
// display: its progress}, new; NULL if nothing has changed since `version`, which is then updated.
// The first call begins to follow the branch; its answer has everything that was shown before.
cJSON *displays_followed(displays *all, const char *in_cell, const char *branch, int64_t *version);
void displays_unfollow(displays *all, const char *in_cell, const char *branch);

// On the loop's thread:
bool displays_any(const displays *all);    // is one live, peeks included?
size_t displays_live(const displays *all); // how many are live; peeks are not counted
bool displays_keep(const displays *all);   // does one of them keep the kernel alive?
// At the end of a headless run: lets displays read what there is, and close. Those of the cell
// `awaited` (NULL: none) that end by themselves continue. `done` is called when all of these have
// ended, perhaps at once; other displays are not waited for.
void displays_drain(displays *all, const char *awaited, void (*done)(void *arg), void *arg);
// Ends all displays, and every later one. A display whose call never returns is only reported as
// closed.
void displays_end(displays *all);
// Ends the displays of a cell that continue by themselves; a running call ends its own.
void displays_end_of(displays *all, const char *in_cell);
// Call it when an execution has ended: closes the displays that are complete.
void displays_end_complete(displays *all);
// Ends one display; drops a peek. ERR_NOT_FOUND if it is not live, or another client's.
int displays_stop(displays *all, int64_t client, int64_t id, err *e);

// Peeks, on the loop's thread. This one adds a text that does not change; takes data.
int64_t displays_add_peek(displays *all, int64_t client, const char *in_cell, cJSON *data);
// The cell below which a client's peek would be pinned, borrowed; NULL: the client has no such
// peek.
const char *displays_peek_cell(const displays *all, int64_t client, int64_t id);
// Pins the peek: it becomes an ordinary display below that cell, and continues.
void displays_pin(displays *all, int64_t client, int64_t id);
// Drops the peeks of clients that have gone.
void displays_drop_peeks(displays *all, bool (*is_there)(void *arg, int64_t client), void *arg);
