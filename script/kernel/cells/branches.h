// SPDX-License-Identifier: MIT
// Branches: functions of a cell that wait side by side. Each is a coroutine with a turn of its own;
// a scheduler on the Lua thread resumes those that can go on. It belongs to the interpreter.
//
//   branch ── binding ──> a worker's thread ──┐
//   branch ── sleep ────> timers ─────────────┼─> ready ──(the cell waits: pump)──> resumed
//   branch ── await ────> another branch ─────┘
//
// Lua runs in one place at a time. A branch goes on while its cell waits: in await, in a binding,
// or at its end, since a cell ends after its branches. A binding yields where Lua can yield;
// elsewhere (in a sort's comparator, in a metamethod that C calls) it blocks the Lua thread as in a
// cell without branches.
#pragma once
#include "base/json.h"

#include <lua.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct branches branches;
struct interp;

branches *branches_new(struct interp *in);
void branches_free(branches *all); // when the Lua thread has ended; NULL is fine
// A turn of the tree has to stop: its branches are woken. From any thread.
void branches_wake(void *all);

// The rest is the Lua thread's. Adds the functions about branches to the table on top.
void branches_open(lua_State *L);
// A cell begins; it has no branches.
void branches_begin(branches *all);
// The cell's own code is through: waits for its branches. Raises the error of one that nobody
// waited for.
void branches_finish(lua_State *L);
// The cell is over: stops what is left, and waits until it has ended.
void branches_drop(lua_State *L);

// Can a call here let branches go on: in a branch that can yield, or in a cell that has branches?
bool branches_can_wait(lua_State *L);
// For C functions of Lua, when they can: `return branches_call(…)` does call_binding on another
// thread; takes args. Below: sleeps, or asks a person. Each returns or raises as the plain one.
int branches_call(lua_State *L, const char *name, cJSON *args);
int branches_sleep(lua_State *L, int64_t ns);
int branches_ask(lua_State *L, const char *question, bool secret);
