// SPDX-License-Identifier: MIT
// Stopping Lua from another thread: a signal to the Lua thread sets a hook on whatever coroutine
// runs, and the hook raises. An interrupt belongs to the interpreter that it stops.
//
// No hook is set while nothing is to be stopped (a permanent one costs 1.8×). What runs is known
// because resume is ours; and since pcall, xpcall and resume are ours too, none of them swallows
// the error. What it cannot reach: a C function that does not return (a pathological string.find),
// and a loop in a finalizer, for which Lua has no hooks.
#pragma once
#include "script/kernel/effects/turn.h"

#include <lua.h>
#include <stdatomic.h>
#include <stdbool.h>

typedef struct interrupt {
    _Atomic(lua_State *) running; // the coroutine that runs, NULL outside of turns
    // The Lua thread:
    const turn *turn; // that runs: while it has to stop, every error goes through to its top
    bool raised;      // it was told so once already
} interrupt;

// Before the Lua thread starts: the signal's handler, which is the process's. Until the thread has
// called interrupt_install the signal does nothing.
void interrupt_prepare(void);
// On the Lua thread, once: the functions that know about it: coroutine.*,
// pcall, xpcall, and debug without sethook. `i` must outlive L.
void interrupt_install(interrupt *i, lua_State *L);
// On the Lua thread, around everything that may be interrupted. A turn that had to stop before it
// came here stops at its first instruction.
void interrupt_enter(interrupt *i, lua_State *L, const turn *t);
void interrupt_leave(interrupt *i, lua_State *L);
// From any thread, as often as it takes, after turn_stop: `thread` is the Lua thread. Without
// effect on a turn that has not to stop.
void interrupt_send(unsigned long thread);
