// SPDX-License-Identifier: MIT
// The requests of views to the kernel. Each shows a notice when there is no kernel; the effects
// come back as events. Cells are [from, to).
#pragma once
#include "base/json/json.h"
#include "tui/bench/slots.h"

// Is there a kernel (change: one that accepts changes)? If not, a notice says why.
bool remote_ready(bench *b, bool change);
void remote_flush(bench *b);                           // sends what was typed and is not sent yet
bool remote_execute(bench *b, size_t from, size_t to); // false: none of them can be executed
// Those that do not hold any more. Returns how many they are, -1: they cannot be executed now.
int remote_execute_stale(bench *b);
void remote_clear(bench *b, size_t from, size_t to); // clears their outputs
void remote_interrupt(bench *b);
// Asks for a private sandbox of the kernel; processes: its pods are plain processes.
void remote_sandbox(bench *b, bool processes);
// Asks a display to act on one of its rows ("uid", may be NULL); words: what was typed with it,
// NULL without. `done` gets a successful reply (an error is shown already) as long as the workbench
// lives, whichever view is then on top.
void remote_act(bench *b, int64_t display, const char *action, const char *row, const char *words,
    void (*done)(bench *b, const cJSON *reply));
// The same for several rows, an array of uids; takes it.
void remote_act_all(bench *b, int64_t display, const char *action, cJSON *rows, const char *words,
    void (*done)(bench *b, const cJSON *reply));
// The table of variables, and what is done to one of its rows: shows the value whole, goes to the
// cell that has set it. The last one: all of them, or without functions and the like.
void variables_open(bench *b);
void variables_enter(bench *b, const char *uid);
void variables_go_to(bench *b, const char *uid);
void variables_turn(bench *b);
// A peek, which only this client has: drops it; below: makes it an output below its cell (false: a
// notice says why not).
void remote_drop(bench *b, int64_t display);
bool remote_pin(bench *b, int64_t display);
// Asks about the name before the cursor, for completions or a description, which appear with the
// reply. false: there is no name, or the cell is not Lua.
bool lookup_ask(bench *b, struct slot *s, bool inspect);
// Asks for the names of the API that begin with what is typed, one question at a time; the reply is
// that of `complete`, NULL when the kernel has gone. false: there is no kernel, or it is busy.
bool lookup_names(
    bench *b, const char *typed, void (*done)(bench *b, const char *typed, const cJSON *reply));
void lookup_describe(bench *b, const char *name); // the description appears on a page
