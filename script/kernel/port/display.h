// SPDX-License-Identifier: MIT
// What cells leave to look at, and its live updates: at most ten a second, the later state of a row
// in place of the earlier. A live display belongs to the kernel from display_new until
// display_close.
//
// The functions that feed one are in binding.h. They may be called on both threads: what comes from
// the Lua thread is posted to the loop's, where the display lives.
#pragma once
#include "script/kernel/session/state.h"

// Emits the display; takes data. Returns its number; 0 unless it is live. The loop may end it at
// once.
int64_t display_new(kernel *k, const char *in_cell, cJSON *data, bool live);
// The same for a binding, which keeps the pointer until it closes it; NULL unless it is live.
display *display_new_held(kernel *k, const char *in_cell, cJSON *data, bool live);
// The same for the value of a cell's last expression.
void display_result(kernel *k, const char *in_cell, cJSON *data);
// A live log with a spool of its own; see call_log.
display *display_new_log(kernel *k, const char *in_cell, const char *title, err *e);
bool display_is_live(const kernel *k, int64_t id);
// For Lua, which holds numbers: replaces the data (NULL: leaves it) of a live display, and closes
// it; one that is closed already, or a binding's, is left alone. Takes data.
void display_update(kernel *k, int64_t id, cJSON *data, bool close);
// On the loop's thread: how many are live; end them all, but for those of a call that does not come
// back: they are said to be closed.
size_t displays_live(const kernel *k);
void displays_end(kernel *k);
// Ends those of a cell that go on by themselves; what a running call feeds is the call's to end.
void displays_end_of(kernel *k, const char *in_cell);
// Ends one. Errors: ERR_NOT_FOUND when it is not live.
int display_stop(kernel *k, int64_t id, err *e);
