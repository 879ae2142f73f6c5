// SPDX-License-Identifier: MIT
// What a view asks the kernel for. Each says it when there is none; what the kernel does becomes
// events. Cells are [from, to).
#pragma once
#include "base/json.h"
#include "tui/bench/slots.h"

// Is there a kernel (change: one that takes changes)? Else it says why not.
bool remote_ready(bench *b, bool change);
void remote_flush(bench *b);                           // what was typed and is not sent yet
bool remote_execute(bench *b, size_t from, size_t to); // false: none of them can be executed
void remote_clear(bench *b, size_t from, size_t to);   // their outputs
void remote_interrupt(bench *b);
// Asks a display to do something, with a row of it ("uid", may be NULL). `done` gets a good reply
// (an error is said already) while the workbench lives, whatever view is on top by then.
void remote_act(bench *b, int64_t display, const char *action, const char *row,
    void (*done)(bench *b, const cJSON *reply));
// A peek, which only this client has: is not looked at any more; is to become an output below its
// cell (false: it is said why not).
void remote_drop(bench *b, int64_t display);
bool remote_pin(bench *b, int64_t display);
// Asks about the name before the cursor: its completions, or what it is, which come up when the
// reply does. false: there is no name, or the cell is not Lua.
bool lookup_ask(bench *b, struct slot *s, bool inspect);
