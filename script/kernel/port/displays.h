// SPDX-License-Identifier: MIT
// The displays that cells leave, and their live updates: at most ten a second, where a row's later
// state replaces an earlier one. A live display belongs to this from displays_add until it is
// closed. display.h has the functions that feed one.
//
// They may be added from any thread: what other threads do to one is posted to the loop's, where it
// lives.
//
// A peek is a display of one client alone: what he has opened to look at. It is told to him and to
// nobody else, is no part of the run, and stays until he drops it, is gone, or pins it below its
// cell.
#pragma once
#include "script/kernel/port/display.h"
#include "script/kernel/port/port.h"

typedef struct displays displays;
// All are called on the loop's thread.
struct displays_ops {
    // An event for one client alone, masked already, which it takes; and has he read most of what
    // he was told? One who is gone has.
    void (*tell)(void *arg, int64_t client, cJSON *event);
    bool (*keeps_up)(void *arg, int64_t client);
    // What feeds a display was heard, or cannot be; see display_away.
    void (*away)(void *arg, const err *reason, int64_t heard_wall);
};

displays *displays_new(loop *l, port *p, const struct displays_ops *ops, void *arg);
void displays_free(displays *all);
// An earlier kernel of the same run has used the numbers up to this one.
void displays_skip(displays *all, int64_t id);

// Emits the display; takes data. Returns its number, or 0 unless it is live. The loop's thread may
// end it at once.
int64_t displays_add(displays *all, const char *in_cell, cJSON *data, bool live);
// The same for a binding, which may use the pointer until it closes the display. NULL unless it is
// live.
display *displays_add_held(displays *all, const char *in_cell, cJSON *data, bool live);
// The same for the value of a cell's last expression.
void displays_add_result(displays *all, const char *in_cell, cJSON *data);
// A live log with a spool of its own: what display_text brings is spooled, and shown as the display
// itself. client: whose peek it is; 0: it is everybody's.
display *displays_add_log(
    displays *all, int64_t client, const char *in_cell, const char *title, err *e);
// For Lua, which holds numbers: replaces the data (NULL: leaves it) of a live display, and closes
// it; one that is closed already, or a binding's, is left alone. Takes data.
void displays_update(displays *all, int64_t id, cJSON *data, bool close);

// On the loop's thread:
size_t displays_live(const displays *all); // how many; peeks are not counted
// Ends all, and from now on whatever comes: but for those of a call that does not come back, which
// are only said to be closed.
void displays_end(displays *all);
// Ends those displays of a cell that go on by themselves; a running call ends its own.
void displays_end_of(displays *all, const char *in_cell);
// Ends one, which of a peek is dropping it. Errors: ERR_NOT_FOUND when it is not live, or another
// client's.
int displays_stop(displays *all, int64_t client, int64_t id, err *e);

// Peeks, on the loop's thread. A text that does not change; takes data.
int64_t displays_add_peek(displays *all, int64_t client, const char *in_cell, cJSON *data);
// The cell that a client's peek would stand below, borrowed; NULL: he has no such peek.
const char *displays_peek_cell(const displays *all, int64_t client, int64_t id);
// It becomes a display as all are, below that cell, and goes on.
void displays_pin(displays *all, int64_t client, int64_t id);
// Drops those of clients that are not there any more.
void displays_drop_peeks(displays *all, bool (*is_there)(void *arg, int64_t client), void *arg);
