// SPDX-License-Identifier: MIT
// Branches: functions of a cell that run concurrently. Each is a coroutine with a turn of its own;
// a scheduler on the Lua thread resumes those that are ready. The interpreter owns it.
//   branch ── binding ──> a worker's thread ──┐
//   branch ── sleep ────> timers ─────────────┼─> ready ──(the cell waits: pump)──> resumed
//   branch ── await ────> another branch ─────┘
// Only one of them runs Lua at a time. Branches run while their cell waits: in await, in a binding,
// or at its end, since a cell ends after its branches. A binding yields where Lua can yield.
// Elsewhere (in a sort's comparator, in a metamethod that C calls) it blocks the Lua thread, as in
// a cell without branches.
#pragma once
#include "base/json/json.h"

#include <lua.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct branches branches;
struct interp;

branches *branches_new(struct interp *in);
void branches_free(branches *all); // after the Lua thread has ended; NULL is fine
// Wakes the branches of a turn that has to stop. From any thread.
void branches_wake(void *all);

// The rest is the Lua thread's. Adds the functions about branches to the table on top.
void branches_open(lua_State *L);
// A cell begins; it has no branches.
void branches_begin(branches *all);
// Call it when the cell's own code has ended: waits for its branches. Raises the error of a branch
// that nobody has waited for.
void branches_finish(lua_State *L);
// Call it at the end of the cell: stops the remaining branches, and waits until they have ended.
void branches_drop(lua_State *L);

// Can a call here let branches run? Yes in a branch that can yield, and in a cell that has
// branches.
bool branches_can_wait(lua_State *L);
// For Lua's C functions, if branches_can…: `return branches_call(…)` does call_binding on another
// thread; takes args. The next two sleep, and ask a person. Each returns or raises like the
// blocking function.
int branches_call(lua_State *L, const char *name, cJSON *args);
int branches_sleep(lua_State *L, int64_t ns);
int branches_ask(lua_State *L, const char *question, bool secret);
